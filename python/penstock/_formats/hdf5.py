"""HDF5: h5py, on rank 0, makes and finds contiguous datasets. h5py's serial build will do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._core import ArgumentError, FormatError
from .._small_floats import IEEE, WHO_HAS_THEM, is_foreign, named
from .chunks import Unreadable, chunks_in, set_filters
from .refusals import check_signature, import_or_refuse
from .wanted import Found, Wanted

if TYPE_CHECKING:
    import h5py

#: Attributes by which HDF5 and netCDF-4 keep dimensions: none of the program's.
STRUCTURE = frozenset({"CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_Netcdf4Dimid",
                       "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"})
MOST_TOLD = 20  # names in a message
NO_SPACE = "was never written, and has no space in the file yet"


def datasets_of(file: h5py.File) -> list[str]:
    import h5py

    names: list[str] = []
    file.visititems(lambda name, item: names.append("/" + name) if isinstance(item, h5py.Dataset) else None)
    return names


def _named(names: list[str]) -> str:
    text = ", ".join(names[:MOST_TOLD]) or "none"
    return text + (f" and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else "")


def only_dataset(file: h5py.File, path: str) -> str:
    names = datasets_of(file)
    wanted = [name for name in names if not file[name].is_scale] if len(names) > 1 else names
    if len(wanted) == 1:
        return wanted[0]
    raise ArgumentError(f"'{path}': dataset= is needed to say which one is meant; it has {_named(names)}")


def dataset_in(file: h5py.File, name: str, path: str) -> Optional[h5py.Dataset]:
    """None where nothing has that name."""
    import h5py

    parts = name.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        part = "/" + "/".join(parts[:depth])
        link = file.get(part, getlink=True)
        if link is None:
            return None
        try:
            item = file[part]
        except KeyError:
            raise FormatError(f"'{path}': {part} is a link whose target does not exist") from None
        if depth < len(parts) and not isinstance(item, h5py.Group):
            raise FormatError(f"'{path}': {part} is a {type(item).__name__.lower()}, so {name} does not exist")
    if not isinstance(item, h5py.Dataset):
        raise FormatError(f"'{path}': {name} is a {type(item).__name__.lower()}, no dataset; "
                          f"it has the datasets {_named(datasets_of(file))}")
    if os.path.realpath(item.file.filename) != os.path.realpath(path):
        raise FormatError(f"'{path}': {name} is a link to '{item.file.filename}': open that file")
    return item


def missing(file: h5py.File, name: str, path: str) -> FormatError:
    return FormatError(f"'{path}' has no dataset {name}; it has {_named(datasets_of(file))} "
                       "(to make it, open with 'r+' and give shape= and dtype=)")


def refusal_of(dataset: h5py.Dataset) -> str:
    """Why Penstock cannot read and write it; empty: it can."""
    import h5py

    layout = dataset.id.get_create_plist().get_layout()
    if layout == h5py.h5d.CHUNKED:
        return _refusal_of_type(dataset)
    if layout == h5py.h5d.COMPACT:
        return "is stored within its header (compact)"
    if layout != h5py.h5d.CONTIGUOUS:
        return "is a virtual dataset, assembled from others"
    if dataset.external:
        return f"is stored in another file ('{dataset.external[0][0]}')"
    return _refusal_of_type(dataset)


def _refusal_of_type(dataset: h5py.Dataset) -> str:
    import h5py

    in_file = dataset.id.get_type()
    try:
        dtype = element_type(dataset)
        in_memory = stored_type(dtype).id if is_foreign(dtype) else h5py.h5t.py_create(dtype, logical=True)
    except TypeError as error:
        return f"has elements that NumPy does not know ({error})"
    if dtype.hasobject or dtype.subdtype is not None or not in_file.equal(in_memory):
        return f"has elements that h5py has to convert (to {dtype})"
    return ""


def plain_attributes(attributes: Any) -> dict[str, Any]:
    """Those of the program, but for references, which mean something in an open file only."""
    import h5py

    plain: dict[str, Any] = {}
    for name in attributes:
        if name in STRUCTURE:
            continue
        value = attributes[name]
        if isinstance(value, h5py.Empty):
            value = np.empty(0, value.dtype)
        if isinstance(value, (h5py.Reference, h5py.RegionReference)):
            continue
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            if not all(isinstance(one, (str, bytes)) for one in value.flat):
                continue
            value = np.array(value.tolist(), dtype=object).reshape(value.shape)
        plain[name] = value
    return plain


def scale_names(dataset: h5py.Dataset) -> Optional[tuple[str, ...]]:
    """Of its scales or labels; None where a dimension has neither."""
    names = []
    for d in range(dataset.ndim):
        scales = dataset.dims[d].keys() if len(dataset.dims[d]) else []
        scale = dataset.dims[d][0].name.rpartition("/")[2] if scales else ""
        names.append(dataset.dims[d].label or scale)
    return tuple(names) if all(names) else None


def stored_type(dtype: np.dtype) -> Any:
    """What h5py makes a dataset of: of floats that NumPy lacks a float with the same bits, which HDF5 converts."""
    if not is_foreign(dtype):
        return dtype
    import h5py

    exponent, mantissa, bias = IEEE[dtype.name]
    made = h5py.h5t.IEEE_F32LE.copy()
    made.set_fields(exponent + mantissa, mantissa, exponent, 0, mantissa)
    made.set_ebias(bias)
    made.set_precision(8 * dtype.itemsize)
    made.set_size(dtype.itemsize)
    return h5py.Datatype(made)


def element_type(dataset: h5py.Dataset) -> np.dtype:
    """Of its bytes. h5py tells of the floats that NumPy lacks as larger ones."""
    import h5py

    found = dataset.id.get_type()
    if isinstance(found, h5py.h5t.TypeFloatID) and found.get_order() == h5py.h5t.ORDER_LE:
        _, at, exponent, _, mantissa = found.get_fields()
        for name, layout in IEEE.items():
            if layout == (exponent, mantissa, found.get_ebias()) and 8 * found.get_size() == 1 + exponent + mantissa:
                return named(name, dataset.file.filename)
    return dataset.dtype


def plain_type(dtype: np.dtype) -> np.dtype:
    """Without what h5py notes in it of texts and enumerations."""
    return dtype if dtype.fields or dtype.metadata is None else np.dtype(dtype.str)


def found_in(dataset: h5py.Dataset, dims: Optional[tuple[str, ...]], placed: bool = True) -> Found:
    """`placed`: with the places of its chunks."""
    offset = dataset.id.get_offset()
    refused = refusal_of(dataset)
    chunks = None
    if not refused and dataset.chunks is not None:
        try:
            chunks = chunks_in(dataset, element_type(dataset), placed)
        except Unreadable as error:
            refused = str(error)
    if not refused and dataset.shape is None:
        refused = "is empty, without a shape"
    if not refused and offset is None and dataset.size and chunks is None:
        refused = NO_SPACE
    dtype = np.dtype(object) if refused not in ("", NO_SPACE) else plain_type(element_type(dataset))
    return Found(dataset.name, tuple(dataset.shape or ()), dtype, offset or 0, dims,
                 plain_attributes(dataset.attrs), refused, chunks=chunks,
                 grows=chunks is not None and dataset.maxshape[0] is None)


# ---- making


def contiguous(allocated: bool) -> Any:
    """Properties of a contiguous dataset that is not filled.

    `allocated`: it has its space as soon as it is made.
    """
    from h5py import h5d, h5p

    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_layout(h5d.CONTIGUOUS)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY if allocated else h5d.ALLOC_TIME_LATE)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    return properties


def chunked(wanted: Wanted) -> Any:
    """Properties of a dataset in chunks."""
    from h5py import h5p

    assert wanted.dtype is not None
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_chunk(wanted.chunks)
    itemsize = wanted.dtype.itemsize
    set_filters(properties, wanted.filters, itemsize, itemsize * int(np.prod(wanted.chunks)))
    return properties


def layout_of(wanted: Wanted, dry: bool) -> dict[str, Any]:
    """For h5py's `create_dataset`."""
    if not wanted.chunks:
        return {"dcpl": contiguous(not dry)}
    fill = {} if wanted.fill is None else {"fillvalue": _fill_of(wanted)}
    limits = (None, *(n or 1 for n in wanted.new_shape[1:])) if wanted.grows else wanted.new_shape
    return {"dcpl": chunked(wanted), "chunks": wanted.chunks, "maxshape": limits, **fill}


