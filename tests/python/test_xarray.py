"""xarray opens raw and .npy files with engine="penstock"."""

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as ps
from scripts import HEAD

xarray = pytest.importorskip("xarray")
from penstock._formats.xarray_backend import PenstockBackend  # noqa: E402


def saved(folder, whole, attributes=None, name="u.npy"):
    path = folder / name
    np.save(path, whole)
    if attributes is not None:
        (folder / f"{name}.attrs.json").write_text(json.dumps(attributes))
    return path


def test_dimensions_and_attributes_are_those_beside_the_file(tmp_path):
    whole = np.arange(12.0).reshape(3, 4)
    path = saved(tmp_path, whole, {"dims": ["y", "x"], "units": "K", "v": [1, 2]})
    with xarray.open_dataset(path, engine=PenstockBackend) as seen:
        assert list(seen) == ["u"] and seen["u"].dims == ("y", "x") and seen["u"].attrs == {"units": "K", "v": [1, 2]}
        assert np.array_equal(seen["u"].sel(y=1), whole[1]) and float(seen["u"].mean()) == whole.mean()
    with xarray.open_dataset(path, engine=PenstockBackend, name="w", dims=("a", "b")) as seen:
        assert seen["w"].dims == ("a", "b")
    assert list(xarray.open_dataset(path, engine=PenstockBackend, drop_variables="u")) == []
    with xarray.open_dataset(saved(tmp_path, whole, name="plain.npy"), engine=PenstockBackend) as seen:
        assert seen["plain"].dims == ("dim_0", "dim_1")


@pytest.mark.parametrize("order", ["C", "F"])
def test_raw_files(tmp_path, order):
    whole = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    path = tmp_path / "u.raw"
    path.write_bytes(b"head" + whole.tobytes(order))
    with xarray.open_dataset(path, engine=PenstockBackend, shape=(2, 3, 4), dtype=">i2", offset=4, order=order) as seen:
        assert np.array_equal(seen["u"], whole)


def test_only_what_is_asked_for_is_read(tmp_path):
    path = saved(tmp_path, np.zeros((1000, 1000)))
    seen = xarray.open_dataset(path, engine=PenstockBackend)
    file = seen["u"].variable._data
    while not hasattr(file, "file"):
        file = file.array
    assert repr(seen) and file.file.statistics.bytes_wanted == 0
    assert seen["u"][10:20, ::100].sum() == 0
    assert file.file.statistics.bytes_wanted == 10 * 10 * 8
    seen.close()
    assert file.file.closed


# An empty slice of negative step is refused by xarray itself.
slices = st.slices(5).filter(lambda key: (key.step or 1) > 0 or len(range(*key.indices(5))) > 0)
keys = st.one_of(st.integers(-5, 4), slices, st.lists(st.integers(-5, 4), max_size=6).filter(lambda key: len({n % 5 for n in key}) != 4))


@settings(max_examples=200, deadline=None)
@given(st.tuples(keys, keys, keys))
def test_random_indices(tmp_path_factory, key):
    path = tmp_path_factory.getbasetemp() / "random.npy"
    whole = np.arange(125).reshape(5, 5, 5)
    if not path.exists():
        np.save(path, whole)
    beside = xarray.Dataset({"random": (("a", "b", "c"), whole)})
    with xarray.open_dataset(path, engine=PenstockBackend, dims=("a", "b", "c")) as seen:
        index = dict(zip("abc", key))
        assert np.array_equal(seen["random"].isel(index), beside["random"].isel(index))


@pytest.mark.parametrize("attributes,kind", [("not valid JSON", ps.FormatError), ("[1]", ps.FormatError),
                                             ('{"dims": ["x"]}', ps.ArgumentError), ('{"dims": "xy"}', ps.ArgumentError)])
def test_attributes_that_do_not_fit(tmp_path, attributes, kind):
    path = saved(tmp_path, np.zeros((2, 2)))
    (tmp_path / "u.npy.attrs.json").write_text(attributes)
    with pytest.raises(kind, match="u.npy"):
        xarray.open_dataset(path, engine=PenstockBackend)


def test_xarray_finds_it_by_its_name(tmp_path):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["xarray.backends"]
    installed = tmp_path / "packages" / "penstock-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: penstock\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(
        "[xarray.backends]\n" + "".join(f"{name} = {where}\n" for name, where in points.items()))
    path = saved(tmp_path, np.arange(3.0))
    script = f"import xarray; print(xarray.open_dataset({str(path)!r}, engine='penstock')['u'].values.tolist())"
    env = {**os.environ, "PYTHONPATH": f"{installed.parent}:{os.environ['PYTHONPATH']}"}
    shown = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120)
    assert shown.stdout == "[0.0, 1.0, 2.0]\n", shown.stderr


def test_the_environment_of_make_has_the_engine():
    if not os.path.exists(os.path.join(sysconfig.get_path("purelib"), "penstock-build.pth")):
        pytest.skip("an environment that scripts/setup.sh has not made")
    [engine] = importlib.metadata.entry_points(group="xarray.backends", name="penstock")
    assert engine.load() is PenstockBackend


TOGETHER = HEAD + """
import json, xarray
from penstock._formats.xarray_backend import PenstockBackend
whole = np.arange(40 * 30.0).reshape(40, 30)
if rank == 0:
    np.save("u.npy", whole)
    json.dump({"dims": ["y", "x"], "units": "K"}, open("u.npy.attrs.json", "w"))
comm.Barrier()
seen = xarray.open_dataset("u.npy", engine=PenstockBackend, comm=comm)
assert seen["u"].dims == ("y", "x") and seen["u"].attrs == {"units": "K"}
rows = slice(rank * 40 // size, (rank + 1) * 40 // size)
assert np.array_equal(seen["u"].isel(y=rows), whole[rows])
part = seen["u"].isel(y=slice(5) if rank == size - 1 else slice(0)).load()
assert part.shape[0] == (5 if rank == size - 1 else 0)
seen.close()
if rank == 0:
    open("u.npy.attrs.json", "w").write("{")
comm.Barrier()
same(ps.FormatError, "not valid JSON", lambda: xarray.open_dataset("u.npy", engine=PenstockBackend, comm=comm))
same(ps.DisagreementError, "dims", lambda: xarray.open_dataset("u.npy", engine=PenstockBackend, comm=comm,
                                                               dims=("a", "b" * (1 + rank))))
"""


@pytest.mark.parametrize("ranks", [3, 4])
def test_ranks_read_together(mpirun, ranks):
    mpirun(TOGETHER, ranks)
