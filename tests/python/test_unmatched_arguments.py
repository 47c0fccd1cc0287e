"""Arguments that differ between ranks, and files that cannot be opened: the same error on every rank."""

import os

import pytest

from conftest import run_ranks, case_outcomes
from scripts import CASES

pytestmark = pytest.mark.ranks

DIFFERENT = CASES + """
def make(name="s.npy", **how):
    return ps.open(name, **{"mode": "w", "shape": (4, 4), "dtype": "f8", "comm": comm, **how})
def opens(name, /, **by_last):  # the last rank passes other values
    cases[name] = lambda: record(lambda: make(**(by_last if last else {})))
def same_everywhere(name, /, **how):
    cases[name] = lambda: record(lambda: make(**how))
surrogate = "\\udc80"
opens("order", order="F")
opens("order or none", order="C")
opens("path", name=os.path.abspath("s.npy"))
opens("mode", mode="r+")
opens("mode with surrogate", mode=surrogate)
opens("shape", shape=(4, 5))
opens("shape missing", shape=None)
opens("shape too big", shape=(2**63, 1))
opens("shape far too big", shape=(2**200,))
opens("shape no number", shape=("four",))
opens("offset too big", offset=2**63)
opens("offset far too small", offset=-2**70)
opens("hint", hints={"method": "direct"})
opens("hint with surrogate", hints={"method": surrogate})
opens("hint's name with surrogate", hints={surrogate: "1"})
opens("field with surrogate", dtype=np.dtype([(surrogate, "f8")]))
opens("container with surrogate", container=surrogate)
same_everywhere("long name", name="x" * 300 + ".npy")
same_everywhere("all too big", shape=(2**63,))
same_everywhere("folder", name=".")
@case
def symlink_loop():
    if rank == 0:
        os.symlink("la.npy", "lb.npy")
        os.symlink("lb.npy", "la.npy")
    comm.Barrier()
    record(lambda: make("la.npy"))
def fifo(mode):
    if rank == 0:
        os.mkfifo("fifo" + mode)
    comm.Barrier()
    record(lambda: make("fifo" + mode, mode=mode))
for mode in ("r", "r+", "w"):
    cases["fifo " + mode] = lambda mode=mode: fifo(mode)
@case
def intercomm():
    half = comm.Split(rank % 2, rank)
    record(lambda: make(comm=half.Create_intercomm(0, comm, 1 - rank % 2, 7)))
@case
def long_paths():
    long = "/".join(["a" + "\\u00e9" * 100] * 6)
    record(lambda: make(long + "/x.npy", mode="r"))
    record(lambda: make(long + ("/y.npy" if last else "/x.npy"), mode="r"))
    record(lambda: make("/".join(["\\u00e9" * 100] * 6) + ("/y.npy" if last else "/x.npy"), mode="r"))
@case
def no_file_was_made():
    comm.Barrier()
    record(lambda: " ".join(sorted(name for name in os.listdir() if name.endswith("npy"))))
names = [os.fsencode("a") + b"\\xff\\xfe.npy", b"\\xc3.raw", "\\udcff\\u00e9.npy", "\\u00e9" * 100 + ".npy"]
@case
def names_that_are_no_utf8():
    for name in names:
        f = make(name)
        d = ps.distribute(f.shape, comm)
        f.write(np.full(d.section.shape, rank + 1.0), d)
        f.close()
        def read():
            with make(name, mode="r") as f:
                return bool((f.read(d) == rank + 1).all())
        record(read)
        record(lambda: os.path.exists(os.fsencode(name)))
def calls(name, own_call, settings={}):  # of an open file; it works afterwards
    def run():
        f = opened("c.npy", **settings)
        u, d = own(f)
        record(lambda: own_call(f, u, d))
        record(lambda: f.write(u, d))
        record(f.close)
        record(lambda: is_right("c.npy"))
    cases["call: " + name] = run
calls("truncate to text", lambda f, u, d: f.truncate("abc" if last else 2000))
calls("truncate to too much", lambda f, u, d: f.truncate(2**63 if last else 2000))
calls("truncate to less than nothing", lambda f, u, d: f.truncate(-2**80 if last else 2000))
calls("truncate to another size", lambda f, u, d: f.truncate(2001 if last else 2000))
calls("index too big", lambda f, u, d: f.write(u, (2**70, 0) if last else d))
calls("index too big, in the background",
      lambda f, u, d: f.write_begin(u, (2**70, 0) if last else d, background="all").wait())
calls("section outside", lambda f, u, d: f.write_begin(u, (99, 0) if last else d, background="all").wait())
calls("unknown background", lambda f, u, d: f.write_begin(u, d, background="foo" if last else "storage"))
calls("unknown background beside all", lambda f, u, d: f.write_begin(u, d, background="foo" if last else "all").wait())
calls("unknown background on all", lambda f, u, d: f.write_begin(u, d, background="foo"))
calls("background with surrogate", lambda f, u, d: f.write_begin(u, d, background=surrogate if last else "storage"))
calls("method with surrogate", lambda f, u, d: f.write(u, d, method=surrogate if last else "auto"))
calls("other background", lambda f, u, d: f.write_begin(u, d, background="all" if last else "storage").wait())
calls("other method", lambda f, u, d: f.write(u, d, method="direct" if last else "sieved"))
"""