def _fill_of(wanted: Wanted) -> Any:
    fill = np.frombuffer(wanted.fill or b"", wanted.dtype)[0]
    return np.float32(fill) if wanted.dtype is not None and is_foreign(wanted.dtype) else fill


def allocate(dataset: h5py.Dataset, dtype: Optional[np.dtype]) -> None:
    """A single element gets its space when it is written, whatever its properties say."""
    if dataset.shape == () and dtype is not None:
        dataset[()] = np.zeros((), "f4" if is_foreign(dtype) else dtype)


def versions(wanted: Wanted) -> dict[str, Any]:
    """For h5py's `File`: of HDF5's format. Since HDF5 1.10 it has lists of chunks that only grow, so that what is in
    one stays there, whatever becomes of a program that adds to it."""
    return {"libver": ("v110", "latest")} if wanted.chunks else {}


def give_space(path: str, name: str) -> None:
    """For a dataset that was never written: with its first element HDF5 allocates all, and fills it if a fill value was
    set."""
    import h5py

    with h5py.File(path, "r+") as file:
        first = (0,) * file[name].ndim
        file[name][first] = file[name][first]


def check_type(dtype: np.dtype) -> None:
    from h5py import h5t

    if is_foreign(dtype):
        if dtype.name not in IEEE:
            raise ArgumentError(f"dtype {dtype} has no HDF5 type, whose floats are as IEEE 754 has them: "
                                f"{WHO_HAS_THEM}; HDF5 has bfloat16, float8_e5m2, float8_e4m3 and float8_e3m4")
        return
    try:
        made = h5t.py_create(dtype, logical=True)
    except TypeError:
        made = None
    if made is not None and not dtype.hasobject and made.get_size() == dtype.itemsize and made.dtype == dtype:
        return
    times = "; view it as 'i8', and pass attributes={'units': ...}"
    instead = {"U": "; encode it, as bytes of a fixed size: dtype 'S8'", "M": times, "m": times}.get(dtype.kind, "")
    raise ArgumentError(f"dtype {dtype} has no HDF5 type with the same bytes{instead}")


