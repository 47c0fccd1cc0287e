"""Files of several variables, opened as a whole: HDF5, netCDF-4 and Zarr groups, as other programs see them."""

import io
import shutil
import subprocess

import numpy as np
import pytest

import penstock as ps
from conftest import run_ranks
from scripts import HEAD
from test_hdf5_killed import Steps

pytestmark = pytest.mark.ranks

h5py = pytest.importorskip("h5py")
h5netcdf = pytest.importorskip("h5netcdf")
xarray = pytest.importorskip("xarray")
from penstock._formats import placing  # noqa: E402


def seen_by_xarray(path):
    """By each of its engines that is installed."""
    how = {"consolidated": True} if path.suffix == ".zarr" else {}
    for engine in {".nc": ("h5netcdf", "netcdf4"), ".zarr": ("zarr",), ".h5": ()}[path.suffix]:
        if engine in xarray.backends.list_engines():
            with xarray.open_dataset(path, engine=engine, decode_times=False, **how) as seen:
                yield seen


# ---- several ranks write and read


TOGETHER = HEAD + """
name = NAME
ny, nx = 13, 10
u, v = np.random.default_rng(3).random((2, 7, ny, nx)).astype("f4")
rows = slice(ny * rank // size, ny * (rank + 1) // size)
with ps.open_dataset(name, "w", comm=comm, attributes={"title": "heat"}) as ds:
    assert (len(ds), ds.dims, bool(ds), ds.container) == (0, {}, True, CONTAINER)
    time = ds.create("time", (None,), "f8", ("time",), attributes={"units": "s"})
    ds.create("y", ny, "f8", ("y",))[:] = np.arange(ny) / 2
    ds.create("u", (None, ny, nx), "f4", ("time", "y", "x"), chunks=(1, 5, nx), compressors="zstd", attributes={"units": "K"})
    ds.create("v", (None, ny, nx), "f4", ("time", "y", "x"), chunks=(2, ny, 3), compressors="gzip" if CONTAINER == "zarr" else "shuffle,gzip", fill_value=-1)
    for t in range(3):
        ds["u"][t, rows] = u[t, rows]
        time[t] = t * 0.5
        ds["v"].append(v[t, rows], rows)
    ds.sync()
    ds["u"].attrs["note"] = "after three steps"
    ds["u"][0, rows] = u[0, rows]  # is pending when a variable is made
    ds.create("rank", (ny, nx), "i4", ("y", "x"))[rows] = rank
    for t in range(3, 5):
        ds["v"][t, rows] = v[t, rows]
        handle = ds["u"].write_begin(u[0, rows] + t, (0, rows)) if t == 4 else None
        ds["u"][t, rows] = u[t, rows]
        time[t] = t * 0.5
        if handle: handle.wait()
    u[0] += 4
    ds.attrs["steps"] = 5
    assert ds["u"].shape == (5, ny, nx) and ds.dims == {"time": 5, "y": ny, "x": nx} and time.shape == (5,)
    assert np.array_equal(ds["u"][...], u[:5]) and ds["u"].dims == ("time", "y", "x") and ds["v"].fill_value == -1
assert ds.closed and not ds
with ps.open_dataset(name, "r+", comm=comm) as ds:
    for t in range(5, 7):
        if CONTAINER == "zarr":  # knows of no dimension that it can grow
            ds["u"].append(u[t, rows], rows)
        else:
            ds["u"][t, rows] = u[t, rows]
        ds["v"].append(v[t, rows], rows)
        ds["time"].append(np.float64(t * 0.5))
    v[1] = -v[1]
    ds["v"][1, rows] = v[1, rows]
    ds["u"].attrs["note"] = "after seven"
    del ds.attrs["steps"]
with ps.open_dataset(name, comm=comm) as ds:
    assert sorted(ds) == ["rank", "time", "u", "v", "y"] and "u" in ds and "x" not in ds
    assert ds["u"].shape == (7, ny, nx) and dict(ds.attrs) == {"title": "heat"} and ds["u"].chunks == (1, 5, nx)
    assert dict(ds["u"].attrs) == {"units": "K", "note": "after seven"}
    assert np.array_equal(ds["u"][3, ..., rank], u[3, :, rank]) and np.array_equal(ds["u"][...], u)
    assert np.array_equal(ds["v"][...], v) and np.array_equal(ds["time"][...], np.arange(7) / 2)
    assert ds["rank"][0, 0] == 0 and ds["rank"][ny - 1, 0] == size - 1
"""


