"""The arguments for a dataset, and what was found in the file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from .._core import ArgumentError, unlimited
from .chunks import Filter, StoredChunks, choose_extents

#: By the end of a file's name.
CONTAINERS = {".h5": "hdf5", ".hdf5": "hdf5", ".he5": "hdf5", ".nc": "netcdf", ".nc4": "netcdf"}

#: Of classic netCDF, with the version that its files begin with.
CLASSIC = {"cdf1": 1, "cdf2": 2, "cdf5": 5}

#: Modes that make a file.
MAKES_FILE = ("w", "x")

Coordinates = Optional[np.ndarray]


def _ending(path: Any) -> str:
    return os.path.splitext(os.fsdecode(path))[1].lower()


def check_bare(path: Any) -> None:
    """Raises if a file of bare elements, not requested as such, has the name of another format."""
    ending = _ending(path)
    instead = {"hdf5": "dataset=", "netcdf": "dataset= and dims="}.get(CONTAINERS.get(ending, ""))
    if instead is None and ending not in (".npy", ".npz", ".zarr"):
        return
    each = (f"open a dataset of it for each field, with {instead}" if instead else
            "open a file for each field" + (", as .npy" if ending == ".npz" else ""))
    raise ArgumentError(f"'{os.fsdecode(path)}': fields lie in a file of bare elements, which would be none of those "
                        f"that end in {ending}: {each}, or choose another name (container='raw' keeps this one)")


def container_of(path: Any, container: str, dataset: Any) -> Optional[str]:
    """Of a file of datasets; None: another container."""
    if container in ("hdf5", "netcdf", *CLASSIC):
        return container
    if container != "auto":
        if dataset is not None:
            raise ArgumentError(f"dataset={dataset!r} is for container 'hdf5', 'netcdf', {str([*CLASSIC])[1:-1]}, not "
                                f"{container!r}")
        return None
    ending = _ending(path)
    if ending == ".npz":
        raise ArgumentError(f"'{os.fsdecode(path)}': an .npz is a zip archive of NumPy files, which Penstock does not "
                            "write or read: give each array a file of its own (.npy), or all of them one as datasets "
                            "(.h5, dataset=); np.load reads an .npz (for bare elements say container='raw')")
    return CONTAINERS.get(ending, "hdf5" if dataset is not None else None)


def _checked_name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip("/") or "\0" in value:
        raise ArgumentError(f"{what} must be a name, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} {value!r} is not valid text") from None
    return value


def _dimension(name: Any, values: Any) -> tuple[str, Coordinates]:
    checked = _checked_name(name, "a dimension of dims")
    if "/" in checked:
        raise ArgumentError(f"dimension {checked!r}: the name of a dimension must not contain '/'")
    if values is None:
        return checked, None
    coordinates = np.asarray(values)
    if coordinates.ndim != 1 or coordinates.dtype.kind not in "iufS":
        raise ArgumentError(f"dimension {checked!r}: its coordinates must be numbers in one dimension, not an "
                            f"array of {coordinates.dtype} of shape {coordinates.shape}")
    return checked, coordinates


@dataclass
class Wanted:
    """What `open` was asked for. Every rank has the same, or the ranks find out that they do not."""

    path: str
    mode: str
    container: str
    dataset: Optional[str]  # None: the only one
    shape: Optional[tuple[int, ...]]  # None: whatever it has
    dtype: Optional[np.dtype]
    dims: Optional[tuple[tuple[str, Coordinates], ...]] = None
    decode: Any = False  # or True, or the folder of the temporary file
    given_chunks: tuple[int, ...] = ()  # extents; (): it has none, unless it can grow or has filters
    filters: tuple[Filter, ...] = ()
    fill: Optional[bytes] = None  # an element
    attributes: Mapping[str, Any] = field(default_factory=dict)
    chunks: tuple[int, ...] = ()  # as given, or chosen
    steps: int = 0  # of one that grows, when it is made
    replace: bool = False  # at close, with mode "w"

    def __post_init__(self) -> None:
        if self.dataset is not None:
            self.dataset = "/" + _checked_name(self.dataset, "dataset").strip("/")
        if self.shape == () and self.dims is None:
            self.dims = ()
        if self.dims is not None:
            self.set_dims(self.dims)
        if self.dtype is not None and self.dtype.subdtype is not None:
            raise ArgumentError(f"dtype {self.dtype} is an array: append its extents to shape, and give the type "
                                f"of its elements, {self.dtype.base}")
        if unlimited in (self.shape or ())[1:]:
            raise ArgumentError(f"shape {self.told_shape}: only the first dimension of a dataset can grow")
        if self.makes_file:
            self.check_new()
        if self.grows or self.filters or self.given_chunks or self.fill is not None:
            self.set_chunks()
        if not isinstance(self.decode, (bool, str, os.PathLike)):
            raise ArgumentError(f"decode must be True, False or a folder, not {self.decode!r}")
        if self.decode and self.mode != "r":
            raise ArgumentError(f"decode={self.decode!r} is for reading (mode 'r'), not for mode {self.mode!r}")

    @property
    def makes_file(self) -> bool:
        return self.mode in MAKES_FILE

    def set_dims(self, dims: Any) -> None:
        pairs = dims.items() if isinstance(dims, Mapping) else [(name, None) for name in dims]
        if isinstance(dims, str):
            raise ArgumentError(f"dims must be names, one for each dimension, as ({dims!r},), not one text")
        self.dims = tuple(_dimension(name, values) for name, values in pairs)
        names = [name for name, _ in self.dims]
        if len(set(names)) < len(names):
            raise ArgumentError(f"dims {tuple(names)} has a name twice; each dimension has a name of its own")
        if self.shape is None:
            return
        if len(names) != len(self.shape):
            raise ArgumentError(f"dims has {len(names)} names for {len(self.shape)} dimensions of shape {self.shape}")
        for (name, values), extent in zip(self.dims, self.shape):
            if values is not None and extent == unlimited:
                raise ArgumentError(f"dimension {name!r} grows: its coordinates are a dataset of their own, to be "
                                    "appended to, and None here")
            if values is not None and len(values) != extent:
                raise ArgumentError(f"dimension {name!r} has {len(values)} coordinates and {extent} elements")

    def set_chunks(self) -> None:
        """Of a dataset that may have to be made."""
        if self.shape == ():
            raise ArgumentError("chunks, compressors and fill_value are for datasets with dimensions, not for a single "
                                "element")
        if self.shape is None or self.dtype is None:
            if self.filters:
                raise ArgumentError("compressors are of a dataset that is made: give shape= and dtype=, too")
            return
        self.chunks = self.given_chunks or choose_extents(self.shape, self.dtype.itemsize)
        if len(self.chunks) != len(self.shape) or min(self.chunks) < 1:
            raise ArgumentError(f"chunks {self.chunks} must have an extent of 1 or more for each dimension of shape "
                                f"{self.told_shape}")

    @property
    def grows(self) -> bool:
        """Whether its first dimension can become longer."""
        return (self.shape or ())[:1] == (unlimited,)

    @property
    def told_shape(self) -> str:
        """As the program gave it."""
        return "" if self.shape is None else str(self.told_extents)

    @property
    def told_extents(self) -> tuple[Optional[int], ...]:
        return tuple(None if n == unlimited else n for n in self.shape or ())

    @property
    def fill_element(self) -> Any:
        return None if self.fill is None else np.frombuffer(self.fill, self.dtype)[0]

    @property
    def new_shape(self) -> tuple[int, ...]:
        """Of a dataset that is made."""
        shape = self.shape or ()
        return (self.steps, *shape[1:]) if self.grows else shape

    def check_new(self) -> None:
        """What is needed to make a dataset."""
        for name, given in (("dataset", self.dataset), ("shape", self.shape), ("dtype", self.dtype)):
            if given is None:
                raise ArgumentError(f"'{self.path}': {name}= is needed to make a dataset in a file of container "
                                    f"{self.container!r} (for bare bytes say container='raw')")

    @property
    def can_make(self) -> bool:
        return self.dataset is not None and self.shape is not None and self.dtype is not None

    @property
    def dim_names(self) -> Optional[tuple[str, ...]]:
        return None if self.dims is None else tuple(name for name, _ in self.dims)

    def common(self) -> dict[str, str]:
        """In the order and with the names of the arguments that must be the same on all ranks when an array is
        opened."""
        dtype = "" if self.dtype is None else str(self.dtype)
        sums = [(name, None if values is None else digest(values)) for name, values in self.dims or ()]
        given = {name: digest(np.asarray(value)) for name, value in self.attributes.items()}
        mode = "replace" if self.replace else self.mode
        return {"path": f"'{self.path}'", "mode": mode, "shape": self.told_shape, "dtype": dtype,
                "container": self.container, "dataset": str(self.dataset), "dims": str(sums),
                "decode": str(self.decode), "chunks": str(self.chunks),
                "compressors": str(self.filters), "fill_value (bytes)": str(self.fill), "attributes": str(given)}


@dataclass
class Found:
    """A dataset in a file. Travels from rank 0 to all ranks."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int  #: byte of the file where the first element is
    dims: Optional[tuple[str, ...]] = None
    attrs: dict[str, Any] = field(default_factory=dict)
    refused: str = ""  #: why its bytes cannot be read in place
    copy: str = ""  #: a temporary file that has them decoded
    chunks: Optional[StoredChunks] = None  #: where its chunks are; None: it has none
    grows: bool = False  #: whether its first dimension can become longer
    step: int = 0  #: bytes from one of its steps to the next, where others lie in between


def digest(array: np.ndarray) -> str:
    """The same text for the same elements, of the same type and shape."""
    content = repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes()
    return f"{array.dtype.str}{array.shape} {hashlib.sha256(content).hexdigest()[:16]}"
