"""Array files of one process: no MPI is launched."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps

HINTS = {hint.name: hint for hint in ps.hints()}
METHODS = HINTS["method"].choices


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["a.npy", "a.bin"])
def test_what_is_written_is_what_numpy_loads(tmp_path, order, name):
    whole = np.arange(6 * 7 * 8, dtype="f4").reshape(6, 7, 8)
    path = tmp_path / name
    with ps.open(path, "w", shape=whole.shape, dtype="f4", order=order) as f:
        f.write(whole, (slice(None),) * 3)
    if name == "a.npy":
        loaded = np.load(path, mmap_mode="r")
        assert loaded.flags.f_contiguous == (order == "F")
    else:
        loaded = np.fromfile(path, "f4").reshape(whole.shape, order=order)
    assert np.array_equal(loaded, whole)


@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_numpy_are_read_and_written(tmp_path, order):
    whole = np.asarray(np.random.default_rng(1).random((9, 10)), order=order)
    path = tmp_path / "numpy.npy"
    np.save(path, whole)
    with ps.open(path, "r+") as f:
        assert (f.shape, f.dtype, f.order, f.container) == (whole.shape, whole.dtype, order, "npy")
        assert np.array_equal(f.read((slice(2, 9, 3), [7, 0, 3])), whole[2:9:3][:, [7, 0, 3]])
        f.write(np.zeros(10), (4, slice(None)))
    assert not np.load(path)[4].any()


@pytest.mark.parametrize("method", METHODS)
def test_memory_may_be_any_view(tmp_path, method):
    rng = np.random.default_rng(2)
    memory = rng.random((12, 14, 5))
    views = [memory[1:-1, 1:-1, 2], memory[::-2, ::3, 0], memory[:, :, 1].T, np.asfortranarray(memory[:, :, 3])]
    for view in views:
        path = tmp_path / "view.npy"
        with ps.open(path, "w", shape=view.shape, dtype="f8") as f:
            f.write(view, ..., method=method)
            out = np.full((view.shape[0] + 2, view.shape[1] + 2), -1.0)
            assert f.read(..., out=out[1:-1, 1:-1], method=method).base is out
        assert np.array_equal(np.load(path), view)
        assert np.array_equal(out[1:-1, 1:-1], view)
        assert (out[0] == -1).all() and (out[:, -1] == -1).all()


@pytest.mark.parametrize("dtype", ["u1", "?", "f2", "<f8", ">i4", "c16", "S7", "U3", "M8[ns]", "V65536",
                                   [("a", "<f4"), ("b", "<i2", (3,))]])
def test_element_types(tmp_path, dtype):
    kind = np.dtype(dtype)
    raw = np.random.default_rng(3).integers(0, 2, size=(4, 5, kind.itemsize), dtype="u1")
    whole = raw.view(kind).reshape(4, 5)
    path = tmp_path / "t.npy"
    with ps.open(path, "w", shape=(4, 5), dtype=kind) as f:
        f.write(whole, ...)
    loaded = np.load(path)
    assert loaded.dtype == kind and loaded.tobytes() == whole.tobytes()
    with ps.open(path) as f:
        assert f.dtype == kind and f.read(...).tobytes() == whole.tobytes()


def test_eight_dimensions_and_sections_of_all_forms(tmp_path):
    whole = np.arange(3**8, dtype="i4").reshape((3,) * 8)
    path = tmp_path / "eight.npy"
    np.save(path, whole)
    with ps.open(path) as f:
        assert np.array_equal(f.read((0, slice(0, 3, 2), ..., -1, [2, 0])), whole[0, ::2, ..., -1, [2, 0]])
        assert np.array_equal(f.read(ps.section(*[(0, 3, 2)] * 8)), whole[(slice(0, 3, 2),) * 8])
        assert np.array_equal(f.read((0,) * 7 + (np.array([True, False, True]),)), whole[(0,) * 7][[0, 2]])
        assert np.array_equal(f.read(ps.extents([(5, 9), (100, 101)])), whole.ravel()[[5, 6, 7, 8, 100]])
        parts = f.read([(0,) * 7 + (slice(None),), None or (slice(1, 2),) * 8])
        assert np.array_equal(parts[0], whole[(0,) * 7]) and parts[1].shape == (1,) * 8
        assert f.read(None) is None and f.read([]) == [] and f.read([None])[0] is None


def test_sections_by_hand():
    assert ps.section((0, 4), (1, 9, 2, 1), [3, 1]).shape == (4, 4, 2)
    for bad in ((0,), 3, (0, 1.5), (1, 2, 3, 4, 5)):
        with pytest.raises(ps.SectionError, match="lower, upper"):
            ps.section(bad)


def test_papers_tables_can_be_typed_in():
    assert ps.Section.paper("(1+250p:250+250p:2, 500:2500:3)", p=2) == ps.section((500, 750, 2), (499, 2500, 3))
    assert ps.inclusive((1, 100, 1), (11, 110, 1)) == ps.section((0, 100), (10, 110))


def test_several_arrays_in_one_file(tmp_path):
    path = tmp_path / "several.npy"
    end = 0
    for i in range(3):
        with ps.open(path, "w" if i == 0 else "r+", shape=(4, i + 1), dtype="f8", offset=end) as f:
            f.write(np.full((4, i + 1), float(i)), ...)
            end = f.end_offset
    with open(path, "rb") as stream:  # as numpy.save in a row would have written it
        for i in range(3):
            assert np.array_equal(np.load(stream), np.full((4, i + 1), float(i)))


@pytest.mark.parametrize(("section", "words"), [
    ((slice(0, 4, 0), 0), "stride 0"), (ps.section((3, 1), (0, 1)), "below lower"), (ps.section((0, 4, -1), (0, 1)), "stride -1"),
    (ps.section((0, 11), (0, 1)), "out of the array"), ((slice(0, 2), -9), "out of the array"), ((0, 0, 0), "3 dimensions"),
    ((np.ones(3, bool), 0), "mask of 3"), (([1, 1], 0), "twice"), ((None, 0), "selects nothing"), ((True, 0), "selects nothing"),
    ((2.5, 0), "not an integer"), ((slice(0, 2.5), 0), "not an integer"), ((..., ..., 0), "only one"), (([0, 10], 0), "out of the array"),
    (([0, 1], [0, 1]), "np.ix_"), (np.zeros((2, 2), int), "np.ix_"), (([0.5], 0), "list of integers"),
    (np.ones((10, 4), bool), "a mask of shape"), ((np.ones((10, 5), bool), 0), "must be the first of an index"),
    ((ps.extents([(0, 1)]), 0), "cannot be combined"),
])
def test_bad_sections(tmp_path, section, words):
    path = tmp_path / "bad.npy"
    np.save(path, np.ones((10, 5)))
    with ps.open(path, "r+") as f:
        for method in METHODS:
            with pytest.raises(ps.SectionError, match=words) as caught:
                f.write(np.zeros(3), section, method=method)
            assert isinstance(caught.value, IndexError)
    assert np.load(path).all()


def test_bad_arguments(tmp_path):
    path = tmp_path / "bad.npy"
    np.save(path, np.ones((10, 5)))
    read_only = np.zeros((10, 5))
    read_only.flags.writeable = False
    with ps.open(path, "r+") as f:
        for call, words in [
            (lambda: f.write(np.zeros((10, 5), "c8"), ...), "elements of complex64"),
            (lambda: f.write(np.zeros((5, 10)), ...), r"shape \(5, 10\)"),
            (lambda: f.write(None, ...), "needs an array"),
            (lambda: f.write([np.zeros((10, 5))], [..., ...]), "1 arrays for 2 sections"),
            (lambda: f.read(..., out=read_only), "not writable"),
            (lambda: f.read(..., out=[1.0]), "NumPy array"),
            (lambda: f.read(..., method="fast"), "known are auto, direct"),
            (lambda: f.read(..., aggregators=2), "number of ranks"),
            (lambda: f.read(..., aggregators=0), "at least 1"),
            (lambda: f.read(..., buffer_size=4), "at least one element"),
            (lambda: f.read(..., cb_nodes=4), "no hint 'cb_nodes'; docs/hints.md describes all: method, "),
            (lambda: f.read(..., bufer_size=4), "did you mean buffer_size"),
            (lambda: f.read(..., exchange="step9"), "known are auto, step1, .*, sparse, alltoallw, node"),
            (lambda: f.read(..., storage="direct"), "setting of the file"),
            (lambda: f.read(..., stagger=-1), "microseconds"),
        ]:
            with pytest.raises(ps.ArgumentError, match=words) as caught:
                call()
            assert isinstance(caught.value, ValueError)
    assert np.load(path).all()
    with pytest.raises(ps.StateError, match="closed"):
        f.read(...)
    with ps.open(path) as f, pytest.raises(ps.StateError, match="reading only"):
        f.write(np.zeros((10, 5)), ...)


@pytest.mark.parametrize(("arguments", "error", "words"), [
    ({"mode": "c"}, ps.ArgumentError, r"known are r, r\+, a, w, x"), ({"shape": (10, 6)}, ps.FormatError, r"shape \(10, 5\)"),
    ({"dtype": "f4"}, ps.FormatError, "dtype <f8"), ({"order": "F"}, ps.FormatError, "order C"),
    ({"order": "Z"}, ps.ArgumentError, "known are C, F"), ({"dtype": object}, ps.ArgumentError, "Python objects"),
    ({"offset": -1}, ps.ArgumentError, "offset"), ({"offset": "x"}, ps.ArgumentError, "whole number"),
    ({"shape": "abc"}, ps.ArgumentError, "whole number"), ({"offset": 8}, ps.FormatError, "no .npy header"),
    ({"comm": 3}, ps.ArgumentError, "communicator"), ({"hints": {"buffer_size": "x"}}, ps.ArgumentError, "buffer_size"),
    ({"mode": "w", "shape": (2,)}, ps.ArgumentError, "dtype is needed"), ({"mode": "w", "shape": ()}, ps.ArgumentError, "dtype is needed"),
    ({"mode": "w", "shape": (1,) * 9, "dtype": "f8"}, ps.ArgumentError, "1 to 8"),
    ({"mode": "w", "shape": (2**40, 2**40), "dtype": "f8"}, ps.ArgumentError, "64 bits"),
    ({"mode": "w", "shape": (2,), "dtype": "V65537"}, ps.ArgumentError, "65536"),
])
def test_bad_opens_leave_the_file_as_it_was(tmp_path, arguments, error, words):
    path = tmp_path / "bad.npy"
    np.save(path, np.ones((10, 5)))
    before = path.read_bytes()
    with pytest.raises(error, match=words):
        ps.open(path, **arguments)
    assert path.read_bytes() == before


def test_foreign_and_truncated_files(tmp_path):
    path = tmp_path / "x.npy"
    for content, words in [(b"hello world, not numpy", "no .npy header"), (b"", "no .npy header"),
                           (b"\x93NUMPY\x01\x00\x10", "ends inside"), (b"\x93NUMPY\x09\x00" + b" " * 99, "version 9")]:
        path.write_bytes(content)
        with pytest.raises(ps.FormatError, match=words):
            ps.open(path)
    np.save(path, np.ones(100))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ps.FormatError, match="truncated"):
        ps.open(path, "r+")
    with pytest.raises(ps.StorageError, match="check the name") as caught:
        ps.open(tmp_path / "absent.npy")
    assert caught.value.errno == 2 and caught.value.filename.endswith("absent.npy") and isinstance(caught.value, OSError)


@pytest.mark.parametrize("active_buffer_size", [0, 64 << 20])
def test_disk_full_names_how_far_it_got(tmp_path, active_buffer_size):
    hints = {"device": "fault:write@2+=ENOSPC", "buffer_size": 4096, "method": "extended",
             "active_buffer_size": active_buffer_size}
    with pytest.raises(ps.StorageError, match="stopped after 0 bytes at offset 8192.*free some space") as caught:
        with ps.open(tmp_path / "full", "w", shape=(100, 100), dtype="f8", hints=hints) as f:
            f.write(np.ones((100, 50)), (slice(None), slice(0, 50)), sieve_writes="always", method="extended")
    assert caught.value.errno == 28 and caught.value.offset == 8192 and caught.value.rank == 0


#: Ways to give a hint; each must refuse an unknown one with the same message.
WAYS = {
    "open": lambda path, hints: ps.open(path, hints=hints),
    "open of fields": lambda path, hints: ps.open(path, "w", fields=[("u", 3, "f8")], container="raw", hints=hints),
    "open out of core": lambda path, hints: ps.OutOfCoreArray(path, memory="1M", hints=hints),
    "load": lambda path, hints: ps.load(path, hints=hints),
    "read": lambda path, hints: ps.open(path).read(..., **hints),
    "read_begin": lambda path, hints: ps.open(path).read_begin(..., **hints),
    "explain": lambda path, hints: ps.explain((3,), "f8", [slice(0, 3)], **hints),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_hint_that_there_is_not_is_refused_everywhere_in_the_same_words(tmp_path, way):
    path = tmp_path / "hints.npy"
    np.save(path, np.ones(3))
    with pytest.raises(ps.ArgumentError, match="there is no hint 'exchanges'; did you mean exchange\\? docs/hints.md"):
        WAYS[way](path, {"exchanges": "node"})
    with pytest.raises(ps.ArgumentError, match="there is no hint 'romio_cb_write'; docs/hints.md describes all: method"):
        WAYS[way](path, {"romio_cb_write": "enable"})
    assert np.array_equal(np.load(path), np.ones(3))


#: A call has the hints of its file, overridden by those that it passes (docs/hints.md). The tests of C, C++ and Fortran
#: have the same cases.
CALL_HINTS = [({}, "gather"), ({"method": None}, "gather"), ({"aggregators": 1, "buffer_size": "64K"}, "gather"),
              ({"method": "extended"}, "extended"), ({"method": "auto"}, None), ({}, "gather")]


@pytest.mark.parametrize("fields", [False, True])
def test_a_call_has_the_hints_of_its_file_but_for_what_it_gives(tmp_path, fields):
    hints = {"method": "gather", "buffer_size": "1M"}
    what = {"fields": [("u", (12, 10), "f8")]} if fields else {"shape": (12, 10), "dtype": "f8"}
    with ps.open(tmp_path / "call_hints", "w", hints=hints, **what) as file:
        f = file["u"] if fields else file
        for given, method in CALL_HINTS:
            f.write(np.ones((12, 10)), ..., **given)
            assert f.last_method == method if method else f.last_method != "gather", given
            f.read(..., **given)
            assert f.last_method == method if method else f.last_method != "gather", given
        with pytest.raises(ps.ArgumentError, match="storage is a setting of the file and not of a call"):
            f.write(np.ones((12, 10)), ..., storage="direct")
        assert file.hints["buffer_size"] == str(1 << 20)


def test_hints_as_python_has_them(tmp_path):
    path = tmp_path / "hints.npy"
    np.save(path, np.ones(3))
    given = {"buffer_size": "16M", "aggregators": np.int64(1), "stagger": False, "method": None}
    with ps.open(path, hints=given) as f:
        assert f.hints["buffer_size"] == str(16 << 20) and f.aggregators == [0]
        assert f.hints["stagger"] == "0" and f.hints["method"] == "auto"
        with pytest.raises(ps.ArgumentError, match="hint method 'a.udc00' is not valid text"):
            f.read(..., method="a\udc00")


def test_statistics_count(tmp_path):
    hints = {"active_buffer_size": 0}  # everything is done, and counted, on return
    with ps.open(tmp_path / "s", "w", shape=(100, 100), dtype="f8", hints=hints) as f:
        f.write(np.ones((100, 10)), (slice(None), slice(0, 10)), method="direct")
        assert f.last_call.writes == 100 and f.last_call.bytes_written == 8000 and f.last_method == "direct"
        f.write(np.ones((100, 10)), (slice(None), slice(0, 10)), method="sieved", sieve_writes="always")
        assert f.last_call.writes == 1 and f.last_call.sieved_windows == 1
        assert f.statistics.bytes_wanted == 16000
    with ps.open(tmp_path / "s", "w", shape=(100, 100), dtype="f8") as f:
        f.write(np.ones((100, 10)), (slice(None), slice(0, 10)), method="direct")
        assert f.last_call.writes == 0 and f.last_call.bytes_buffered == 8000
        f.write(np.ones((100, 10)), (slice(None), slice(0, 10)), method="sieved", sieve_writes="always")
        f.sync()  # all work of the I/O thread is counted, too
        assert f.statistics.writes == 101 and f.statistics.sieved_windows == 1


def test_one_process_needs_no_mpi(tmp_path):
    script = ("import sys, numpy as np, penstock as ps\n"
              "with ps.open('a.npy', 'w', shape=(4,), dtype='f8') as f: f.write(np.arange(4.), ...)\n"
              "assert 'mpi4py' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)


def test_a_section_travels_and_indexes_arrays(tmp_path):
    whole = np.arange(240, dtype="i4").reshape(10, 24)
    np.save(tmp_path / "a.npy", whole)
    blocks = ps.distribute(whole.shape, kind=("block", "block-cyclic(4)"), rank=3, ranks=4).section
    with ps.open(tmp_path / "a.npy") as f:
        for section in [ps.section((2, 9, 3), (0, 24)), ps.section([5, 1], (3, 20, 2)), blocks]:
            assert pickle.loads(pickle.dumps(section)) == section
            assert np.array_equal(whole[section.index], f.read(section))
    runs = ps.extents([(3, 9), (20, 21)])
    assert pickle.loads(pickle.dumps(runs)) == runs
    with pytest.raises(ps.SectionError, match="runs along the file"):
        print(runs.index)


def test_distribute_matches_its_sections():
    d = ps.distribute((10, 12), kind=("block", "cyclic"), rank=3, ranks=4, grid=(2, 2))
    assert d.section == ps.section((5, 10), (1, 12, 2)) and d.coordinates == (1, 1)
    d = ps.distribute((10, 12), kind="block", halo=1, rank=0, ranks=4)
    assert d.local_shape == tuple(n + 1 for n in d.section.shape) and d.empty("f4").shape == d.local_shape
    with pytest.raises(ps.ArgumentError, match="kinds are block"):
        ps.distribute((10,), kind="blocky")


def test_explain_is_a_value():
    plan = ps.explain((64, 64), "f8", [ps.distribute((64, 64), rank=r, ranks=4) for r in range(4)], cores=2,
                      measure=False)
    assert plan["method"] == "extended" and len(plan["domains"]) == 2
    assert sum(bytes for _, _, bytes in plan["flows"]) == 64 * 64 * 8
    assert "bounding section" in plan["text"]
    assert plan["costs"]["copy_byte"] == 1 / 9e9 and not plan["costs"]["measured"]


@pytest.mark.parametrize("storage", ["posix", "direct", "uring", "uring-direct"])
def test_storages_give_the_same_file(tmp_path, storage):
    values = np.arange(300 * 41, dtype="f8").reshape(300, 41)
    with ps.open(tmp_path / "a.npy", "w", shape=values.shape, dtype="f8", hints={"storage": storage}) as f:
        f.write(values, ...)
        assert np.array_equal(f.read((slice(7, 290, 3), 5)), values[7:290:3, 5])
        assert f.file_system["block_size"] > 0
    assert np.array_equal(np.load(tmp_path / "a.npy", mmap_mode="r"), values)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="a file system without direct I/O is needed")
def test_direct_falls_back_and_says_so_once(capfd):
    path = f"/dev/shm/penstock-test-{os.getpid()}.bin"
    try:
        with ps.open(path, "w", shape=(10,), dtype="f8", hints={"storage": "direct"}) as f:
            f.write(np.ones(10), ...)
            f.write(np.ones(10), ...)
    finally:
        os.unlink(path)
    assert capfd.readouterr().err.count("direct I/O does not work") == 1


def test_a_list_of_four_indices_is_no_range(tmp_path):
    np.save(tmp_path / "four.npy", np.arange(9))
    with ps.open(tmp_path / "four.npy") as f:
        assert list(f.read(([1, 4, 2, 0],))) == [1, 4, 2, 0] and ps.section([0, 3, 1, 2]).dimensions == [[0, 3, 1, 2]]
