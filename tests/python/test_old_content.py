"""An open that fails does not change the old file; one that succeeds leaves nothing of it."""

import errno
import os

import numpy as np
import penstock as ps
import pytest

from conftest import case_outcomes
from scripts import CASES

AGES = {"none": None, "empty": 0, "shorter": 300, "equal": -1, "longer": 9000}  # bytes; -1: of the new one
KINDS = {"npy": {}, "raw": {"container": "raw"}, "raw, offset": {"container": "raw", "offset": 700},
         "npy, offset": {"offset": 700}}
FAULTS = ["", *(f"fault:{op}@{n}=ENOSPC" for op in ("resize", "write") for n in ("0", "1", "2", "0+"))]


def must_fail(kind, age, fault):
    """If the failing call is one that open makes."""
    if fault.startswith("fault:resize@0"):
        return age != "equal"
    return fault.startswith("fault:write@0") and kind.startswith("npy")


def old_bytes(age, settings):
    """None: no file."""
    offset = settings.get("offset", 0)
    size_of_new = offset + 12 * 12 * 8 + (0 if settings.get("container") == "raw" else 128)
    count = size_of_new if AGES[age] == -1 else AGES[age]
    return None if count is None else bytes(1 + i % 251 for i in range(count))


def check_new(path, f, offset):
    """Right after opening: a header, and zeros."""
    found = path.read_bytes()
    begin = f.data_offset if f.container == "raw" else offset
    assert len(found) == f.end_offset
    assert not any(found[:begin]) and not any(found[f.data_offset:]), "old bytes are left"
    assert f.container == "raw" or found[begin:begin + 6] == b"\x93NUMPY"


def test_writes_that_another_handle_has_pending_do_not_come_after_an_open(tmp_path):
    path, how = tmp_path / "f.npy", {"shape": (4, 4), "dtype": "f8"}
    slow = {"device": "paced:bandwidth=100M,latency=300ms", "active_buffer_size": 1 << 20}
    with ps.open(path, "w", **how, hints=slow) as before:
        before[...] = np.ones((4, 4))
        with ps.open(path, "w", **how) as f:
            assert not path.read_bytes()[f.data_offset:].strip(b"\0")
            assert not np.any(f[...])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_open_keeps_all_or_nothing_of_the_old_bytes(tmp_path, kind, age, fault):
    path, settings = tmp_path / "f.npy", KINDS[kind]
    content = old_bytes(age, settings)
    if content is not None:
        path.write_bytes(content)
    how = {"shape": (12, 12), "dtype": "f8", "hints": {"device": fault}, **settings}
    if not must_fail(kind, age, fault):
        with ps.open(path, "w", **how) as f:
            check_new(path, f, settings.get("offset", 0))
        return
    with pytest.raises(ps.StorageError) as caught:
        ps.open(path, "w", **how)
    assert caught.value.errno == errno.ENOSPC
    assert (path.read_bytes() if path.exists() else None) == content


OPENING = CASES + f"AGES, FAULTS = {AGES!r}, {FAULTS!r}" + """
def put(path, age):
    content = None if AGES[age] is None else bytes(1 + i % 251 for i in range(AGES[age]))
    if rank == 0 and os.path.exists(path):
        os.unlink(path)
    if rank == 0 and content is not None:
        open(path, "wb").write(content)
    comm.Barrier()
    return content
def find(path):
    comm.Barrier()
    found = open(path, "rb").read() if os.path.exists(path) else None
    comm.Barrier()
    return found
def attempt_open(name, path, age, device):  # the file, what to open it by
    content = put(name, age)
    try:
        f = opened(path, hints={"device": device})
    except ps.StorageError as error:
        assert error.errno == errno.ENOSPC and find(name) == content, (age, device, error)
        return "StorageError"
    found = find(name)
    assert len(found) == f.end_offset and not any(found[f.data_offset:]), (age, device)
    f.close()
    return ""
@case
def on_all_ranks():
    for age in ("none", "shorter", "longer"):
        for device in ("fault:resize@0=ENOSPC", "fault:write@0+=ENOSPC", ""):
            record(lambda: attempt_open("f.npy", "f.npy", age, device))
@case
def through_a_link():
    if rank == 0:
        os.makedirs("elsewhere")
        os.symlink("elsewhere/real.npy", "link.npy")
    for age in ("none", "shorter", "longer"):
        for device in ("fault:resize@0=ENOSPC", "fault:write@0+=ENOSPC", ""):
            record(lambda: attempt_open("elsewhere/real.npy", "link.npy", age, device))
    record(lambda: os.path.islink("link.npy"))
def too_big(age, shape, dtype):
    content = put("b.npy", age)
    record(lambda: ps.open("b.npy", "w", shape=shape, dtype=dtype, comm=comm).close())
    record(lambda: find("b.npy") == content)
for age in ("none", "shorter"):
    cases["too many bytes | " + age] = lambda age=age: too_big(age, (2**60,), "f8")
    cases["too many elements | " + age] = lambda age=age: too_big(age, (2**40, 2**40), "u1")
@case
def behind_another():
    first = np.arange(144.0).reshape(12, 12)
    for device in FAULTS:
        if rank == 0:
            np.save("two.npy", first)
        before = find("two.npy")
        def append():
            f = opened("two.npy", "r+", offset=len(before), hints={"device": device})
            comm.Barrier()  # all have seen the size
            f.close()
        record(append)
        if outcomes[-1][0]:
            assert find("two.npy") == before, device
        assert (np.load("two.npy") == first).all(), device
        comm.Barrier()
@case
def right_after_success():
    put("f.npy", "longer")
    def write():
        with opened("f.npy") as f:
            u, d = own(f)
            f.write(u, d)
        return is_right("f.npy")
    record(write)
"""

