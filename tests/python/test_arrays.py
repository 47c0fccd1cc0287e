"""Files used like arrays: subscripts, properties, whole arrays in one call."""

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD


@pytest.fixture
def cube(tmp_path):
    np.save(tmp_path / "cube.npy", np.arange(60, dtype="i4").reshape(3, 4, 5))
    with ps.open(tmp_path / "cube.npy", "r+") as f:
        yield f


def test_properties_are_those_of_an_array(cube):
    assert (len(cube), cube.ndim, cube.size, cube.nbytes) == (3, 3, 60, 240)
    whole = np.arange(60).reshape(3, 4, 5)
    assert np.array_equal(np.asarray(cube), whole) and np.asarray(cube, "f8").dtype == "f8"
    assert np.array_equal(np.sin(cube), np.sin(whole.astype("i4"))) and (whole - cube == 0).all()
    assert [row.sum() for row in cube] == [row.sum() for row in whole]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="without a copy"):
            np.asarray(cube, copy=False)


def test_a_file_is_true_while_it_is_open(tmp_path):
    f = ps.open(tmp_path / "none.npy", "w", shape=(0, 3), dtype="f8")
    assert f and len(f) == 0
    f.close()
    assert not f


def test_repr_tells_all(cube):
    assert repr(cube).endswith("cube.npy': int32 (3, 4, 5), order C, npy, 240 bytes at byte 128, open for 'r+'>")
    cube.close()
    assert repr(cube).endswith("closed>")


def test_one_element_is_a_number(cube):
    assert cube[1, 2, 3] == 33 and isinstance(cube[1, 2, 3], np.int32)
    assert cube.read((1, 2, 3)).shape == ()


@pytest.mark.parametrize(("value", "words"), [
    (1.5, "dtype float64 cannot be assigned to elements of int32"), (np.zeros(3), "astype"), (2**40, "out of the range"),
    (np.full(5, 2**31), "out of the range"), (1j, "complex"), ("x", "cannot be assigned"), ([1, 2, 3], "cannot be repeated to fill"),
    (None, "cannot be assigned"),
])
def test_assigned_values_must_fit(cube, value, words):
    with pytest.raises(ps.ArgumentError, match=words):
        cube[...] = value
    assert np.array_equal(cube, np.arange(60).reshape(3, 4, 5))


def test_assigned_values_are_converted(cube):
    for value in (True, 7, np.uint8(9), np.arange(5), np.ones((1, 1, 4, 1), "i2"), [[1], [2], [3], [4]]):
        cube[...] = value
        assert np.array_equal(cube, np.broadcast_to(np.reshape(value, np.shape(value)[-2:]), cube.shape))


def test_assigned_values_of_other_kinds(tmp_path):
    for dtype, value in [("f4", 0.1), ("c8", 1 + 2j), ("S4", b"ab"), ("M8[D]", "2020-02-03"), ([("a", "i4"), ("b", "f8")], (3, 4.5))]:
        with ps.open(tmp_path / "o.npy", "w", shape=(2, 2), dtype=dtype) as f:
            f[:, 1] = value
            assert (f[:, 1] == np.asarray(value, dtype)).all()


def test_a_file_opened_for_reading_cannot_be_assigned_to(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(4))
    with ps.open(tmp_path / "a.npy") as f, pytest.raises(ps.StateError, match="reading only"):
        f[1] = 0


def test_masks_refuse_memory_that_cannot_be_written(cube):
    out = np.zeros(60, "i4")
    out.flags.writeable = False
    with pytest.raises(ps.ArgumentError, match="not writable"):
        cube.read(np.ones(cube.shape, bool), out=out)


def test_masks_in_the_background(tmp_path):
    whole = np.arange(20.0).reshape(4, 5)
    mask = whole % 3 == 1
    for order in "CF":
        with ps.open(tmp_path / "m.npy", "w", shape=(4, 5), dtype="f8", order=order) as f:
            f[...] = whole
            f.write_begin(-whole[mask], mask).wait()
            assert np.array_equal(f.read_begin(mask).wait(), -whole[mask])
        assert np.array_equal(np.load(tmp_path / "m.npy"), np.where(mask, -whole, whole))


def test_whole_arrays_in_one_call(tmp_path):
    u = np.random.default_rng(0).random((4, 5))
    ps.save(tmp_path / "u.npy", u, order="F")
    assert np.isfortran(np.load(tmp_path / "u.npy")) and np.array_equal(ps.load(tmp_path / "u.npy"), u)
    assert np.array_equal(ps.load(tmp_path / "u.npy", (slice(None), 2)), u[:, 2])
    with pytest.raises(ps.ArgumentError, match="one of 4 ranks.*pass comm="):
        ps.save(tmp_path / "u.npy", u, ps.distribute((8, 5), rank=1, ranks=4))
    with pytest.raises(ps.ArgumentError, match="Python objects"):
        ps.save(tmp_path / "u.npy", None)
    assert np.array_equal(ps.load(tmp_path / "u.npy"), u)


