"""Classic netCDF: variables of CDF-1, CDF-2 and CDF-5 files. All of it runs on rank 0, and leaves the file closed."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Optional

import numpy as np

from .._core import ArgumentError, FormatError, StateError, unlimited
from .classic_header import LAST_OF_CDF2, NUMBERS, Entry, Header, Stored, encoded, header_of, kind_in, place
from .wanted import CLASSIC, Found, Wanted

FILL = "_FillValue"

# ---- what programs see of it, and pass


def seen(value: Stored) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    native = value.astype(value.dtype.newbyteorder("="))
    return native[0] if native.size == 1 else native


def stored(name: str, value: Any, version: int, dtype: Optional[np.dtype] = None) -> Stored:
    """An attribute in a type that the format has; of a variable of type `dtype`. Raises ArgumentError."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "S" and array.ndim == 0:
        return bytes(array[()])
    if array.ndim > 1 or array.dtype.kind not in "biuf":
        raise ArgumentError(f"attribute {name!r}: {value!r} is not a text, a number, or a list of numbers, as classic "
                            "netCDF has them" + ("; join the texts" if array.dtype.kind in "OS" else ""))
    array = np.atleast_1d(array)
    wanted = dtype if name == FILL and dtype is not None else None
    if wanted is None and array.dtype.newbyteorder(">") in allowed(version):
        wanted = array.dtype.newbyteorder(">")
    if wanted is None:
        wanted = np.dtype({"b": "i1", "f": ">f4" if array.dtype.itemsize < 4 else ">f8"}.get(array.dtype.kind, ">i4"))
    with np.errstate(all="ignore"):
        converted = array.astype(wanted)
    if not np.array_equal(converted, array, equal_nan=array.dtype.kind == "f" and wanted.kind == "f"):
        raise ArgumentError(f"attribute {name!r}: {value!r} has no exact value of type {wanted.newbyteorder('=')}, "
                            + ("which the variable has" if name == FILL else "the largest that CDF-"
                               f"{version} has for it; pass a float, or choose container='cdf5'"))
    return converted


def allowed(version: int) -> list[np.dtype]:
    return [dtype for dtype, number in NUMBERS.items() if version == 5 or number <= LAST_OF_CDF2]


def checked_name(name: Any, what: str) -> str:
    name = unicodedata.normalize("NFC", str(name).strip("/"))
    if "/" in name:
        raise ArgumentError(f"{what} {name!r}: classic netCDF has no groups; leave '/' out, or make a netCDF-4 file "
                            "(container='netcdf')")
    if not re.fullmatch(r"[A-Za-z0-9_\u0080-\U0010ffff][^\x00-\x1f\x7f]*(?<! )", name):
        raise ArgumentError(f"{what} {name!r} is no name in classic netCDF: it begins with a letter, a digit or '_', "
                            "and has no control characters, or spaces at the end")
    return name


