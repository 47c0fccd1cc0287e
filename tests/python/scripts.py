"""Beginnings of the scripts that tests run under mpiexec."""

# Without pytest, whose import takes each rank half as long as all the rest.
SAME = """
import re
def same(kind, words, call):
    caught = None
    try:
        call()
    except kind as error:
        caught = error
    assert caught is not None, f"no {kind.__name__}"
    assert re.search(words, str(caught)), caught
    texts = comm.allgather(str(caught))
    assert len(set(texts)) == 1, texts
    return caught
"""

HEAD = """
import errno, gc, os, signal, sys, time, traceback
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def ended(*what):  # at once, for all ranks: the others may be waiting for this one
    traceback.print_exception(*what)
    sys.stderr.flush()
    comm.Abort(1)
sys.excepthook = ended
""" + SAME

# penstock.h5 in the place of h5py, which is `plain` there.
DOOR = HEAD + """
import h5py as plain
import penstock.h5 as h5py
def opened(mode="w", name="t.h5", **how):
    return h5py.File(name, mode, driver="mpio", comm=comm, **how)
"""

# Many cases one after the other in one program. A case makes its calls through record(), which records their results: the
# name of the error's class, or "", and the error's message or the result.
SLOW = "paced:bandwidth=100K"
CASES = HEAD + f"SLOW = {SLOW!r}" + """
import json
last = rank == size - 1
cases, outcomes = {}, []
def case(function):
    cases[function.__name__] = function
    return function
def record(call):
    value, name, words = None, "", ""
    try:
        value = call()
        words = value if isinstance(value, (bool, int, str)) else ""
    except Exception as error:
        name, words = type(error).__name__, str(error).encode(errors="backslashreplace").decode()
    outcomes.append([name, words])
    return value
def run_cases():
    results = {}
    for name, function in cases.items():
        outcomes.clear()
        comm.Barrier()
        function()
        results[name] = comm.gather(list(outcomes))
    if rank == 0:
        json.dump(results, open("outcomes.json", "w"))
def opened(name, mode="w", **settings):
    return ps.open(name, mode, shape=(12, 12), dtype="f8", comm=comm, **settings)
def own(f):  # this rank's section and some data
    d = ps.distribute(f.shape, comm)
    return np.full(d.section.shape, rank + 1.0), d
def is_right(name, times=1.0):  # on every rank, once all have closed the file
    comm.Barrier()
    d = ps.distribute((12, 12), comm)
    mine = tuple(slice(low, up, step) for low, up, step, _ in d.section.dimensions)
    return bool((np.load(name)[mine] == times * (rank + 1)).all())
"""
