"""Unexpected files: a pipe, a folder, a device, a socket; too long, nested too deep, not JSON."""

import json
import os
import socket
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "d.zarr"
    with ps.open(path, "w", shape=(64,), dtype="f8", chunks=32, compressors="zstd") as f:
        f.write(np.arange(64.0), ...)
    return path


SPECIAL = {"a pipe": os.mkfifo, "a folder": os.mkdir, "a device": lambda path: os.symlink("/dev/zero", path),
           "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path))}


def in_place_of(path, kind):
    path.unlink(missing_ok=True)
    before = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        SPECIAL[kind](Path(path.name))
    finally:
        os.chdir(before)


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(made, kind):
    """A pipe would hang for ever."""
    with ps.open(made) as f:
        assert f.read(...).shape == (64,)
    chunk = made / "c" / "0"
    in_place_of(chunk, kind)
    with ps.open(made, "r+") as f:
        with pytest.raises(ps.StorageError, match=f"c/0' is {kind}, where only a regular file"):
            f.read(...)
        with pytest.raises(ps.StorageError, match=f"c/0' is {kind}"):
            f.write(np.ones(3), slice(1, 4), active_buffer_size=0)
    in_place_of(made / "zarr.json", kind)
    for mode in ("r", "r+", "w"):
        with pytest.raises(ps.StorageError, match=f"zarr.json' is {kind}, where only a regular file"):
            ps.open(made, mode, shape=(64,), dtype="f8")


SHOWN = {"a pipe": "is a pipe", "a folder": "a (folder|directory)", "a device": "is a device", "a socket": "is a socket"}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", ["a.npy", "a.raw", "a.h5"])
def test_what_holds_no_array_is_refused_and_not_waited_for(tmp_path, name, kind):
    how = {"shape": (4,), "dtype": "f8"}
    if name == "a.h5":
        pytest.importorskip("h5py")
        how["dataset"] = "u"
    in_place_of(tmp_path / name, kind)
    if kind == "a device" and name != "a.h5":  # bare bytes may be those of a device
        with pytest.raises(ps.FormatError, match="no .npy header"):
            ps.open(tmp_path / name, container="npy", **how)
        return
    for mode in ("r", "r+", "w"):
        with pytest.raises(ps.StorageError, match=f"{name}'.*{SHOWN[kind]}"):
            ps.open(tmp_path / name, mode, **how)


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_no_record_of_attributes(tmp_path, kind):
    with ps.open(tmp_path / "a.npy", "w", shape=(4,), dtype="f8") as f:
        f.write(np.zeros(4), ...)
    in_place_of(tmp_path / "a.npy.attrs.json", kind)
    with ps.open(tmp_path / "a.npy") as f, pytest.raises(ps.StorageError, match=f"attrs.json' is {kind}"):
        len(f.attrs)


def test_metadata_has_a_longest_length(made, tmp_path):
    text = json.loads((made / "zarr.json").read_text())
    text["attributes"] = {"x": "a" * (16 << 20)}
    (made / "zarr.json").write_text(json.dumps(text))
    with pytest.raises(ps.FormatError, match="zarr.json' is longer than 16 MiB"):
        ps.open(made)
    with ps.open(tmp_path / "a.npy", "w", shape=(4,), dtype="f8") as f:
        with pytest.raises(ps.ArgumentError, match="16 MiB"):
            f.attrs["x"] = "a" * (16 << 20)
    (tmp_path / "a.npy.attrs.json").write_text(json.dumps(text))
    with ps.open(tmp_path / "a.npy") as f, pytest.raises(ps.FormatError, match="attrs.json' is longer"):
        len(f.attrs)
    with pytest.raises(ps.ArgumentError, match="16 MiB"):
        ps.open(tmp_path / "large.zarr", "w", shape=(4,), dtype="f8", attributes={"x": "a" * (16 << 20)})


def test_many_members_are_read_in_seconds(made):
    text = json.loads((made / "zarr.json").read_text())
    text["attributes"] = {f"{i:x}": i for i in range(300_000)}
    (made / "zarr.json").write_text(json.dumps(text, separators=(",", ":")))
    begin = time.process_time()
    with ps.open(made) as f:
        assert len(f.attrs) == 300_000 and list(f.attrs)[:3] == ["0", "1", "2"]
    assert time.process_time() - begin < 10  # 0.5 s; by comparing each name with all before it, a minute


@pytest.mark.parametrize("text, words", [
    ('{\n  "zarr_format": 3,\n  "node_type" "array"}', "line 3, column 21: it is no JSON: .*expected ':'"),
    ('{"zarr_format": 3', "line 1, column 18: it is no JSON: unexpected end of input; expected '}'"),
    ("[" * 1_000_000, "line 1, column 501: values are nested deeper than 500 levels"),
    ('{"zarr_format": 1e999}', "number overflow")])
def test_what_is_no_json_is_told_by_line_and_column(made, text, words):
    (made / "zarr.json").write_text(text)
    with pytest.raises(ps.FormatError, match="zarr.json': " + words) as error:
        ps.open(made)
    assert "json.exception" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize("members, words", [
    ({"codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": "high"}}]},
     'level must be .* whole numbers .* "high"'),
    ({"codecs": [{"name": "bytes", "configuration": []}]}, "configuration is .*, no JSON object"),
    ({"dimension_names": ["x", "y"]}, "dimension_names .* each of the 1 dimensions"),
    ({"attributes": 3}, "attributes are 3"),
    ({"shape": [2**64 - 1]}, "whole numbers of 64 bits")])
def test_members_of_another_type_are_told(made, members, words):
    file = made / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))
    with pytest.raises(ps.FormatError, match=words) as error:
        ps.open(made)
    assert "json.exception" not in str(error.value)


def test_a_chunk_that_is_too_long_is_not_read(made):
    chunk = made / "c" / "0"
    os.truncate(chunk, 1 << 40)
    with ps.open(made) as f, pytest.raises(ps.FormatError, match="c/0' has 1099511627776 bytes, and no chunk"):
        f.read(...)


@pytest.mark.parametrize("kind", SPECIAL)
def test_xarray_refuses_what_is_no_record_of_attributes(tmp_path, kind):
    xarray = pytest.importorskip("xarray")
    from penstock._formats.xarray_backend import PenstockBackend

    np.save(tmp_path / "a.npy", np.zeros(4))
    in_place_of(tmp_path / "a.npy.attrs.json", kind)
    with pytest.raises(ps.FormatError, match=f"attrs.json' is {kind}, not a regular file"):
        xarray.open_dataset(tmp_path / "a.npy", engine=PenstockBackend)
    (tmp_path / "a.npy.attrs.json").unlink() if kind != "a folder" else (tmp_path / "a.npy.attrs.json").rmdir()
    (tmp_path / "a.npy.attrs.json").write_text('{"x": "' + "a" * (16 << 20) + '"}')
    with pytest.raises(ps.FormatError, match="attrs.json' is longer than 16 MiB"):
        xarray.open_dataset(tmp_path / "a.npy", engine=PenstockBackend)
