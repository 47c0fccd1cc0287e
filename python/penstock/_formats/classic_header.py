"""The header of CDF-1, CDF-2 and CDF-5 files, as the specification of these formats has it.

A file is a header, the variables without the unlimited dimension one after the other, and records: one step of each
variable that has it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Optional, Union

import numpy as np

from .._core import ArgumentError, FormatError
from .wanted import CLASSIC

#: By the number of the type in the file; those above 6 are CDF-5's.
TYPES = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
NUMBERS = {np.dtype(text): number for number, text in TYPES.items()}
CHAR, LAST_OF_CDF2 = 2, 6
FIRST_RECORD = "the first record"
DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12  # what a list in the header is of
MOST = 1 << 62  #: bytes and elements that are less have sums of 64 bits
RESERVE = 4096  #: bytes behind the header, at least, for attributes that are set later

#: As it is in the file: of the type that it has there.
Stored = Union[bytes, np.ndarray]


@dataclass
class Entry:
    """A variable in the header."""

    name: str
    dims: tuple[int, ...]  #: numbers of its dimensions
    dtype: np.dtype
    attrs: dict[str, Stored] = field(default_factory=dict)
    begin: int = 0  #: byte of the file


@dataclass
class Header:
    version: int
    records: int = 0
    dims: dict[str, int] = field(default_factory=dict)  #: lengths by name; 0: the unlimited one
    attrs: dict[str, Stored] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def names_of(self, entry: Entry) -> tuple[str, ...]:
        names = list(self.dims)
        return tuple(names[number] for number in entry.dims)

    def grows(self, entry: Entry) -> bool:
        return bool(entry.dims) and self.dims[self.names_of(entry)[0]] == 0

    def shape(self, entry: Entry) -> tuple[int, ...]:
        return tuple(self.dims[name] or self.records for name in self.names_of(entry))

    def size(self, entry: Entry) -> int:
        """Bytes, of a variable with records those of one."""
        shape = self.shape(entry)
        return math.prod(shape[1:] if self.grows(entry) else shape) * entry.dtype.itemsize

    @property
    def growing(self) -> list[Entry]:
        return [entry for entry in self.entries if self.grows(entry)]

    @property
    def record_size(self) -> int:
        """One variable alone has its records without padding."""
        growing = self.growing
        return self.size(growing[0]) if len(growing) == 1 else sum(padded(self.size(entry)) for entry in growing)

    @property
    def end(self) -> int:
        """Of the header, and the bytes that it tells of."""
        ends = [entry.begin + padded(self.size(entry)) for entry in self.entries if not self.grows(entry)]
        if self.records and (growing := self.growing):
            ends.append(min(entry.begin for entry in growing) + self.records * self.record_size)
        return max([len(encoded(self)), *ends])

    @property
    def data_begin(self) -> int:
        return min((entry.begin for entry in self.entries), default=MOST)

    def entry(self, name: str) -> Optional[Entry]:
        return next((entry for entry in self.entries if entry.name == name), None)


def padded(size: int) -> int:
    return -(-size // 4) * 4


def kind_in(path: str) -> str:
    """The container of a classic file, "" of any other."""
    with open(path, "rb") as file:
        begin = file.read(4)
    kinds = {b"CDF" + bytes([version]): kind for kind, version in CLASSIC.items()}
    return kinds.get(begin, "")


# ---- writing the header


def encoded(header: Header) -> bytes:
    wide = 8 if header.version == 5 else 4

    def number(value: int) -> bytes:
        return value.to_bytes(wide, "big")

    def text(value: bytes) -> bytes:
        return number(len(value)) + value.ljust(padded(len(value)), b"\0")

    def items(tag: int, values: list[bytes]) -> bytes:
        return (tag if values else 0).to_bytes(4, "big") + number(len(values)) + b"".join(values)

    def attributes(values: Mapping[str, Stored]) -> bytes:
        return items(ATTRIBUTE, [text(name.encode()) + one_attribute(value) for name, value in values.items()])

    def one_attribute(value: Stored) -> bytes:
        if isinstance(value, bytes):
            return CHAR.to_bytes(4, "big") + text(value)
        content = value.tobytes()
        return (NUMBERS[value.dtype].to_bytes(4, "big") + number(value.size)
                + content.ljust(padded(len(content)), b"\0"))

    def variable(entry: Entry) -> bytes:
        size = padded(header.size(entry))
        size = size if wide == 8 else min(size, (1 << 32) - 1)
        return (text(entry.name.encode()) + number(len(entry.dims)) + b"".join(map(number, entry.dims))
                + attributes(entry.attrs) + NUMBERS[entry.dtype].to_bytes(4, "big") + number(size)
                + entry.begin.to_bytes(4 if header.version == 1 else 8, "big"))

    return (b"CDF" + bytes([header.version]) + number(header.records)
            + items(DIMENSION, [text(name.encode()) + number(length) for name, length in header.dims.items()])
            + attributes(header.attrs) + items(VARIABLE, [variable(entry) for entry in header.entries]))


def place(header: Header) -> None:
    """Gives all variables their bytes. Raises ArgumentError where the format cannot say where they are."""
    for entry in header.entries:
        entry.begin = 0
    at = -(-(len(encoded(header)) + RESERVE) // 4096) * 4096
    in_order = sorted(header.entries, key=header.grows)  # stable
    for entry in in_order:
        entry.begin, at = at, at + padded(header.size(entry))
    if header.version == 5:
        return
    most = (1 << (31 if header.version == 1 else 32)) - 4
    for entry in in_order:
        size = header.size(entry)
        what = f"a step of variable {entry.name}" if header.grows(entry) else f"variable {entry.name}"
        if size > most and entry is not in_order[-1]:
            raise ArgumentError(f"{what} has {size} bytes; in a CDF-{header.version} file only the last one may have "
                                f"more than {most}: make it last, or choose container='cdf5'")
        if header.version == 1 and entry.begin >= 1 << 31:
            raise ArgumentError(f"{what} would begin at byte {entry.begin}, and in a CDF-1 file the last begins below "
                                "2 GiB: make the largest variable last, or choose container='cdf2' or 'cdf5'")


# ---- reading it


class Reader:
    """Of a header that anybody may have written."""

    def __init__(self, file: BinaryIO, path: str):
        self._file, self._path = file, path
        self.size = os.fstat(file.fileno()).st_size
        self.at, self.wide, self.version = 0, 4, 0

    def refuse(self, what: str) -> FormatError:
        return FormatError(f"'{self._path}' is damaged: {what} (at byte {self.at} of the header)")

    def take(self, count: int) -> bytes:
        if count > self.size - self.at:
            raise self.refuse(f"its header goes on for {count} bytes, and the file ends at byte {self.size}")
        self.at += count
        return self._file.read(count)

    def number(self, wide: int = 0) -> int:
        return int.from_bytes(self.take(wide or self.wide), "big")

    def text(self) -> bytes:
        length = self.number()
        return self.take(padded(length))[:length]

    def name(self) -> str:
        try:
            return self.text().decode()
        except UnicodeDecodeError:
            raise self.refuse("a name is not valid text") from None

    def items(self, tag: int, what: str, one: Callable[[], Any]) -> Iterator[Any]:
        found, count = self.number(4), self.number()
        if found not in (0, tag) or (found == 0 and count):
            raise self.refuse(f"a list of {what} should begin here")
        if count * 2 * self.wide > self.size - self.at:  # each has a name, and at least one number
            raise self.refuse(f"it claims to have {count} {what}, more than the file has room for")
        for _ in range(count):
            yield one()

    def named(self, tag: int, what: str, one: Callable[[], Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self.items(tag, what, lambda: (self.name(), one())):
            if name in found:
                raise self.refuse(f"it has {name} twice among its {what}")
            found[name] = value
        return found

    def dtype(self) -> np.dtype:
        number = self.number(4)
        if number not in TYPES or (number > LAST_OF_CDF2 and self.version != 5):
            raise self.refuse(f"type {number} is none of CDF-{self.version}")
        return np.dtype(TYPES[number])

    def attribute(self) -> Stored:
        dtype, count = self.dtype(), self.number()
        content = self.take(padded(count * dtype.itemsize))[: count * dtype.itemsize]
        return content if dtype.kind == "S" else np.frombuffer(content, dtype)

    def attributes(self) -> dict[str, Stored]:
        return self.named(ATTRIBUTE, "attributes", self.attribute)

    def variable(self) -> Entry:
        count = self.number()
        if count * self.wide > self.size - self.at:
            raise self.refuse(f"a variable claims to have {count} dimensions")
        dims = tuple(self.number() for _ in range(count))
        attrs, dtype = self.attributes(), self.dtype()
        self.number()  # its size, which other members tell
        return Entry("", dims, dtype, attrs, self.number(4 if self.version == 1 else 8))

    def header(self) -> Header:
        magic = self.take(4)
        self.version = magic[3]
        if magic[:3] != b"CDF" or self.version not in CLASSIC.values():
            raise FormatError(f"'{self._path}' is no classic netCDF file: it begins with {magic!r}")
        self.wide = 8 if self.version == 5 else 4
        records = self.number()
        header = Header(self.version, records, self.named(DIMENSION, "dimensions", self.number), self.attributes())
        for name, entry in self.named(VARIABLE, "variables", self.variable).items():
            entry.name = name
            header.entries.append(entry)
        self._check(header)
        if records == (1 << 8 * self.wide) - 1:  # of one who streams: as many as are there
            header.records = 0
            begin = min((entry.begin for entry in header.growing), default=self.size)
            header.records = max(self.size - begin, 0) // max(header.record_size, 1)
        return header

    def _check(self, header: Header) -> None:
        """That what the header says can be."""
        lengths = list(header.dims.values())
        if lengths.count(0) > 1:
            raise self.refuse("it has several unlimited dimensions")
        if max(lengths, default=0) >= MOST:
            raise self.refuse("a dimension is longer than any array")
        for entry in header.entries:
            if any(number >= len(lengths) for number in entry.dims):
                raise self.refuse(f"variable {entry.name} has a dimension that does not exist")
            if any(lengths[number] == 0 for number in entry.dims[1:]):
                raise self.refuse(f"the unlimited dimension is not the first of variable {entry.name}")
            if header.size(entry) >= MOST:
                raise self.refuse(f"variable {entry.name} is larger than any file")
            if entry.begin < self.at:
                raise self.refuse(f"variable {entry.name} begins at byte {entry.begin}, in the header")
        places = [(entry.begin, header.size(entry), entry.name) for entry in header.entries if not header.grows(entry)]
        if header.growing:
            places.append((min(entry.begin for entry in header.growing), header.record_size, FIRST_RECORD))
        places.sort()
        for (begin, size, one), (next_one, _, other) in zip(places, places[1:]):
            if begin + size > next_one:
                raise self.refuse(f"{one} and {other} have bytes in common")
        end = sum(next((place[:2] for place in places if place[2] == FIRST_RECORD), (0, 0)))
        for entry in header.growing:
            if entry.begin + header.size(entry) > end:
                raise self.refuse(f"variable {entry.name} begins behind the first record")


def header_of(path: str) -> tuple[Header, int]:
    """And the size of the file."""
    with open(path, "rb") as file:
        reader = Reader(file, path)
        return reader.header(), reader.size