class Hdf5:
    """Datasets of HDF5 files. Everything runs on rank 0, and leaves the file closed."""

    needs: tuple[str, ...] = ("h5py",)  #: packages

    def check_signature(self, path: str) -> None:
        """Raises for a file of another kind."""
        check_signature(path)

    def check_new(self, wanted: Wanted) -> None:
        """Raises for a dataset that no file can have."""
        assert wanted.dtype is not None
        check_type(wanted.dtype)
        if len(wanted.new_shape) > 8:
            raise ArgumentError(f"shape {wanted.told_shape} has {len(wanted.new_shape)} dimensions; a dataset has up "
                                "to 8")
        if any(extent < 0 for extent in wanted.new_shape):
            raise ArgumentError(f"shape {wanted.told_shape}: an extent must not be negative; one that can grow is None")

    def make(self, path: str, mode: str, wanted: Wanted, dry: bool = False) -> None:
        """Makes the dataset and the groups of its path. `dry`: in memory alone, to find out whether it can be."""
        h5py = import_or_refuse("h5py")
        assert wanted.dataset is not None and wanted.dtype is not None
        how: dict[str, Any] = {"driver": "core", "backing_store": False} if dry else {}
        if wanted.chunks and not dry and mode != "r+":  # without the mark of one who writes, which a crash would leave
            h5py.File(path, mode).close()
            mode = "r+"
        with h5py.File(path, mode, **how, **versions(wanted)) as file:
            dataset = file.create_dataset(wanted.dataset, wanted.new_shape, stored_type(wanted.dtype),
                                          **layout_of(wanted, dry))
            allocate(dataset, wanted.dtype)
            for name, value in wanted.attributes.items():
                dataset.attrs[name] = value
            for d, (name, values) in enumerate(wanted.dims or ()):
                dataset.dims[d].label = name
                if values is not None:
                    dataset.dims[d].attach_scale(self._scale(dataset.parent, name, values))

    @staticmethod
    def _scale(group: h5py.Group, name: str, values: np.ndarray) -> h5py.Dataset:
        if name not in group:
            group.create_dataset(name, data=values).make_scale(name)
        return group[name]

    def check_beside(self, path: str, wanted: Wanted) -> None:
        """Raises where the dataset cannot be made beside what is in the file."""
        import h5py

        assert wanted.dataset is not None
        group = wanted.dataset.rpartition("/")[0]
        with h5py.File(path, "r") as file:
            for name, values in wanted.dims or ():
                scale = file.get(f"{group}/{name}")
                if values is None or scale is None:
                    continue
                if not isinstance(scale, h5py.Dataset) or not np.array_equal(scale[()], values):
                    raise FormatError(f"'{path}': {group}/{name} exists already, with other coordinates")

    def remove(self, path: str, wanted: Wanted) -> None:
        """A dataset that could be made and not be opened."""
        import h5py

        with h5py.File(path, "r+") as file:
            if wanted.dataset in file:
                del file[wanted.dataset]

    def dims_of(self, dataset: h5py.Dataset) -> Optional[tuple[str, ...]]:
        """The names of its dimensions."""
        return scale_names(dataset)

    def variables(self, path: str) -> tuple[dict[str, Any], dict[str, Found]]:
        """The attributes of the file, and what is in it by name, without places of chunks."""
        import h5py

        with h5py.File(path, "r") as file:
            there = {name[1:]: file[name] for name in datasets_of(file)}
            found = {name: found_in(one, scale_names(one), placed=False) for name, one in there.items()}
            return plain_attributes(file.attrs), found

    def make_file(self, path: str, mode: str, attributes: Mapping[str, Any]) -> None:
        """Without the mark of one who writes, which a crash would leave."""
        import h5py

        with h5py.File(path, mode) as file:
            for name, value in attributes.items():
                file.attrs[name] = value

    def is_array(self, dataset: h5py.Dataset) -> bool:
        """Whether it is one to the format."""
        return True

    def name_in_file(self, file: h5py.File, name: str) -> str:
        """How the dataset is called there."""
        return name

    def set_attribute(self, path: str, dataset: str, name: str, value: Any) -> None:
        import h5py

        with h5py.File(path, "r+") as file:
            file[dataset].attrs[name] = value

    def delete_attribute(self, path: str, dataset: str, name: str) -> None:
        import h5py

        with h5py.File(path, "r+") as file:
            del file[dataset].attrs[name]
