"""`penstock.h5`: files of others, and what it lacks, which raises with the reason and what to do."""

import pytest

from conftest import run_ranks
from scripts import DOOR


h5py = pytest.importorskip("h5py")


OTHERS = DOOR + """
if rank == 0:
    with plain.File("o.h5", "w") as p:
        p["x"] = np.arange(12.0)
        p["packed"] = np.arange(100)
        p.create_dataset("lzf", data=np.arange(100).reshape(10, 10), compression="lzf")
        p.create_dataset("never", (5,), "f4", fillvalue=2.5)
        p["g/texts"] = np.array(["a", "bb"], object)
        p["soft"], p["hard"], p["lost"] = plain.SoftLink("/g/texts"), p["x"], plain.SoftLink("/nowhere")
        p["away"] = plain.ExternalLink("e.h5", "/x")
        p["type"] = np.dtype("f8")
        p["nothing"] = plain.Empty("f4")
        p["ref"] = p["x"].ref
        p.attrs["empty"], p.attrs["ref"] = plain.Empty("i4"), p["x"].ref
comm.Barrier()
for mode in ("r", "r+"):
    with opened(mode, "o.h5") as f:
        assert f["lzf"].compression == "lzf" and np.array_equal(f["lzf"][rank], np.arange(10) + 10 * rank)
        assert f["never"][:].tolist() == [2.5] * 5 and f["never"].fillvalue == 2.5
        assert list(f["soft"].asstr()[:]) == ["a", "bb"] and f["soft"].name == "/g/texts" and f["hard"] == f["x"] or f["hard"].name
        assert np.array_equal(f["hard"][:], np.arange(12.0)) and "lost" not in f and f["nothing"].shape is None
        assert isinstance(f.attrs["empty"], h5py.Empty) and "ref" not in f.attrs
        for name in ("away", "type"):
            same(NotImplementedError, "penstock.h5", lambda: f[name])
        same(KeyError, "nowhere", lambda: f["lost"])
        same(KeyError, "doesn't exist", lambda: f["g/none"])
        if mode == "r+":
            if size > 1:
                same(NotImplementedError, "all ranks have written it once", lambda: f["never"].__setitem__(0, 1))
                same(NotImplementedError, "filter that Penstock does not have, lzf.*several ranks", lambda: f["lzf"].__setitem__(0, 1))
            else:
                f["lzf"][0] = 1
            never = f["never"]
            with never.collective:
                never[1:2] = 7
            assert f["never"][:3].tolist() == [2.5, 7, 2.5]
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_files_of_others(tmp_path, ranks):
    run_ranks(tmp_path, OTHERS, ranks)
    with h5py.File(tmp_path / "o.h5") as file:
        assert file["never"][:].tolist() == [2.5, 7, 2.5, 2.5, 2.5] and list(file["g/texts"].asstr()) == ["a", "bb"]


LACKING = DOOR + """
lacks = lambda words, call: same(NotImplementedError, words, call)
lacks("driver='core'.*leave the driver out", lambda: h5py.File("n.h5", "w", driver="core", comm=comm))
lacks("track_order=True", lambda: opened(track_order=True))
lacks("has no h5s.*import h5py itself", lambda: h5py.h5s)
same(AttributeError, "neither has h5py", lambda: h5py.nonsense)
same(ValueError, "Invalid mode", lambda: opened("rw"))
same(FileNotFoundError, "none.h5", lambda: opened("r", "none.h5"))
with opened(libver="latest", rdcc_nbytes=1 << 20, alignment_threshold=1, alignment_interval=4096) as f:
    x = f.create_dataset("x", (4, 4), "i4")
    c = f.create_dataset("c", (4, 4), "i4", chunks=(2, 2), compression="gzip")
    same(KeyError, "doesn't exist", lambda: f.__delitem__("y"))
    p = f.create_dataset("p", (4, 4), "i4", chunks=(2, 2))
    lacks("move of 'x'", lambda: f.move("x", "y"))
    lacks("link", lambda: f.__setitem__("y", x))
    lacks("link", lambda: f.__setitem__("y", h5py.SoftLink("/x")))
    lacks("copies nothing", lambda: f.copy("x", "y"))
    lacks("compression='lzf'.*'gzip'", lambda: f.create_dataset("y", (4,), "f4", compression="lzf"))
    lacks("scaleoffset", lambda: f.create_dataset("y", (4,), "i4", scaleoffset=3))
    lacks("fletcher32", lambda: f.create_dataset("y", (4,), "i4", fletcher32=True))
    lacks("one dimension alone grows", lambda: f.create_dataset("y", (4, 4), "i4", maxshape=(4, None)))
    lacks("without a name", lambda: f.create_dataset(None, (4,), "i4"))
    lacks("low-level", lambda: x.id.get_space())
    lacks("ref: .*store the name", lambda: x.ref)
    lacks("dims", lambda: x.dims)
    lacks("compound|members", lambda: f.create_dataset("s", (4,), [("a", "i4")]).__setitem__("a", 1))
    lacks("create_virtual_dataset", lambda: f.create_virtual_dataset)
    if size > 1:
        lacks("one owner each.*with ds.collective", lambda: c.__setitem__(0, 1))
        with c.collective:
            c[0] = 5
        lacks("in the memory of other ranks.*flush", lambda: c[0])
        same(ps.DisagreementError, "data", lambda: f.create_dataset("y", data=np.full(3, rank)))
        same(ps.DisagreementError, "size", lambda: f.create_dataset("g", (3, 3), maxshape=(None, 3)).resize(3 + rank, 0))
        same(ps.DisagreementError, "attribute", lambda: f.attrs.__setitem__("rank", rank))
        t = f.create_dataset("t", (3,), h5py.string_dtype())
        lacks("/t has elements.*pass data=", lambda: t.__setitem__(0, "a"))
    same(ValueError, "name already exists", lambda: f.create_dataset("x", (3,)))
    same(ValueError, "no group", lambda: f.create_group("x/y"))
    same(TypeError, "Shapes do not match", lambda: f.require_dataset("x", (3,), "i4"))
    same(TypeError, "Only chunked", lambda: x.resize((5, 4)))
    assert "x" in f and "y" not in f
same(ps.StateError, "closed", lambda: f["x"])
same(ps.StateError, "closed", lambda: x[0])
with opened("r") as f:
    same(ValueError, "open for reading", lambda: f.create_group("z"))
    for name in ("x", "p"):
        same(ps.StateError, "opened for reading", lambda: f[name].__setitem__(0, 1))
        assert not f[name][:].any()
    same(ps.StateError, "open for reading", lambda: f["c"].resize((2, 4)))
    same(ps.StateError, "open for reading", lambda: f.__delitem__("x"))
    same(ps.StateError, "open for reading", lambda: f.attrs.__setitem__("a", 1))
same(FileExistsError, "t.h5", lambda: opened("x"))
assert h5py.get_config().mpi and h5py.h5.get_config().mpi and h5py.version.hdf5_version and h5py.string_dtype() is not None
with h5py.File(f"alone{rank}.h5", "w") as alone:          # without a communicator: h5py's own
    assert type(alone) is plain.File and isinstance(alone, h5py.File) and isinstance(alone.create_group("g"), h5py.Group)
class Mine(h5py.File):
    def __init__(self, name):
        super().__init__(name, "w", driver="mpio", comm=comm)
with Mine("mine.h5") as mine:
    assert isinstance(mine, h5py.File) and not isinstance(alone, Mine)
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_it_lacks_raises_with_the_reason(tmp_path, ranks):
    run_ranks(tmp_path, LACKING, ranks)
