"""Types of elements that NumPy lacks: bfloat16 and floats of 8 bits, which the package ml_dtypes gives it."""

from __future__ import annotations

import numpy as np

from ._core import FormatError

#: Numbers of types that other packages give to NumPy, NPY_USERDEF of its C interface.
USER_DEFINED = 256

#: Those that are laid out as IEEE 754 has it, with infinities and NaNs: bits of the exponent, of the mantissa, bias.
IEEE = {"bfloat16": (8, 7, 127), "float8_e5m2": (5, 2, 15), "float8_e4m3": (4, 3, 7), "float8_e3m4": (3, 4, 3)}

WHO_HAS_THEM = "raw and .npy files, Zarr arrays and checkpoints have it"


def is_foreign(dtype: np.dtype) -> bool:
    """Whether another package has given it to NumPy."""
    return dtype.num >= USER_DEFINED


def named(name: str, path: str) -> np.dtype:
    """Raises FormatError where the package is missing, or has no such type. `path`: whose elements they are."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise FormatError(f"'{path}' has elements of {name}, for which the package ml_dtypes is needed ({error}): "
                          "pip install ml_dtypes") from None
    found = getattr(ml_dtypes, name, None)
    if found is None:
        raise FormatError(f"'{path}' has elements of {name}, which ml_dtypes {ml_dtypes.__version__} does not have")
    return np.dtype(found)
