"""Attributes: the file beside the array's."""

import json
import os
import stat

import numpy as np
import pytest

import penstock as ps
from conftest import left_over
from scripts import HEAD


@pytest.fixture
def f(tmp_path):
    with ps.open(tmp_path / "f.npy", "w", shape=(3,), dtype="f8") as f:
        yield f


def record(f):
    return json.load(open(f.path + ".attrs.json"))


def test_what_is_set_is_there_when_the_file_is_opened_again(f):
    f.attrs["dt"] = 0.25
    f.attrs.update(name="é \U0001F40B", steps=np.int64(7), grid=np.arange(3), nested={"a": [None, True, (1, 2)]})
    wanted = {"dt": 0.25, "name": "é \U0001F40B", "steps": 7, "grid": [0, 1, 2], "nested": {"a": [None, True, [1, 2]]}}
    assert f.attrs == wanted == record(f) and list(f.attrs) == list(wanted) and "0.25" in repr(f.attrs)
    del f.attrs["dt"]
    assert f.attrs.pop("steps") == 7 and f.attrs.pop("none", 1) == 1
    f.close()
    with ps.open(f.path) as again:
        assert len(again.attrs) == 3 and again.attrs["grid"] == [0, 1, 2] and "dt" not in again.attrs
    assert sorted(os.listdir(os.path.dirname(f.path))) == ["f.npy", "f.npy.attrs.json"]


def test_raw_files_have_attributes_too(tmp_path):
    with ps.open(tmp_path / "raw", "w", shape=(2,), dtype="i4") as f:
        f.attrs["unit"] = "m"
    with ps.open(tmp_path / "raw", shape=(2,), dtype="i4") as f:
        assert dict(f.attrs) == {"unit": "m"}


@pytest.mark.parametrize(("name", "value", "words"), [
    ("z", 1 + 2j, "type complex"), ("z", float("nan"), "is nan"), ("z", np.array([1.0, np.inf]), r"'z'\[1\] is inf"),
    ("z", {1: 2}, "key 1; keys in JSON are text"), ("z", {"a": [b"x"]}, r"'z'\['a'\]\[0\] is of type bytes"), (3, 1, "the name of an attribute"),
    ("z", np.zeros(2, "c16"), "array of complex128"), ("z", "\udc80", "surrogates"), ("z", object(), "type object"),
])
def test_what_json_cannot_say_leaves_the_attributes_as_they_were(f, name, value, words):
    f.attrs["a"] = 1
    before = os.stat(f.path + ".attrs.json").st_mtime_ns
    with pytest.raises(ps.ArgumentError, match=words):
        f.attrs[name] = value
    assert f.attrs == {"a": 1} == record(f) and os.stat(f.path + ".attrs.json").st_mtime_ns == before


def test_a_file_made_anew_has_none(f):
    f.attrs["a"] = 1
    f.close()
    with ps.open(f.path, "w", shape=(3,), dtype="f8") as again:
        assert dict(again.attrs) == {} and not os.path.exists(f.path + ".attrs.json")


def test_who_may_not_set_them(f):
    f.attrs["a"] = 1
    f.close()
    assert f.attrs["a"] == 1  # they have been read
    with pytest.raises(ps.StateError, match="closed"):
        f.attrs["a"] = 2
    with ps.open(f.path) as reader, pytest.raises(ps.StateError, match="reading only"):
        reader.attrs["a"] = 2
    with ps.open(f.path, "r+", shape=(2,), dtype="f8", offset=f.end_offset) as second:
        assert len(second.attrs) == 0
        with pytest.raises(ps.StateError, match="begins at byte"):
            second.attrs["a"] = 2
    assert record(f) == {"a": 1}


def test_a_record_that_is_none(f):
    for text, words in [("{", "not valid JSON"), ("[1]", "must hold a JSON object, not list")]:
        with open(f.path + ".attrs.json", "w") as other:
            other.write(text)
        with ps.open(f.path) as reader, pytest.raises(ps.FormatError, match=words):
            reader.attrs  # noqa: B018
    os.remove(f.path + ".attrs.json")
    with pytest.raises(KeyError):
        del f.attrs["absent"]


def test_where_the_system_refuses_the_old_record_stays(f):
    f.attrs["a"] = 1
    os.rename(f.path + ".attrs.json", f.path + ".kept")
    os.mkdir(f.path + ".attrs.json")
    with pytest.raises(IsADirectoryError, match="replacing"):
        f.attrs["a"] = 2
    assert f.attrs == {"a": 1}
    assert sorted(os.listdir(os.path.dirname(f.path))) == ["f.npy", "f.npy.attrs.json", "f.npy.kept"]


def test_a_record_has_the_mode_of_its_file_and_leaves_nothing_behind(f, tmp_path):
    left_over(tmp_path / "f.npy.attrs.json")
    os.chmod(f.path, 0o640)
    f.attrs["a"] = 1
    assert stat.S_IMODE(os.stat(f.path + ".attrs.json").st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["f.npy", "f.npy.attrs.json"]


def test_ranks_change_them_together(mpirun):
    mpirun(HEAD + """
def put(name, value): f.attrs[name] = value
def remove(name): del f.attrs[name]
with ps.open("a.npy", "w", shape=(4,), dtype="f8", comm=comm) as f:
    f.attrs["t"] = 1.5
    same(ps.ArgumentError, "rank 1: 'a.npy', attrs: attribute 'u' is of type set", lambda: put("u", {1} if rank == 1 else 1))
    same(ps.DisagreementError, "the attributes", lambda: put("u", rank))
    same(ps.DisagreementError, "the operation", lambda: put("u", 1) if rank else f.sync())
    same(KeyError, "none", lambda: remove("none"))
    same(ps.DisagreementError, "the attributes", lambda: remove("t" if rank else "none"))
    assert f.attrs == {"t": 1.5}
with ps.open("a.npy", comm=comm) as f:
    assert f.attrs == {"t": 1.5}
""", 3)