@pytest.fixture(scope="module")
def opening(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("opening"), OPENING)[0]


def told_alike(outcomes):
    assert outcomes[0] == outcomes[1] == outcomes[2], outcomes
    return [words if not kind else kind for kind, words in outcomes[0]]


@pytest.mark.parametrize("case", ["on_all_ranks", "through_a_link"])
def test_an_open_on_all_ranks(opening, case):
    stays_a_link = [True] if case == "through_a_link" else []
    assert told_alike(opening[case]) == ["StorageError", "StorageError", ""] * 3 + stays_a_link


@pytest.mark.parametrize("age", ["none", "shorter"])
@pytest.mark.parametrize("what", ["bytes", "elements"])
def test_an_array_that_no_file_can_hold(opening, what, age):
    assert told_alike(opening[f"too many {what} | {age}"]) == ["ArgumentError", True]


def test_an_array_behind_another_that_fails(opening):
    outcomes = told_alike(opening["behind_another"])
    at_opening = ["", "StorageError", "", "", "StorageError", "StorageError", "", "", "StorageError"]
    assert outcomes == at_opening, dict(zip(FAULTS, outcomes))


def test_data_written_over_a_longer_file(opening):
    assert told_alike(opening["right_after_success"]) == [True]


LIMITED = CASES + """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limited(old):
    if rank == 0 and old:
        np.save("l.npy", np.full((12, 12), 7.0))
    comm.Barrier()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    record(lambda: ps.open("l.npy", "w", shape=(1 << 60,), dtype="u1", comm=comm))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    comm.Barrier()
    record(lambda: bool((np.load("l.npy") == 7).all()) if old else not os.path.exists("l.npy"))
cases["new"] = lambda: limited(False)
cases["old"] = lambda: limited(True)
def one_may_not(mode):
    if rank == 0:
        np.save("o.npy", np.full((12, 12), 7.0))
    comm.Barrier()
    os.chmod(".", 0o755)
    os.chmod("o.npy", 0o600)
    before = open("o.npy", "rb").read()
    comm.Barrier()
    if rank == 1:
        os.seteuid(65534)
    record(lambda: ps.open("o.npy", mode, shape=(5, 5), dtype="f8", offset=0 if mode == "w" else len(before), comm=comm))
    record(lambda: ps.open("n.npy", "w", shape=(5, 5), dtype="f8", comm=comm))
    os.seteuid(0)
    comm.Barrier()
    record(lambda: open("o.npy", "rb").read() == before)
    record(lambda: os.path.exists("n.npy"))
if os.geteuid() == 0:
    cases["may not w"] = lambda: one_may_not("w")
    cases["may not r+"] = lambda: one_may_not("r+")
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("limited"), LIMITED)[0]


@pytest.mark.parametrize("age", ["new", "old"])
def test_a_size_beyond_what_the_process_may_write(limited, age):
    assert told_alike(limited[age]) == ["StorageError", True]
    assert "File too large" in limited[age][0][0][1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from one rank")
@pytest.mark.parametrize("mode", ["w", "r+"])
def test_one_rank_that_may_not(limited, mode):
    assert told_alike(limited["may not " + mode]) == ["PermissionError", "PermissionError", True, False]
