"""Writes an HDF5 file with all ranks, collectively and independently, and reads it back in another division."""

import sys

import h5py
import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
ROWS, COLUMNS = 120, 77
FIELD = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)
POINT = np.dtype([("x", "<f4"), ("id", "<i8")])


def part(length, rank=RANK):
    return slice(length * rank // RANKS, length * (rank + 1) // RANKS)


def points(count):
    made = np.zeros(count, POINT)
    made["x"], made["id"] = np.arange(count) / 2, np.arange(count) * 3
    return made


def write(path):
    with h5py.File(path, "w", driver="mpio", comm=COMM) as file:
        file.attrs["ranks do not matter"] = "here"
        columns = file.create_dataset("columns", data=None, shape=FIELD.shape, dtype="f8")
        with columns.collective:
            columns[:, part(COLUMNS)] = FIELD[:, part(COLUMNS)]
        cyclic = file.create_dataset("group/cyclic", shape=FIELD.shape, dtype="<i4")
        with cyclic.collective:
            cyclic[RANK::RANKS, ::2] = FIELD[RANK::RANKS, ::2]
        rows = file.create_dataset("group/rows", shape=FIELD.shape, dtype=">f4")
        rows[part(ROWS)] = FIELD[part(ROWS)]  # independent
        chunked = file.create_dataset("chunked", shape=FIELD.shape, dtype="f8", chunks=(32, 16), fillvalue=-1.0)
        with chunked.collective:
            chunked[part(ROWS), 5:70] = FIELD[part(ROWS), 5:70]
        packed = file.create_dataset("packed", shape=FIELD.shape, dtype="i8", chunks=(16, 77), compression="gzip")
        with packed.collective:
            packed[part(ROWS)] = FIELD.astype("i8")[part(ROWS)]  # only what needs no conversion goes through filters
        grown = file.create_dataset("grown", shape=(0,), maxshape=(None,), chunks=(100,), dtype=POINT)
        for length in (250, 1000):
            grown.resize((length,))
            with grown.collective:
                grown[part(length)] = points(length)[part(length)]
        file.flush()


def expect(dataset, selection, wanted, collective):
    if collective:
        with dataset.collective:
            got = dataset[selection]
    else:
        got = dataset[selection]
    assert got.shape == wanted.shape and (got == wanted).all(), (dataset.name, selection, got, wanted)


def read(path):
    with h5py.File(path, "r", driver="mpio", comm=COMM) as file:
        chunked = np.full(FIELD.shape, -1.0)
        chunked[:, 5:70] = FIELD[:, 5:70]
        cyclic = np.zeros(FIELD.shape, "i4")
        cyclic[:, ::2] = FIELD[:, ::2]
        whole = {"columns": FIELD, "group/cyclic": cyclic, "group/rows": FIELD, "chunked": chunked, "packed": FIELD,
                 "grown": points(1000)}
        for collective in (True, False):
            for name, wanted in whole.items():
                other = RANKS - 1 - RANK
                mine = part(len(wanted), other)
                expect(file[name], mine, wanted[mine], collective)
                every = slice(other, None, RANKS + 1)
                expect(file[name], every, wanted[every], collective)
        assert file.attrs["ranks do not matter"] == "here"


def append(path):
    """Opens what is there, and changes some of it."""
    with h5py.File(path, "r+", driver="mpio", comm=COMM) as file:
        with file["columns"].collective:
            file["columns"][RANK:8:RANKS, 3] = -FIELD[RANK:8:RANKS, 3]
        file["group"].attrs.create("changed", np.arange(5))
        del file["packed"]
    with h5py.File(path, "r", driver="mpio", comm=COMM) as file:
        assert (file["columns"][:8, 3] == -FIELD[:8, 3]).all() and "packed" not in file


write(sys.argv[1])
read(sys.argv[1])
write("changed.h5")
append("changed.h5")
