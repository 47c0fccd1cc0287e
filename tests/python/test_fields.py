"""Several arrays in one file: offsets, conversions, and errors on all ranks."""

import numpy as np
import penstock as ps
import pytest

from scripts import HEAD

RANKS = (1, 3, 4)
START = HEAD + """
shape = (9, 7, 5)
fields = [("header", 6, "f4"), ("density", shape, "f4"), ("steps", (4,), "i8"), ("big", shape[:2], ">f8")]
def opened(mode="r", **how):
    return ps.open("analysis.dat", mode, **{"fields": fields, "order": "F", "comm": comm, **how})
whole = np.arange(np.prod(shape), dtype="f8").reshape(shape) / 3
d = ps.distribute(shape, comm, kind=("block", "block", "*"))
"""


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("background", [None, "none", "storage"])
def test_what_is_written_lies_one_after_the_other_and_is_read_back(mpirun, tmp_path, ranks, background):
    mpirun(START + f"background = {background!r}" + """
def write(field, *what):
    if background is None:
        field.write(*what)
        return None
    return field.write_begin(*what, background=background)
def read(field, *what, **how):
    return field.read(*what, **how) if background is None else field.read_begin(*what, background=background, **how).wait()
with opened("w") as f:
    assert list(f.fields) == ["header", "density", "steps", "big"] and f.end_offset == 24 + 315 * 4 + 32 + 63 * 8
    assert (f["density"].data_offset, f["density"].end_offset) == (24, 24 + 315 * 4)
    assert (f["density"].shape, f["density"].dtype, f["density"].order) == (shape, np.dtype("f4"), "F")
    handles = [write(f["density"], whole[d.section.index], d),
               write(f["header"], np.arange(6.0) if rank == 0 else None, ... if rank == 0 else None),
               write(f["steps"], np.arange(4, dtype="i4"), ...),
               write(f["big"], whole[:, :, 0].astype("f4"), ...)]
    for handle in handles[::-1]:
        if handle is not None:
            handle.wait()
    assert f.statistics.bytes_wanted > 0
    local = np.full(d.section.shape, -1.0)
    assert read(f["density"], d, out=local) is local
    assert np.array_equal(local, whole[d.section.index].astype("f4"))
with opened() as f:
    assert np.array_equal(read(f["steps"], ...), np.arange(4)) and read(f["steps"], ...).dtype == np.dtype("i8")
    single = np.empty(shape[:2], "f4")
    read(f["big"], ..., out=single)
    assert np.array_equal(single, whole[:, :, 0].astype("f4"))
    picked = np.empty((2, 7), "c16")  # a list of rows, out of order
    read(f["big"], [5, 2], out=picked)
    assert np.array_equal(picked, whole[[5, 2], :, 0].astype("f4"))
    assert f["header"][2:4].tolist() == [2.0, 3.0]
    assert "density" in repr(f) and "density" in repr(f["density"]) and "does not have" in repr(f["none"])
""", ranks)
    parts = np.split(np.fromfile(tmp_path / "analysis.dat", "u1"), np.cumsum([24, 315 * 4, 32]))
    whole = (np.arange(315, dtype="f8") / 3).reshape(9, 7, 5)
    assert np.array_equal(parts[0].view("<f4"), np.arange(6))
    assert np.array_equal(parts[1].view("<f4"), whole.astype("f4").ravel("F"))
    assert np.array_equal(parts[2].view("<i8"), np.arange(4))
    assert np.array_equal(parts[3].view(">f8"), whole[:, :, 0].astype("f4").ravel("F"))