class Classic:
    """Variables of classic files. What the file says is what counts: each call reads its header."""

    needs: tuple[str, ...] = ()

    def __init__(self, container: str):
        self.version = CLASSIC[container]

    def check_signature(self, path: str) -> None:
        there = kind_in(path)
        if CLASSIC.get(there) != self.version:
            raise FormatError(f"'{path}' is no CDF-{self.version} file" + (f" but {there}" if there else "")
                              + ": leave container= out")

    def check_new(self, wanted: Wanted) -> None:
        """Raises for a variable that no file can have."""
        dtype, path = wanted.dtype, wanted.path
        assert dtype is not None
        if dtype.newbyteorder(">") not in allowed(self.version):
            instead = {"b": "'i1'", "S": "'S1' and an extent of the length more", "c": "two variables",
                       "f": "'f4' or 'f8'"}.get(dtype.kind, "container='cdf5', or a type of these")
            told = ", ".join(str(one.newbyteorder("=")) for one in allowed(self.version))
            raise ArgumentError(f"'{path}': dtype {dtype} is not one of CDF-{self.version}'s ({told}); use {instead}")
        if wanted.given_chunks or wanted.filters:
            raise ArgumentError(f"'{path}': classic netCDF has neither chunks nor compressors: leave chunks= and "
                                "compressors= out, or choose container='netcdf' (netCDF-4)")
        if wanted.dims is None:
            raise ArgumentError(f"'{path}': dims= is needed for a netCDF variable: a name for each dimension")
        checked_name(wanted.dataset, "variable")
        for (name, values), extent in zip(wanted.dims, wanted.shape or ()):
            checked_name(name, "dimension")
            if values is not None:
                raise ArgumentError(f"dimension {name!r}: coordinates are a variable of their own in a classic file: "
                                    "create one with the name of the dimension")
            limit = (1 << 63 if self.version == 5 else 1 << 31) - 1
            if extent != unlimited and not 1 <= extent <= limit:
                raise ArgumentError(f"dimension {name!r} has {extent} elements; in a CDF-{self.version} file it has "
                                    f"1 to {limit}, or is unlimited (None)")
        self._add(Header(self.version), path, wanted)

    def make_file(self, path: str, mode: str, attributes: Mapping[str, Any]) -> None:
        values = {checked_name(name, "attribute"): stored(name, value, self.version)
                  for name, value in attributes.items()}
        with open(path, {"w": "r+b", "x": "xb"}[mode]) as file:
            file.truncate(0)
            file.write(encoded(Header(self.version, attrs=values)))

    def variables(self, path: str) -> tuple[dict[str, Any], dict[str, Found]]:
        header, size = header_of(path)
        record_size = header.record_size
        found = {entry.name: found_in(header, entry, size, record_size) for entry in header.entries}
        return {name: seen(value) for name, value in header.attrs.items()}, found

    def make(self, path: str, wanted: Wanted) -> dict[str, Found]:
        """Before anything is written. All variables, which may have moved."""
        header, _ = header_of(path)
        self._add(header, path, wanted)
        write(path, encoded(header), 0, header.end)
        return self.variables(path)[1]

    def _add(self, header: Header, path: str, wanted: Wanted) -> None:
        name = checked_name(wanted.dataset, "variable")
        if header.entry(name) is not None:
            raise ArgumentError(f"'{path}' has a variable {name} already; choose another name")
        assert wanted.dtype is not None
        dims = [self._dimension(header, path, checked_name(dim, "dimension"), extent)
                for (dim, _), extent in zip(wanted.dims or (), wanted.shape or ())]
        entry = Entry(name, tuple(dims), wanted.dtype.newbyteorder(">"))
        given = dict(wanted.attributes)
        if wanted.fill is not None:
            given[FILL] = np.frombuffer(wanted.fill, wanted.dtype)
        entry.attrs = {checked_name(one, "attribute"): stored(one, value, self.version, entry.dtype)
                       for one, value in given.items()}
        header.entries.append(entry)
        place(header)

    @staticmethod
    def _dimension(header: Header, path: str, name: str, extent: int) -> int:
        """Its number."""
        length = 0 if extent == unlimited else extent
        there = header.dims.setdefault(name, length)
        if there != length:
            raise FormatError(f"'{path}': dimension {name!r} "
                              + (f"has {there} elements, not {'None' if length == 0 else length}" if there else
                                 "is unlimited: the shape of its variables has None there, as the first"))
        if list(header.dims.values()).count(0) > 1:
            other = next(one for one, length in header.dims.items() if length == 0)
            raise ArgumentError(f"'{path}': dimension {name!r} cannot be unlimited, since {other!r} is, and a classic "
                                "file has one such dimension; use that one, or container='netcdf' (netCDF-4)")
        return list(header.dims).index(name)

    def set_attribute(self, path: str, dataset: str, name: str, value: Any) -> None:
        def change(attrs: dict[str, Stored], dtype: Optional[np.dtype]) -> None:
            attrs[checked_name(name, "attribute")] = stored(name, value, self.version, dtype)

        self._change(path, dataset, change)

    def delete_attribute(self, path: str, dataset: str, name: str) -> None:
        self._change(path, dataset, lambda attrs, _: attrs.pop(name, None))

    @staticmethod
    def _change(path: str, dataset: str, change: Callable[[dict[str, Stored], Optional[np.dtype]], Any]) -> None:
        header, _ = header_of(path)
        entry = header.entry(dataset)
        if dataset == "/" or entry is None:
            change(header.attrs, None)
        else:
            change(entry.attrs, entry.dtype)
        content = encoded(header)
        if len(content) > header.data_begin:
            raise StateError(f"'{path}': the header has no room for that attribute: its {len(content)} bytes would "
                             f"reach into the elements, which begin at byte {header.data_begin}; pass attributes= when "
                             "the file and its variables are made")
        write(path, content, 0)

    def publish(self, path: str, steps: Mapping[str, int]) -> None:
        """The file tells of what its variables have got, which is on the device. `steps`: of each that grows."""
        header, _ = header_of(path)
        if max(steps.values(), default=0) <= header.records:
            return
        header.records = max(steps.values())
        limit = (1 << (63 if self.version == 5 else 31)) - 1
        if header.records > limit:
            raise StateError(f"'{path}' has {header.records} steps, and a CDF-{self.version} file at most {limit}")
        for entry in header.growing:
            fill(path, header, entry, range(steps.get(entry.name, 0), header.records))
        count = header.records.to_bytes(8 if self.version == 5 else 4, "big")
        write(path, b"", 0, header.end)
        write(path, count, 4)

    def begin_writing(self, path: str, is_new: bool) -> None:
        """The file is as long as it says: a crash may have left steps behind that. `is_new`: with the fill values of
        what nobody has written."""
        header, size = header_of(path)
        if header.growing and size > header.end:
            os.truncate(path, header.end)
        for entry in header.entries:
            if is_new and not header.grows(entry):
                fill(path, header, entry, range(1))

    def fill_step(self, path: str, name: str, step: int) -> None:
        """Before it is written."""
        header, _ = header_of(path)
        entry = header.entry(name)
        assert entry is not None
        fill(path, header, entry, range(step, step + 1))