def written(path, ranks):
    container = {".h5": "hdf5", ".nc": "netcdf", ".zarr": "zarr"}[path.suffix]
    run_ranks(path.parent, TOGETHER.replace("NAME", repr(path.name)).replace("CONTAINER", repr(container)), ranks)
    u, v = np.random.default_rng(3).random((2, 7, 13, 10)).astype("f4")
    u[0] += 4
    v[1] = -v[1]
    return u, v


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("name", ["t.nc", "t.h5", "t.zarr"])
def test_ranks_write_variables_together(tmp_path, name, ranks):
    path = tmp_path / name
    u, v = written(path, ranks)
    if path.suffix == ".zarr":
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(path, mode="r")
        assert group.metadata.consolidated_metadata is not None and dict(group.attrs) == {"title": "heat"}
        assert np.array_equal(group["u"], u) and group["u"].metadata.dimension_names == ("time", "y", "x")
    for seen in seen_by_xarray(path):
        assert np.array_equal(seen["v"], v) and seen["u"].dims == ("time", "y", "x") and dict(seen.sizes) == {"time": 7, "y": 13, "x": 10}
        assert set(seen.coords) == {"time", "y"} and seen["time"].attrs["units"] == "s" and seen.attrs == {"title": "heat"}
        assert np.array_equal(seen["y"], np.arange(13) / 2) and seen["rank"].max() == ranks - 1
        assert seen["u"].attrs == {"units": "K", "note": "after seven"}
        assert path.suffix != ".nc" or seen.encoding["unlimited_dims"] == {"time"}
    if path.suffix == ".zarr":
        return
    with h5py.File(path) as file:
        assert np.array_equal(file["v"], v) and file["u"].shape == u.shape and file["u"].maxshape == (None, 13, 10)
        assert np.array_equal(file["time"], np.arange(7) / 2) and file.attrs["title"] == "heat"


REWRITTEN = HEAD + """
import h5py
random = np.random.default_rng(11)  # the same on every rank
model = {n: random.integers(0, 4, (4, 12, 20)).astype("f8") for n in "abc"}
d = ps.distribute((12, 20), comm, kind=("block", "block"))
mine = tuple(slice(low, up) for low, up, _, _ in d.section.dimensions)
def check():
    comm.Barrier()
    if rank == 0:
        with h5py.File("r.h5") as file:
            for n in model:
                assert np.array_equal(file[n], model[n]), n
    comm.Barrier()
with ps.open_dataset("r.h5", "w", comm=comm) as ds:
    for n in model:
        ds.create(n, (None, 12, 20), "f8", chunks=(1, 5, 20), compressors=None if n == "c" else "gzip")
        for t in range(4):
            ds[n][t, *mine] = model[n][t][mine]
check()
with ps.open_dataset("r.h5", "r+", comm=comm) as ds:
    for turn in range(8):
        for n in random.permutation(list(model))[: 1 + turn % 3].tolist():
            t = int(random.integers(0, len(model[n]) + 1))
            new = random.integers(0, 2 + random.integers(0, 1000), (12, 20)).astype("f8")
            model[n] = np.concatenate([model[n][:t], [new], model[n][t + 1 :]])
            ds[n][t, *mine] = new[mine]
            assert np.array_equal(ds[n][t], new)
        if turn % 3 == 1:
            ds.sync()
            check()
        if turn == 6:
            ds.attrs["turn"] = turn
            check()
check()
""".replace("[t, *mine]", "[(t, *mine)]")


