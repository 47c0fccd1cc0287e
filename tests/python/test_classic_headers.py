"""Headers of classic netCDF files that others wrote, or damaged: read, or refused with a clear error."""

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import run_ranks
from penstock._formats import classic_header
from scripts import HEAD

HOSTILE = HEAD + """
import glob
for name in sorted(glob.glob("*.nc")):
    try:
        with ps.open_dataset(name, comm=comm) as ds:
            for one in ds.values():
                one[...]
        outcome = ""
    except ps.FormatError as error:
        outcome = str(error)
    told = comm.allgather(outcome)
    assert outcome and len(set(told)) == 1, (name, told)
"""


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "good.nc"
    with ps.open_dataset(path, "w", container="cdf1", attributes={"title": "t"}) as ds:
        ds.create("a", (None, 3), "i2", ("t", "x"), attributes={"n": [1, 2]})
        ds.create("f", (3,), "f8", ("x",))
        ds["a"].append(np.arange(3))
        ds["f"][:] = [1, 2, 3]
    return path


def test_hostile_headers(tmp_path, small_file):
    good = small_file.read_bytes()
    header_begin = classic_header.header_of(small_file)[0].data_begin
    made = {"magic": b"CDF\3" + good[4:], "records": good[:4] + b"\x7f" + good[5:], "cut": good[:-4],
            "dims": good[:12] + b"\x7f\xff\xff\xff" + good[16:], "tag": good[:8] + b"\0\0\0\x0c" + good[12:],
            "name": good[:16] + b"\x7f\xff\xff\xff" + good[20:], "empty": b"CDF\1"}
    for size in range(5, 300, 9):
        made[f"short{size}"] = good[:size]
    at = good.index(b"\0\0\0\1a\0\0\0")  # the variable
    made["dimension"] = good[: at + 12] + struct.pack(">i", 9) + good[at + 16 :]
    made["order"] = good[: at + 12] + struct.pack(">ii", 1, 0) + good[at + 20 :]
    begin = struct.pack(">i", header_begin)
    made["begin"] = good.replace(begin, struct.pack(">i", 8))
    for name, content in made.items():
        (tmp_path / f"{name}.nc").write_bytes(content)
    run_ranks(tmp_path, HOSTILE, 3)


@settings(max_examples=100, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_changed_headers_are_read_or_refused(tmp_path, small_file, data):
    path = tmp_path / "t.nc"
    content = bytearray(small_file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(3, 300))] = data.draw(st.sampled_from([0, 1, 2, 5, 10, 11, 12, 127, 128, 255]))
    path.write_bytes(content)
    try:
        with ps.open_dataset(path) as ds:
            for one in ds.values():
                one[...]
    except ps.FormatError:
        pass


def test_the_number_of_records_of_one_who_streams(tmp_path, small_file):
    path = tmp_path / "t.nc"
    content = small_file.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 4 + content[8:] + b"\1" * 7)  # another record, and a part of one
    with ps.open_dataset(path) as ds:
        assert ds["a"][...].tolist() == [[0, 1, 2], [257, 257, 257]]