def fill(path: str, header: Header, entry: Entry, steps: range) -> None:
    """With its fill value; where it has none, nothing was there, and is read as zeros."""
    element = entry.attrs.get(FILL)
    if element is None or not len(element):
        return
    content = element if isinstance(element, bytes) else element.tobytes()
    size = header.size(entry)
    block = content[: entry.dtype.itemsize] * min(size // entry.dtype.itemsize, 1 << 17)
    for step in steps:
        begin = entry.begin + step * header.record_size
        for at in range(0, size, len(block)):
            write(path, block[: size - at], begin + at, sync=False)
    if steps:
        write(path, b"", 0)


def write(path: str, content: bytes, offset: int, end: int = 0, sync: bool = True) -> None:
    """`end`: the file is as long, at least."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        if os.fstat(file).st_size < end:
            os.ftruncate(file, end)
        while content:
            written = os.pwrite(file, content, offset)
            content, offset = content[written:], offset + written
        if sync:
            os.fdatasync(file)
    finally:
        os.close(file)


def found_in(header: Header, entry: Entry, size: int, record_size: int) -> Found:
    """`size`: of the file."""
    shape, grows = header.shape(entry), header.grows(entry)
    step = record_size if grows else 0
    steps = shape[0] if grows else 1
    end = entry.begin + (steps - 1) * step + header.size(entry) if steps else 0
    refused = ""
    if len(shape) > 8:
        refused = f"has {len(shape)} dimensions, more than 8"
    elif end > size:
        refused = f"is cut short: its elements end at byte {end}, the file at byte {size}"
    dtype = np.dtype(object) if refused else entry.dtype
    return Found(entry.name, shape, dtype, entry.begin, header.names_of(entry),
                 {name: seen(value) for name, value in entry.attrs.items()}, refused, grows=grows, step=step)
