"""Opening that fails leaves what was there, byte for byte; opening that works leaves nothing of it."""

import os

import pytest

from conftest import tell_cases
from scripts import CASES

OPENING = CASES + """
OLD = {"none": None, "empty": 0, "shorter": 300, "equal": 0, "longer": 9000}
def old_bytes(age, offset, new_size):
    if OLD[age] is None:
        return None
    count = new_size if age == "equal" else OLD[age]
    return bytes(1 + i % 251 for i in range(count))
def put(path, content):
    if rank == 0:
        if os.path.exists(path):
            os.unlink(path)
        if content is not None:
            open(path, "wb").write(content)
    comm.Barrier()
def find(path):
    comm.Barrier()
    found = open(path, "rb").read() if os.path.exists(path) else None
    comm.Barrier()
    return found
def check_new(path, f, content):  # right after open: the header, and zeros
    found = find(path)
    assert len(found) == f.end_offset, (len(found), f.end_offset)
    begin = f.data_offset if f.container == "raw" else settings["offset"]
    assert not any(found[:begin]) and not any(found[f.data_offset:]), "old bytes are left"
    if f.container == "npy":
        assert found[begin:begin + 6] == b"\\x93NUMPY"
def attempt_open(path, age, device, **how):
    global settings
    settings = {"offset": 0, "container": "npy", **how}
    size_of_new = settings["offset"] + 12 * 12 * 8 + (128 if settings["container"] == "npy" else 0)
    content = old_bytes(age, settings["offset"], size_of_new)
    target = path
    put(path, content)
    try:
        f = opened(name_of(path), hints={"device": device}, **settings)
    except ps.StorageError as error:
        assert error.errno == errno.ENOSPC, error
        assert find(path) == content, (age, device, how, "the old content is changed")
        failures.append((age, device))
        return "StorageError"
    check_new(path, f, content)
    comm.Barrier()
    u, d = own(f)
    f.close()
    return ""
failures = []
name_of = lambda path: path
settings = {}
kinds = {"npy": {}, "raw": {"container": "raw"}, "raw, offset": {"container": "raw", "offset": 700},
         "npy, offset": {"offset": 700}}
faults = ["", *(f"fault:{op}@{n}=ENOSPC" for op in ("resize", "write") for n in ("0", "1", "2", "0+"))]
def all_of(kind, age):
    def run():
        for device in faults:
            tell(lambda: attempt_open("f.npy", age, device, **kinds[kind]))
    cases[f"{kind} | {age}"] = run
for kind in kinds:
    for age in OLD:
        all_of(kind, age)
@case
def through_a_link():
    global name_of
    if rank == 0:
        os.makedirs("elsewhere")
        os.symlink("elsewhere/real.npy", "link.npy")
    name_of = lambda path: "link.npy"
    for age in ("none", "shorter", "longer"):
        for device in ("fault:resize@0=ENOSPC", "fault:write@0=ENOSPC", ""):
            tell(lambda: attempt_open("elsewhere/real.npy", age, device))
    name_of = lambda path: path
    tell(lambda: os.path.islink("link.npy"))
def too_big(age, shape, dtype, limit=False):
    content = old_bytes(age, 0, 0)
    put("b.npy", content)
    tell(lambda: ps.open("b.npy", "w", shape=shape, dtype=dtype, comm=comm).close())
    tell(lambda: find("b.npy") == content)
for age in ("none", "shorter"):
    cases["too many bytes | " + age] = lambda age=age: too_big(age, (2**60,), "f8")
    cases["too many elements | " + age] = lambda age=age: too_big(age, (2**40, 2**40), "u1")
@case
def behind_another():
    first = np.arange(144.0).reshape(12, 12)
    for device in faults:
        if rank == 0:
            np.save("two.npy", first)
        before = find("two.npy")
        def append():
            f = opened("two.npy", "r+", offset=len(before), hints={"device": device})
            u, d = own(f)
            comm.Barrier()
            f.close()
        name = tell(append)
        if told[-1][0]:
            assert find("two.npy") == before, device
        assert (np.load("two.npy") == first).all(), device
@case
def right_after_success():
    put("f.npy", old_bytes("longer", 0, 0))
    def write():
        with opened("f.npy") as f:
            u, d = own(f)
            f.write(u, d)
        return is_right("f.npy")
    tell(write)
"""