def test_subscripts_are_collective(mpirun):
    mpirun(HEAD + """
d = ps.distribute((9, 8), comm, halo=1)
with ps.open("s.npy", "w", shape=(9, 8), dtype="f8", comm=comm) as f:
    assert f"{size} ranks" in repr(f)
    f[d] = rank
    f[rank] = 10.0 + rank
    assert (f[2] == 12).all() and f[0:0].shape == (0, 8)
    whole = np.asarray(f)
    assert np.array_equal(f[::-1, [rank, 7]], whole[::-1, [rank, 7]])
    assert f[d if rank else None] is None or rank
    mask = np.zeros((9, 8), bool); mask[rank::size] = True
    assert np.array_equal(f[mask], whole[mask])
    f[mask] = -rank
    same(ps.SectionError, "rank 1.*9 is out of the array", lambda: f[9 if rank == 1 else 0])
    def assign(value): f[rank] = value
    same(ps.ArgumentError, "rank 2.*cannot be repeated", lambda: assign(np.zeros(3) if rank == 2 else 0.0))
    same(ps.ArgumentError, "rank 0.*complex128 cannot be assigned", lambda: assign(1j if rank == 0 else 0.0))
comm.Barrier()
assert np.array_equal(np.load("s.npy"), -(np.arange(9) % size)[:, None] * np.ones((1, 8)))
""", 3)


def test_whole_arrays_of_several_ranks(mpirun):
    mpirun(HEAD + """
d = ps.distribute((11, 6), comm, halo=1)
u = d.empty("f8"); u[...] = -1; u[d.interior] = rank
ps.save("w.npy", u, d)
v = ps.load("w.npy", d)
assert v.shape == d.local_shape and (v[d.interior] == rank).all() and (v >= 0).all()
assert np.array_equal(ps.load("w.npy", comm=comm), ps.load("w.npy", comm=MPI.COMM_SELF))
before = open("w.npy", "rb").read()
same(ps.ArgumentError, "rank 1.*local has shape", lambda: ps.save("w.npy", u[1:] if rank == 1 else u, d))
same(ps.DisagreementError, "dtype", lambda: ps.save("w.npy", u.astype("f4") if rank == 1 else u, d))
assert open("w.npy", "rb").read() == before
""", 3)


def test_errors_of_the_system_are_the_built_in_ones(tmp_path):
    (tmp_path / "folder").mkdir()
    for path, kind, other in [("absent", FileNotFoundError, ps.FileNotFoundError), ("folder", IsADirectoryError, ps.IsADirectoryError),
                              ("no/folder", FileNotFoundError, ps.FileNotFoundError)]:
        with pytest.raises(kind) as caught:
            ps.open(tmp_path / path, "w" if "/" in path else "r", shape=(2,), dtype="f8")
        assert isinstance(caught.value, ps.StorageError) and isinstance(caught.value, other)
        assert caught.value.filename == str(tmp_path / path) and caught.value.errno and caught.value.strerror
    assert issubclass(ps.PermissionError, PermissionError) and issubclass(ps.PermissionError, ps.StorageError)


def test_errors_of_arguments_name_path_and_call(cube):
    for call, words in [(lambda: cube.write(np.zeros(3), ...), "cube.npy', write: array: elements of float64 cannot become int32"), (lambda: cube[9], "cube.npy', read: section, dim"),
                        (lambda: cube.read(..., method="fast"), "cube.npy', read: method 'fast'"), (lambda: cube.truncate(-1), "cube.npy', truncate: "),
                        (lambda: ps.open(cube.path, "rw"), "cube.npy', open: mode 'rw'"), (lambda: ps.open(cube.path, shape="x"), "cube.npy', open: shape 'x'")]:
        with pytest.raises((ps.ArgumentError, ps.SectionError), match=words) as caught:
            call()
        assert "open" in words or caught.value.path == cube.path


def test_an_npz_is_refused_with_what_to_do(tmp_path):
    np.savez(tmp_path / "u.npz", u=np.zeros(3))
    before = (tmp_path / "u.npz").read_bytes()
    for call in (lambda: ps.save(tmp_path / "u.npz", np.zeros(3)), lambda: ps.load(tmp_path / "u.npz")):
        with pytest.raises(ps.ArgumentError, match="np.load"):
            call()
    assert (tmp_path / "u.npz").read_bytes() == before


@pytest.mark.parametrize("name", ["u.npy", "u.zarr"])
def test_a_shape_that_grows_is_told_as_it_was_given(tmp_path, name):
    with ps.open(tmp_path / name, "w", shape=(3, 4), dtype="f8"):
        pass
    with pytest.raises(ps.FormatError, match=r"has shape \(3, 4\), not \(unlimited, 5\)"):
        ps.open(tmp_path / name, "r+", shape=(None, 5), dtype="f8")


def test_whole_arrays_of_other_libraries(tmp_path):
    u = np.arange(6.0).reshape(2, 3)
    ps.save(tmp_path / "u.h5", u, dataset="/run/u")
    assert np.array_equal(ps.load(tmp_path / "u.h5", dataset="/run/u"), u)
    ps.save(tmp_path / "unnamed.h5", u)
    with ps.open(tmp_path / "unnamed.h5") as f:
        assert f.dataset == "/data" and np.array_equal(f[...], u)