EXPECTED = {
    "order": "DisagreementError", "order or none": "DisagreementError", "path": "DisagreementError",
    "mode": "DisagreementError", "mode with surrogate": "ArgumentError", "shape": "DisagreementError",
    "shape missing": "ArgumentError", "shape too big": "ArgumentError", "shape far too big": "ArgumentError",
    "shape no number": "ArgumentError", "offset too big": "ArgumentError", "offset far too small": "ArgumentError",
    "hint": "DisagreementError", "hint with surrogate": "ArgumentError",
    "hint's name with surrogate": "ArgumentError", "field with surrogate": "DisagreementError",
    "container with surrogate": "ArgumentError", "long name": "StorageError", "all too big": "ArgumentError",
    "folder": "IsADirectoryError", "symlink_loop": "StorageError", "fifo r": "StorageError", "fifo r+": "StorageError",
    "fifo w": "StorageError", "intercomm": "ArgumentError",
}
CALLS = {
    "truncate to text": "ArgumentError", "truncate to too much": "ArgumentError",
    "truncate to less than nothing": "ArgumentError", "truncate to another size": "DisagreementError",
    "index too big": "SectionError", "index too big, in the background": "SectionError",
    "section outside": "SectionError", "unknown background": "ArgumentError",
    "unknown background beside all": "ArgumentError", "background with surrogate": "ArgumentError",
    "unknown background on all": "ArgumentError",
    "method with surrogate": "ArgumentError", "other background": "DisagreementError",
    "other method": "DisagreementError",
}


@pytest.fixture(scope="module")
def different(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("different"), DIFFERENT)[0]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_open_that_fails(different, name):
    outcomes = different[name]
    assert [rank[0][0] for rank in outcomes] == [EXPECTED[name]] * 3, outcomes
    assert len({rank[0][1] for rank in outcomes}) == 1 or name == "intercomm", outcomes


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_fails_leaves_a_file_that_works(different, name):
    outcomes = different["call: " + name]
    assert [[kind for kind, _ in rank] for rank in outcomes] == [[CALLS[name], "", "", ""]] * 3, outcomes
    assert len({rank[0][1] for rank in outcomes}) == 1 and [rank[-1][1] for rank in outcomes] == [True] * 3, outcomes


def test_opens_that_fail_make_no_file(different):
    assert different["no_file_was_made"] == [[["", "la.npy lb.npy"]]] * 3


