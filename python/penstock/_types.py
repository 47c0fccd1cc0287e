"""The types of arguments, for type checkers and readers."""

from __future__ import annotations

import os
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, Union

from numpy.typing import NDArray

from ._core import Section
from ._distribution import Distribution, Ghosted

if TYPE_CHECKING:
    from mpi4py import MPI

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Comm = Optional["MPI.Comm"]
#: What selects elements of an array; lists stand for several of these where files are written and read, and for a list
#: of indices within a tuple and in brackets.
Index = Union[SupportsIndex, slice, EllipsisType, range, NDArray[Any], Section, Distribution, Ghosted, tuple[Any, ...]]
