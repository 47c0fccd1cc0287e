"""Messages say what to do: each of these was misleading once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps


@pytest.mark.parametrize("name, mode, how, words", [
    ("a.zarr", "w", {"dims": {"x": [1.0]}}, "coordinates are arrays of their own"),
    ("a.npy", "w", {"dims": ("x",)}, "pass dataset= if"),
    ("a.npy", "c", {}, "known are r, r\\+, a, w, x$"),
    ("a.npy", "replace", {}, "pass mode 'w' and replace=True"),
    ("a.h5", "w", {"dataset": "x", "shape": (None, *[1] * 8)}, "has 9 dimensions; a dataset has up to 8"),
])
def test_arguments_of_open(tmp_path: Path, name: str, mode: str, how: dict[str, Any], words: str) -> None:
    if "dataset" in how:
        pytest.importorskip("h5py")
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(tmp_path / name, mode, **{"shape": (4,), "dtype": "f8", **how})


def test_a_dataset_larger_than_any_file(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    with pytest.raises(ps.Error) as caught:
        ps.open(tmp_path / "a.h5", "w", dataset="x", shape=(10**15,), dtype="f8")
    assert "ref count" not in str(caught.value)


def test_advice_on_dtypes_works(tmp_path: Path) -> None:
    for file, memory in (("<u2", "|V2"), ("|V2", "<u2"), ("|S2", "<u2")):
        with ps.open(tmp_path / "a.raw", "w", shape=(4,), dtype=file) as f:
            with pytest.raises(ps.ArgumentError, match="cannot become") as caught:
                f.write(np.zeros(4, memory), slice(0, 4))
            if "V" in file + memory:
                assert f"array.view({file!r})" in str(caught.value)
                f.write(np.zeros(4, memory).view(file), slice(0, 4))
    with ps.open(tmp_path / "b.raw", "w", shape=(4,), dtype="f8") as f:
        f.write(np.zeros(4), slice(0, 4))
        with pytest.raises(ps.ArgumentError, match=r"pass an array of the file's dtype"):
            f.read(slice(0, 4), out=np.zeros(4, "i4"))