def test_words_about_long_paths_are_whole(different):
    outcomes = different["long_paths"]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert [kind for kind, _ in outcomes[0]] == ["FileNotFoundError", "DisagreementError", "DisagreementError"]
    assert "a" + "é" * 100 + "/x.npy" in outcomes[0][0][1]
    for _, words in outcomes[0][1:]:
        assert "/x.npy" in words and "/y.npy" in words and "\\x" not in words


def test_names_need_not_be_utf8(different):
    assert different["names_that_are_no_utf8"] == [[["", True]] * 8] * 3


# ---- folders

FOLDERS = CASES + """
def in_folders(old):
    os.makedirs(f"{old}{rank}")
    os.chdir(f"{old}{rank}")
    if old:
        np.save("f.npy", np.full((12, 12), 7.0))
    for mode in ("w", "r+", "r"):
        record(lambda: opened("f.npy", mode))
    record(lambda: " ".join(sorted(os.listdir())))
    record(lambda: bool((np.load("f.npy") == 7).all()) if old else True)
    os.chdir("..")
    comm.Barrier()
cases["with old files"] = lambda: in_folders("old")
cases["without"] = lambda: in_folders("")
@case
def links_to_one_file():
    os.makedirs(f"link{rank}")
    os.symlink(os.path.abspath("one.npy"), f"link{rank}/f.npy")
    os.chdir(f"link{rank}")
    def write():
        with opened("f.npy") as f:
            u, d = own(f)
            f.write(u, d)
        return is_right("f.npy")
    record(write)
    os.chdir("..")
"""


def test_ranks_in_different_folders(tmp_path):
    outcomes, _ = case_outcomes(tmp_path, FOLDERS)
    for name, found in (("with old files", "f.npy"), ("without", "")):
        ranks = outcomes[name]
        kinds = [[kind for kind, _ in rank] for rank in ranks]
        first_missing = "DisagreementError" if found else "FileNotFoundError"
        assert kinds == [["DisagreementError", first_missing, first_missing, "", ""]] * 3, ranks
        assert len({str(rank[:3]) for rank in ranks}) == 1, ranks
        assert [rank[3][1] for rank in ranks] == [found] * 3 and all(rank[4][1] for rank in ranks), ranks
    assert outcomes["links_to_one_file"] == [[["", True]]] * 3


# ---- rights

RIGHTS = CASES + """
def locked(who):
    if rank == 0:
        os.makedirs("locked", mode=0o700, exist_ok=True)
        np.save("locked/old.npy", np.full((12, 12), 7.0))
    comm.Barrier()
    if rank in who:
        os.seteuid(65534)
    for name in ("old.npy", "new.npy"):
        record(lambda: opened("locked/" + name))
    os.seteuid(0)
    comm.Barrier()
    record(lambda: " ".join(os.listdir("locked")))
    record(lambda: bool((np.load("locked/old.npy") == 7).all()))
for who in ((0, 1, 2), (0,), (2,), (0, 1)):
    cases[str(who)] = lambda who=who: locked(who)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from ranks")
def test_ranks_that_may_not_search_the_folder(tmp_path):
    outcomes, _ = case_outcomes(tmp_path, RIGHTS)
    assert len(outcomes) == 4
    for name, ranks in outcomes.items():
        assert ranks[0] == ranks[1] == ranks[2], ranks
        assert [kind for kind, _ in ranks[0]] == ["PermissionError", "PermissionError", "", ""], (name, ranks)
        assert "Permission denied" in ranks[0][0][1] and "check the permissions" in ranks[0][0][1]
        assert ranks[0][2:] == [["", "old.npy"], ["", True]]


def test_a_message_of_a_rank_with_a_name_that_is_no_text(tmp_path):
    output = run_ranks(tmp_path, CASES + """
error = same(ps.StorageError, "No such file", lambda: ps.open(b"no\\xff/\\xc3", comm=comm))
assert os.fsencode(error.path) == b"no\\xff/\\xc3", error.path
""", 3)
    assert "Traceback" not in output
