"""What programs pass, in terms that the library takes: communicators, numbers, texts, types."""

from __future__ import annotations

import ast
import operator
import os
from typing import Any, Literal

import numpy as np

from ._core import ArgumentError, FormatError
from ._small_floats import is_foreign, named


def comm_address(comm: Any) -> int:
    if comm is None:
        return 0
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise ArgumentError(f"comm must be an mpi4py communicator or None, not {type(comm).__name__}")
    if comm == MPI.COMM_NULL:
        raise ArgumentError("comm is MPI.COMM_NULL: the communicator was freed, or this process is not in it")
    return MPI._addressof(comm)


def path_bytes(path: Any) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ArgumentError(f"path {path!r} has a byte 0, which no name of a file can have")
    return name


def whole_number(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} must be a whole number, not {value!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ArgumentError(f"{name} {number} does not fit 64 bits")
    return number


def tellable(value: Any) -> str:
    """As text that the library takes, whatever is in it."""
    return str(value).encode(errors="backslashreplace").decode()


def _converted(value: Any, dtype: np.dtype) -> np.ndarray:
    """With the file's dtype, where no value becomes another one but by rounding to fewer digits."""
    if not isinstance(value, (np.ndarray, np.generic)) and dtype.kind not in "biufc":
        return np.asarray(value, dtype)
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    ranks = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    fits = np.can_cast(array.dtype, dtype, "same_kind")
    if array.dtype.kind in ranks and dtype.kind in ranks:
        fits = array.size == 0 or ranks[array.dtype.kind] <= ranks[dtype.kind]
    if not fits:
        raise ArgumentError(f"a value of dtype {array.dtype} cannot be assigned to elements of {dtype}; "
                            f"convert it first: value.astype({dtype.str!r})")
    return _in_range(array, dtype, "value")


def assigned(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """What ``array[...] = value`` puts into an array: repeated to its shape, with its dtype. Maybe not writable."""
    array = _converted(value, dtype)
    while array.ndim > len(shape) and array.shape[0] == 1:
        array = array[0]
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ArgumentError(f"a value of shape {array.shape} cannot be repeated to fill {shape}, "
                            "the shape of what the index selects") from None


def is_number(dtype: np.dtype) -> bool:
    """Also those of ml_dtypes (bfloat16, float8), which NumPy knows by their casts."""
    return dtype.kind in "biufc" or is_foreign(dtype)


def is_float(dtype: np.dtype) -> bool:
    return is_number(dtype) and dtype.kind not in "biu"


def check_conversion(given: np.dtype, wanted: np.dtype, what: str, casting: Literal["safe", "same_kind"]) -> None:
    """Raises where elements of `given` do not become elements of `wanted` by that casting of NumPy's. What is no
    number stays of its kind: NumPy would make text or raw bytes of any number."""
    numbers = is_number(given) and is_number(wanted)
    alike = numbers or given.kind == wanted.kind and is_number(given) == is_number(wanted)
    if not alike or not np.can_cast(given, wanted, casting if numbers else "safe"):
        raise ArgumentError(f"{what}: elements of {given} cannot become {wanted} ({casting} casting); "
                            + _advice(given, wanted, reads=what == "out"))


def _advice(given: np.dtype, wanted: np.dtype, reads: bool) -> str:
    of_file = given if reads else wanted
    if "V" in (given.kind, wanted.kind) and given.itemsize == wanted.itemsize:
        return f"view it as that: array.view({spelled(of_file)})"
    if reads:
        return (f"pass an array of the file's dtype, as np.empty(shape, {spelled(of_file)}), and convert it "
                "after the read")
    return f"convert them first: array.astype({spelled(of_file)})"


def converted_to_file(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a write into elements of another type than the array's puts there."""
    check_conversion(array.dtype, dtype, "array", "same_kind")
    return _in_range(array, dtype, "array")


def _in_range(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """The elements as others. Raises where one is beyond their range."""
    safe = np.can_cast(array.dtype, dtype, "safe") or array.size == 0
    if not safe and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ArgumentError(f"{what}: a number of {array.dtype} is out of the range of elements of {dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(dtype)
    if not safe and is_float(dtype) and \
            np.count_nonzero(np.isfinite(converted)) != np.count_nonzero(np.isfinite(array)):
        raise ArgumentError(f"{what}: a number of {array.dtype} is too large for elements of {dtype}")
    return converted


def spelled(dtype: np.dtype) -> str:
    """As a program writes it."""
    if is_foreign(dtype):
        return f"{dtype.type.__module__}.{dtype.name}"
    return repr(dtype.descr if dtype.names is not None else dtype.str)


def descr_of(dtype: np.dtype) -> str:
    """As an .npy file tells it: NumPy reads elements of other packages' types as raw bytes."""
    if is_foreign(dtype):
        return f"|V{dtype.itemsize}"
    descr = np.lib.format.dtype_to_descr(dtype)
    return descr if isinstance(descr, str) else repr(descr)


def dtype_of(inner: Any, path: str) -> np.dtype:
    """The dtype in the file's header. Closes the file if NumPy has no such type."""
    descr, size = inner.dtype, inner.element_size
    if not descr:
        return np.dtype((np.void, size))
    try:
        if inner.container == "zarr" and (descr[0] not in "[<>|=" or descr.startswith(">bf")):
            return named(descr, path)
        value: Any = ast.literal_eval(descr) if descr[0] == "[" else descr
        dtype = np.lib.format.descr_to_dtype(value)
        if dtype.itemsize == size:
            return dtype
        problem = f"it has elements of {dtype.itemsize} bytes for NumPy, {size} for Penstock"
    except FormatError:
        inner.close()
        raise
    except (TypeError, ValueError) as error:
        problem = str(error)
    inner.close()  # collective, as this is: every rank has the same header
    raise FormatError(f"'{path}': .npy header: type {descr} is not one of NumPy's: {problem}")