@pytest.mark.parametrize("ranks", [1, 3])
def test_chunks_of_several_variables_move(mpirun, ranks):
    """Compressed chunks that get another size, and others that are new, while all variables are open."""
    mpirun(REWRITTEN, ranks)


# ---- dimensions


def test_variables_along_one_unlimited_dimension(tmp_path):
    path = tmp_path / "d.nc"
    with ps.open_dataset(path, "w") as ds:
        u = ds.create("u", (None, 3), "f4", {"time": None, "x": [1.0, 2.0, 4.0]}, fill_value=-1)
        assert list(ds) == ["u", "x"] and ds["x"][...].tolist() == [1, 2, 4]
        for t in range(5):
            u[t] = np.arange(3) + t
        assert ds.create("time", (None,), "f8", ("time",)).shape == (5,)  # after the others
        for t in range(2):
            ds["time"][t] = 10 * t
        ds.create("late", (None, 3), "i4", ("time", "x"), fill_value=-7)[0] = 5
        ds.create("g/q", (4,), "i2", ("x",))[:] = 3
        assert ds.dims == {"time": 5, "x": 3, "g/x": 4} and ds["late"].shape == (1, 3)
    with h5py.File(path) as file:  # each has its own steps; the coordinates are as long as the dimension
        assert (file["u"].shape, file["late"].shape, file["time"].shape) == ((5, 3), (1, 3), (5,))
    for seen in seen_by_xarray(path):
        assert dict(seen.sizes) == {"time": 5, "x": 3} and seen["time"].values[:2].tolist() == [0, 10]
        assert np.array_equal(seen["u"][4], [4, 5, 6]) and seen["late"].shape == (5, 3)
        assert (seen["late"][0] == 5).all() and seen["late"][1:].isnull().all()
    if shutil.which("ncdump"):
        shown = subprocess.run(["ncdump", path], capture_output=True, text=True, check=True).stdout
        for line in ("time = UNLIMITED ; // (5 currently)", "4, 5, 6 ;", "time = 0, 10, 0, 0, 0 ;", "x = 1, 2, 4 ;"):
            assert line in shown, shown
    with ps.open_dataset(path, "r+") as ds:
        assert ds.dims == {"time": 5, "x": 3, "g/x": 4} and ds["late"].shape == (1, 3)
        ds["late"][1] = 6
        ds["u"][5] = 9
    with ps.open_dataset(path) as ds:
        assert (ds["late"].shape, ds["u"].shape, ds["time"].shape) == ((2, 3), (6, 3), (6,))


def test_files_of_h5netcdf(tmp_path):
    path, whole = tmp_path / "x.nc", np.random.default_rng(1).random((5, 6))
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"y": 5, "x": 6, "t": None}
        file.attrs["title"] = "other"
        file.create_variable("u", ("y", "x"), "f8", data=whole, chunks=(2, 2), compression="gzip").attrs["units"] = "K"
        file.create_variable("x", ("y", "x"), "f8", data=whole + 1)  # no coordinate: has another name in HDF5
        file.create_variable("empty", ("y",), "f8")
        file.create_variable("packed", ("y",), "f8", data=whole[:, 0], chunks=(5,), compression="lzf")
        file.create_variable("single", (), "f8", data=3.0)
        file.create_group("g").create_variable("w", ("x",), "i4", data=np.arange(6))
    with ps.open_dataset(path, "r+") as ds:
        assert sorted(ds) == ["empty", "g/w", "packed", "single", "u", "x"] and ds.attrs["title"] == "other"
        assert ds["u"].dims == ("y", "x") == ds["x"].dims and ds["u"].attrs["units"] == "K"
        ds["u"][0] = whole[0] = 0
        ds["empty"][1:] = 2
        assert np.array_equal(ds["x"][1:], whole[1:] + 1)
        assert ds["g/w"][...].tolist() == list(range(6))
        assert ds["single"].shape == ds["single"].dims == () and ds["single"][()] == 3
        with pytest.raises(ps.FormatError, match="lzf.*decode=True"):
            ds["packed"][...]
    with h5netcdf.File(path) as file:
        assert np.array_equal(file.variables["u"][...], whole) and file.variables["empty"][1:].tolist() == [2] * 4


