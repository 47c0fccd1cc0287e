"""Penstock: collective reads and writes of array sections in shared files.

A program holds a big array in pieces, one per MPI process. ``penstock`` writes the pieces into one
file in the array's own order and reads any section back, in few large accesses.

>>> import penstock as ps
>>> with ps.open("field.npy", "w", shape=(512, 512), dtype="f8", comm=comm) as f:
...     d = ps.distribute(f.shape, comm)
...     f.write(local, d)

The method is the extended two-phase method of Thakur and Choudhary (1996).
"""

from ._attributes import Attributes
from ._blocks import to_netcdf, to_zarr
from ._core import (
    ArgumentError,
    DisagreementError,
    Error,
    FormatError,
    Hint,
    InternalError,
    Section,
    SectionError,
    StateError,
    Statistics,
    StatisticsField,
    StorageError,
    parse_bytes,
)

# By name only: a program that imports everything from here goes on catching the built-in ones.
from ._core import FileExistsError as FileExistsError
from ._core import FileNotFoundError as FileNotFoundError
from ._core import IsADirectoryError as IsADirectoryError
from ._core import PermissionError as PermissionError
from ._core import version as __version__
from ._dataset import Dataset, open_dataset
from ._distribution import Distribution, Ghosted, distribute
from ._explain import explain
from ._fields import Field, FieldsFile
from ._file import File
from ._formats.dataset import DatasetFile
from ._handle import Handle
from ._hints import hints
from ._open import open
from ._out_of_core import OutOfCoreArray
from ._sections import extents, inclusive, section
from ._tensors.checkpoints import Checkpoints
from ._tensors.load import load_tensors
from ._tensors.pending import SaveHandle
from ._tensors.save import save_tensors
from ._tensors.shard import Shard
from ._tensors.verify import Verified, verify_tensors
from ._tiles import Tile
from ._variable import Variable
from ._whole import load, save

__all__ = [
    "__version__",
    "ArgumentError",
    "Attributes",
    "Checkpoints",
    "Dataset",
    "DatasetFile",
    "DisagreementError",
    "Distribution",
    "Error",
    "Field",
    "FieldsFile",
    "File",
    "FormatError",
    "Ghosted",
    "Handle",
    "Hint",
    "InternalError",
    "OutOfCoreArray",
    "SaveHandle",
    "Section",
    "SectionError",
    "Shard",
    "StateError",
    "Statistics",
    "StatisticsField",
    "StorageError",
    "Tile",
    "Variable",
    "Verified",
    "distribute",
    "explain",
    "extents",
    "hints",
    "inclusive",
    "load",
    "load_tensors",
    "open",
    "open_dataset",
    "parse_bytes",
    "save",
    "save_tensors",
    "section",
    "to_netcdf",
    "to_zarr",
    "verify_tensors",
]