@pytest.mark.parametrize("ranks", RANKS)
def test_bad_input_is_told_alike_on_all_ranks(mpirun, ranks):
    mpirun(START + """
last = rank == size - 1
def refused(kind, words, given, mode="w", **how):
    same(kind, words, lambda: opened(mode, fields=given, **how))
refused(ps.ArgumentError, "two fields have the name 'a'", [("a", 3, "f4"), ("a", 4, "f8")])
refused(ps.ArgumentError, "at least one", [])
refused(ps.ArgumentError, "no name", [("", 3, "f4")])
refused(ps.ArgumentError, r"fields 'a' \\(bytes 0 to 24\\) and 'b' \\(bytes 20 to 24\\) overlap", [("a", 3, "f8"), ("b", 1, "f4", 20)])
refused(ps.ArgumentError, r"fields 'a' \\(bytes 0 to 24\\) and 'b' \\(bytes 23 to 24\\) overlap", [("a", 3, "f8"), ("b", 1, "i1", 23)])
refused(ps.ArgumentError, r"is not \\(name, shape, dtype\\)", [("a", 3)])
refused(ps.ArgumentError, "no meaning", [("a", 3, "f4")], container="npy")
refused(ps.ArgumentError, "field 'a'.*negative", [("a", -3, "f4")])
assert not os.path.exists("analysis.dat")
with opened("w") as f:
    f["density"].write(whole[d.section.index], d)
    wrong = f["density" if not last or size == 1 else "dens"]
    if size > 1:
        same(ps.ArgumentError, "has no field 'dens'; it has 'header', 'density', 'steps', 'big'", lambda: wrong.read(d))
        same(ps.ArgumentError, "has no field 'dens'", lambda: wrong.write_begin(whole[d.section.index], d).wait())
        same(ps.DisagreementError, "field", lambda: f["header" if last else "steps"].write(None, None))
    same(ps.ArgumentError, "float64 cannot become int64", lambda: f["steps"].write(np.ones(4), ...))
    same(ps.ArgumentError, "too large", lambda: f["header"].write(np.full(6, 1e300), ...))
    same(ps.ArgumentError, "cannot become", lambda: f["density"].write(np.ones(d.section.shape, "c16"), d))
    same(ps.ArgumentError, "cannot become", lambda: f["steps"].read(..., out=np.empty(4, "i4")))
    same(ps.ArgumentError, "shape", lambda: f["header"].write(np.ones(5), ...))
    same(ps.SectionError, "", lambda: f["header"].read(ps.section((0, 7))))
    f["header"].write(np.full(6, np.inf), ...)
    assert np.array_equal(f["density"].read(d), whole[d.section.index].astype("f4"))
same(ps.StateError, "closed", lambda: f["header"].read(...))
with opened() as f:
    same(ps.StateError, "reading only", lambda: f["header"].write(np.ones(6), ...))
if size > 1:
    refused(ps.DisagreementError, "fields", fields[:-1] if last else fields)
if rank == 0:
    os.truncate("analysis.dat", 500)
comm.Barrier()
same(ps.FormatError, r"too short for its fields: 'density' of shape \\(9, 7, 5\\) is bytes 24 to 1284, the file has 500 bytes", opened)
with opened("r+") as f:  # it grows
    assert f.file_size() == f.end_offset and not f["big"].read(...).any()
""", ranks)


@pytest.mark.parametrize("name, words", [("f.h5", "dataset="), ("f.NC", "dims="), ("f.zarr", "a file for each"),
                                         ("f.npy", "a file for each"), ("f.npz", "as .npy")])
def test_bare_fields_do_not_take_the_name_of_another_kind_of_file(tmp_path, name, words):
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(tmp_path / name, "w", fields=[("u", 3, "f8")])
    assert not (tmp_path / name).exists()
    ps.open(tmp_path / name, "w", fields=[("u", 3, "f8")], container="raw").close()
    assert (tmp_path / name).stat().st_size == 24


def test_an_offset_skips_what_others_have_in_the_file(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(bytes(range(100)))
    with ps.open(path, "r+", fields=[("a", 4, "u1", 10), ("b", 2, "<u2"), ("c", 3, "u1", 0)]) as f:
        assert f["a"].read(...).tolist() == [10, 11, 12, 13] and f["b"].data_offset == 14
        f["b"].write(np.array([1, 2], "u1"), ...)
        assert f["c"].read(...).tolist() == [0, 1, 2]
    assert path.read_bytes() == bytes([*range(14), 1, 0, 2, 0, *range(18, 100)])


TYPES = ["?", "i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f4", ">i4"]


@pytest.mark.parametrize("memory", TYPES)
def test_elements_convert_by_same_kind_casting_in_fields_and_files(tmp_path, memory):
    values = np.array([0, 1, 1], memory)
    for file in TYPES:
        fields = ps.open(tmp_path / "f", "w", fields=[("a", 3, file)])
        with fields, ps.open(tmp_path / "f.npy", "w", shape=3, dtype=file) as whole:
            for array in (fields["a"], whole):
                if not np.can_cast(memory, file, "same_kind"):
                    with pytest.raises(ps.ArgumentError, match="cannot become"):
                        array.write(values, ...)
                    continue
                array.write(values, ...)
                assert np.array_equal(array.read(...), values.astype(file))
                out = np.empty(3, memory)
                if np.can_cast(file, memory, "same_kind" if out.dtype.kind in "fc" else "safe"):
                    assert array.read(..., out=out) is out and np.array_equal(out, values)
                else:
                    with pytest.raises(ps.ArgumentError, match="out: elements of"):
                        array.read(..., out=out)


@pytest.mark.parametrize("value, memory, file", [(1e300, "f8", "f4"), (2**31, "i8", "i4"), (-129, "i2", "i1"), (2**63, "u8", "i8"), (70000, "i4", "f2")])
def test_a_number_out_of_the_range_of_the_file_is_refused(tmp_path, value, memory, file):
    with ps.open(tmp_path / "f.npy", "w", shape=2, dtype=file) as f:
        with pytest.raises(ps.ArgumentError, match="out of the range|too large"):
            f.write(np.array([1, value], memory), ...)
        assert (f.read(...) == 0).all()


def test_what_is_out_of_range_becomes_infinite_when_it_is_read(tmp_path):
    with ps.open(tmp_path / "f", "w", fields=[("a", 2, "f8")]) as f:
        f["a"].write(np.array([1e300, -2.5]), ...)
        out = np.empty(2, "f4")
        with pytest.warns(RuntimeWarning, match="overflow"):
            f["a"].read(..., out=out)
        assert out.tolist() == [np.inf, -2.5]