# ---- Zarr groups


def test_arrays_of_a_group(tmp_path):
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "g.zarr"
    with ps.open_dataset(path, "w", attributes={"title": "a", "list": [1, {"b": None}]}) as ds:
        u = ds.create("u", (None, 3), "f4", ("time", "x"), chunks=(2, 3), shards=(4, 3), attributes={"units": "K"}, fill_value=-1)
        assert u.chunks == (2, 3) and u.fill_value == -1 and ds.container == "zarr"
        for t in range(3):
            u[t] = np.arange(3) + t
        ds.create("time", (None,), "f8", ("time",)).append(np.float64(5))
        ds.create("x", (3,), "f8", ("x",))[:] = [1, 2, 4]
        ds.create("run/w", (4,), ">i2", ("x",))[1:] = 7
        u.attrs["later"] = [1, 2]
        ds.attrs.update(n=3)
        assert ds.dims == {"time": 3, "x": 3, "run/x": 4} and ds["time"].shape == (1,)
    for seen in seen_by_xarray(path):  # all are as long as their dimensions
        assert dict(seen.sizes) == {"time": 3, "x": 3} and seen["time"].values.tolist() == [5, 0, 0] and set(seen.coords) == {"time", "x"}
        assert np.array_equal(seen["u"][2], [2, 3, 4]) and seen["u"].attrs == {"units": "K", "later": [1, 2]}
        assert seen.attrs == {"title": "a", "list": [1, {"b": None}], "n": 3}
    zarr.open_group(path, mode="r+").create_array("text", shape=3, dtype=str)
    with ps.open_dataset(path, "r+") as ds:
        assert sorted(ds) == ["run/w", "text", "time", "u", "x"] and ds["run/w"].dtype == ">i2"
        with pytest.raises(ps.FormatError, match="text"):
            ds["text"][...]
        with pytest.raises(ps.SectionError):
            ds["x"][3] = 8
        ds["u"].append(np.full(3, 8.0))
        ds["u"].append(np.full(3, 9.0))
        ds.sync()
        assert zarr.open_group(path, mode="r", use_consolidated=True)["u"].shape == (5, 3)
    with ps.open_dataset(path) as ds:
        assert ds.dims == {"time": 5, "x": 3, "run/x": 4} and ds["time"][...].tolist() == [5, 0, 0, 0, 0]
    with ps.open_dataset(path / "run") as ds:
        assert list(ds) == ["w"] and ds["w"][...].tolist() == [0, 7, 7, 7]


# ---- what fails, and what is left then


def test_a_block_that_is_left_by_an_exception(tmp_path, capfd):
    path = tmp_path / "e.h5"
    with pytest.raises(ZeroDivisionError), ps.open_dataset(path, "w") as ds:
        ds.create("u", (None, 4), "f8", compressors="gzip")[0] = 1
        ds.create("v", (None, 4), "f8")[0] = 1
        ds.sync()
        ds["u"][1] = ds["v"][1] = 2
        raise ZeroDivisionError
    assert "LOST DATA" in capfd.readouterr().err
    with h5py.File(path, "r+") as file:
        assert np.array_equal(file["u"], np.ones((1, 4))) and np.array_equal(file["v"], np.ones((1, 4)))


