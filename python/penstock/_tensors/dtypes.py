"""The types of elements that safetensors files have, by their names there, and NumPy's for them."""

from __future__ import annotations

import functools
import sys
from typing import Any, Optional

import numpy as np

from .._core import ArgumentError

#: Bits of an element. Those below 8 are packed; a tensor has whole bytes of them.
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
        "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}

_NUMPY = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2", "I32": "<i4", "U32": "<u4",
          "F32": "<f4", "C64": "<c8", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
_ML_DTYPES = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
              "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """What a new array for such elements has: of NumPy, of ml_dtypes where that is installed, else the raw bits."""
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    bits = BITS[name]
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    except (ImportError, KeyError, AttributeError):
        return np.dtype(f"<u{bits // 8}" if bits >= 8 else "u1")


_NAMES = {np.dtype(text): name for name, text in _NUMPY.items()}


@functools.cache
def _name_of_other(dtype: np.dtype[Any]) -> Optional[str]:
    if "ml_dtypes" not in sys.modules:
        return None
    return next((name for name in _ML_DTYPES if numpy_dtype(name) == dtype), None)


def name_of(dtype: np.dtype[Any]) -> str:
    """That of a NumPy dtype. Raises ArgumentError where safetensors has none for it."""
    name = _NAMES.get(dtype) or _name_of_other(dtype)
    if name is None:
        swapped = dtype.newbyteorder("<")
        how = (f"safetensors is little-endian: array.astype({swapped.str!r})" if swapped in _NAMES else
               "for raw bits give the name of their type: Shard(array, dtype='BF16')")
        raise ArgumentError(f"dtype {dtype} is not a type of safetensors; {how}")
    return name


def check_raw(name: Any, dtype: np.dtype[Any]) -> None:
    """Raises unless arrays of `dtype` can be the bits of elements of that name."""
    if name not in BITS:
        raise ArgumentError(f"dtype={name!r} is not a type of safetensors; it has {', '.join(BITS)}")
    if dtype.hasobject or dtype.itemsize * 8 != max(BITS[name], 8):
        raise ArgumentError(f"elements of {dtype} are not the bits of {name}, which has {BITS[name]}")


def holds(dtype: np.dtype[Any], name: str) -> bool:
    """Whether an array of this dtype takes elements of that name: of the same type, or raw bits of one NumPy lacks."""
    wanted = numpy_dtype(name)
    if dtype == wanted:
        return True
    raw = name not in _NUMPY and dtype.kind in "uV"
    return raw and dtype.itemsize == wanted.itemsize


def byte_count(name: str, elements: int) -> int:
    """Of a tensor. Raises ArgumentError where these are no whole bytes."""
    bits = elements * BITS[name]
    if bits % 8:
        raise ArgumentError(f"{elements} elements of {name} are not a whole number of bytes")
    return bits // 8