FAULTS = [f"fault:{op}@{n}=ENOSPC" for op in ("resize", "write") for n in ("0", "1", "2", "0+")]
KINDS = ["npy", "raw", "raw, offset", "npy, offset"]
AGES = ["none", "empty", "shorter", "equal", "longer"]


@pytest.fixture(scope="module")
def opening(tmp_path_factory):
    return tell_cases(tmp_path_factory.mktemp("opening"), OPENING)[0]


def told_alike(told):
    assert told[0] == told[1] == told[2], told
    return [words if not kind else kind for kind, words in told[0]]


def must_fail(kind, age, fault):
    """Where the call that fails is one that opening makes."""
    if fault.startswith("fault:resize@0"):
        return age != "equal"
    return fault.startswith("fault:write@0") and kind.startswith("npy")


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_open_keeps_all_or_nothing_of_the_old_bytes(opening, kind, age):
    outcomes = told_alike(opening[f"{kind} | {age}"])
    expected = ["StorageError" if must_fail(kind, age, fault) else "" for fault in ["", *FAULTS]]
    assert outcomes == expected, dict(zip(["", *FAULTS], outcomes))


def test_a_link_stays_one(opening):
    assert told_alike(opening["through_a_link"]) == ["StorageError", "StorageError", ""] * 3 + [True]


@pytest.mark.parametrize("age", ["none", "shorter"])
@pytest.mark.parametrize("what", ["bytes", "elements"])
def test_an_array_that_no_file_can_hold(opening, what, age):
    assert told_alike(opening[f"too many {what} | {age}"]) == ["ArgumentError", True]


def test_an_array_behind_another_that_fails(opening):
    outcomes = told_alike(opening["behind_another"])
    at_opening = ["", "StorageError", "", "", "StorageError", "StorageError", "", "", "StorageError"]
    assert outcomes == at_opening, dict(zip(["", *FAULTS], outcomes))


def test_data_written_over_a_longer_file(opening):
    assert told_alike(opening["right_after_success"]) == [True]


LIMITED = CASES + """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limited(old):
    if rank == 0 and old:
        np.save("l.npy", np.full((12, 12), 7.0))
    comm.Barrier()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    tell(lambda: ps.open("l.npy", "w", shape=(1 << 60,), dtype="u1", comm=comm))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    comm.Barrier()
    tell(lambda: bool((np.load("l.npy") == 7).all()) if old else not os.path.exists("l.npy"))
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
    tell(lambda: ps.open("o.npy", mode, shape=(5, 5), dtype="f8", offset=0 if mode == "w" else len(before), comm=comm))
    tell(lambda: ps.open("n.npy", "w", shape=(5, 5), dtype="f8", comm=comm))
    os.seteuid(0)
    comm.Barrier()
    tell(lambda: open("o.npy", "rb").read() == before)
    tell(lambda: os.path.exists("n.npy"))
if os.geteuid() == 0:
    cases["may not w"] = lambda: one_may_not("w")
    cases["may not r+"] = lambda: one_may_not("r+")
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    return tell_cases(tmp_path_factory.mktemp("limited"), LIMITED)[0]


@pytest.mark.parametrize("age", ["new", "old"])
def test_a_size_beyond_what_the_process_may_write(limited, age):
    assert told_alike(limited[age]) == ["StorageError", True]
    assert "File too large" in limited[age][0][0][1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from one rank")
@pytest.mark.parametrize("mode", ["w", "r+"])
def test_one_rank_that_may_not(limited, mode):
    assert told_alike(limited["may not " + mode]) == ["StorageError", "StorageError", True, False]