def test_chunks_of_one_variable_that_get_no_place(tmp_path, monkeypatch):
    """The file tells of none of those that its variables have got since."""
    path = tmp_path / "p.h5"
    ds = ps.open_dataset(path, "w")
    for name in "uv":
        ds.create(name, (None, 4), "f8", compressors="gzip")[0] = 1
    ds.sync()
    ds["u"][1], ds["v"][1] = 2, 2
    with monkeypatch.context() as patch:
        patch.setattr(placing.Overlay, "chunk", None)
        with pytest.raises(ps.InternalError):
            ds["v"].read(...)
    with pytest.raises(ps.StorageError, match="chunks of /v could not be written; the file is as it was at the last sync"):
        ds.sync()
    with pytest.raises(ps.StorageError, match="chunks of /v could not"):
        ds.close()
    assert ds.closed
    with h5py.File(path, "r+") as file:
        assert np.array_equal(file["u"], np.ones((1, 4))) and np.array_equal(file["v"], np.ones((1, 4)))


KILLED = HEAD + """
with ps.open_dataset("k.h5", "w", comm=comm, attributes={"a": 1}) as ds:
    d = ps.distribute((40, 40), comm)
    for name in "uv":
        ds.create(name, (None, 40, 40), "f8", compressors="gzip")
    for step in range(3):
        for name in "uv":
            ds[name].append(np.full(d.section.shape, step), d)
    ds.sync()
    for name in "uv":
        ds[name].append(np.full(d.section.shape, -1.0), d)
        ds[name].append(np.full(d.section.shape, -1.0), d)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_synced_survives_a_kill(tmp_path):
    run_ranks(tmp_path, KILLED, 3, expect=None)
    with h5py.File(tmp_path / "k.h5") as file:
        for name in "uv":
            assert np.array_equal(file[name], np.broadcast_to(np.arange(3.0)[:, None, None], (3, 40, 40)))
        assert file.attrs["a"] == 1


class Watched(Steps):
    """With the number of the sync before which each look was taken."""

    turn = 0

    def look(self):
        self.seen.append((self.turn, self.path.read_bytes()))


@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_files_at_each_step_of_a_sync(tmp_path, monkeypatch, libver):
    """Each chunk of each variable is as it was at the last sync, or as at the next one."""
    path, random = tmp_path / "s.h5", np.random.default_rng(9)
    states = [{name: random.integers(0, 4, (20, 6, 40)).astype("f8") for name in "uv"}]
    with h5py.File(path, "w", libver=(libver, "latest")) as file:
        for name in "uv":
            file.create_dataset(name, data=states[0][name], chunks=(1, 3, 40), maxshape=(None, 6, 40), compression="gzip")
    steps = Watched(path)
    monkeypatch.setattr(placing, "os", steps)
    for name in ("place", "publish"):
        monkeypatch.setattr(placing.Placer, name, steps.stepping(getattr(placing.Placer, name)))
    with ps.open_dataset(path, "r+") as ds:
        for turn in range(3):
            now = {}
            for name in "uv":
                more = np.full((15, 6, 40), turn + 1.0)
                now[name] = np.concatenate([states[-1][name], more])
                now[name][turn : turn + 2] = random.integers(0, 9 + 90 * turn, (2, 6, 40))
                ds[name][turn : turn + 2] = now[name][turn : turn + 2]
                for step in more:
                    ds[name].append(step)
            states.append(now)
            ds["v"][0] = now["v"][0]  # again, with other chunks placed since
            ds.sync()
            steps.turn += 1
    steps.look()
    assert len(steps.seen) > 100 and steps.seen[-1][0] == 3
    for turn, content in steps.seen:
        with h5py.File(io.BytesIO(content)) as file:
            for name in "uv":
                there, around = file[name][()], [state[name] for state in states[turn : turn + 2]]
                assert len(there) in [len(state) for state in around]
                for t, r in np.ndindex(len(there), 2):
                    chunk = (t, slice(3 * r, 3 * r + 3))
                    assert any(t < len(state) and np.array_equal(there[chunk], state[chunk]) for state in around), (turn, name, t, r)
