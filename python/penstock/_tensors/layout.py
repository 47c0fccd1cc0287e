"""Which rank writes what where: worked out once for all saves of the same tensors in the same parts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from .._core import DisagreementError, _crc32c_of_shares
from . import header
from .meeting import Meeting
from .plan import Table, Tensor, in_words, merged

CHECKSUMS = "penstock.crc32c"  #: in the metadata: JSON of the tensors' checksums, 8 hexadecimal digits each


@dataclass
class FileLayout:
    """The tensors of one file, on rank 0."""

    tensors: list[Tensor]

    def __post_init__(self) -> None:
        self.entries = header.entries((t.name, t.dtype, t.shape, t.bytes) for t in self.tensors)
        self.bytes = sum(tensor.bytes for tensor in self.tensors)  #: without the header

    def header(self, metadata: Mapping[str, str], shares: Optional[Sequence[Mapping[int, int]]]) -> bytes:
        """`shares`: of checksums, if it is to have any."""
        told = dict(metadata)
        if shares is not None:
            told[CHECKSUMS] = json.dumps({t.name: f"{_checksum(t, shares):08x}" for t in self.tensors})
        return header.written(self.entries, told)


@dataclass
class Layout:
    """What a rank does in such a save. Numbers are those of its pieces."""

    id: str  #: the same on all ranks, and on no other layout
    order: list[list[int]]  #: of each file, what this rank writes into it, in the order of the file
    offsets: list[list[int]]  #: of each of these, where its tensor begins in the file's data
    compare: list[int]  #: what other ranks have, too
    compares: bool  #: some rank has such
    files: list[FileLayout] = field(default_factory=list)  #: on rank 0

    @property
    def tensors(self) -> list[Tensor]:
        return [tensor for file in self.files for tensor in file.tensors]


def _split(tensors: Sequence[Tensor], most: Optional[int]) -> list[FileLayout]:
    """Over files of at most so many bytes of data, but for a tensor that alone has more."""
    files: list[list[Tensor]] = [[]]
    filled = 0
    for tensor in tensors:
        if most is not None and files[-1] and filled + tensor.bytes > most:
            files.append([])
            filled = 0
        files[-1].append(tensor)
        filled += tensor.bytes
    return [FileLayout(some) for some in files]


def _laid_out(tables: Sequence[Table], most: Optional[int]) -> list[Layout]:
    """Of each rank. Where several have the same part they take turns along the file, so that what a rank writes lies
    together."""
    files = _split(merged(tables), most)
    layouts = [Layout(secrets.token_hex(8), [[] for _ in files], [[] for _ in files], [], False) for _ in tables]
    for at, file in enumerate(files):
        offset = 0
        for tensor in file.tensors:
            for group in tensor.groups:
                rank, number = tensor.holders[group[offset * len(group) // (file.bytes + 1)]]
                layouts[rank].order[at].append(number)
                layouts[rank].offsets[at].append(offset)
                for holder in group if len(group) > 1 else ():
                    rank, number = tensor.holders[holder]
                    layouts[rank].compare.append(number)
            offset += tensor.bytes
    compares = any(layout.compare for layout in layouts)
    for layout in layouts:
        layout.id, layout.compares = layouts[0].id, compares
    layouts[0].files = files
    return layouts


#: The last ones with what they were made of: a program saves the same tensors again and again.
_known: list[tuple[Any, Layout]] = []
_MOST_KNOWN = 4


def layout_of(meeting: Meeting, table: Table, most: Optional[int]) -> Layout:
    """Collective. Raises for what is wrong with the tensors of all ranks."""
    key = (meeting.rank, meeting.size, most, table)
    known = next((layout for made_of, layout in _known if made_of == key), None)
    if meeting.alike(known and known.id) and known is not None:
        return known
    tables, layouts = meeting.gather(table), list[Layout]()
    meeting.first(lambda: layouts.extend(_laid_out(tables, most)))
    files = layouts[0].files if layouts else []
    for layout in layouts:
        layout.files = []
    own = meeting.scatter(layouts)
    own.files = files
    _known.insert(0, (key, own))
    del _known[_MOST_KNOWN:]
    return own


def _checksum(tensor: Tensor, shares: Sequence[Mapping[int, int]]) -> int:
    joined = 0
    for group in tensor.groups:
        rank, number = tensor.holders[group[0]]
        joined ^= shares[rank][number]
    return _crc32c_of_shares(joined, tensor.bytes)


def check_replicas(tensors: Sequence[Tensor], shares: Sequence[Mapping[int, int]]) -> None:
    """Ranks with the same part must have the same bytes. `shares`: of each rank, by number."""
    for tensor in tensors:
        for group in tensor.groups:
            first, first_number = tensor.holders[group[0]]
            for holder in group[1:]:
                rank, number = tensor.holders[holder]
                if shares[rank][number] != shares[first][first_number]:
                    raise DisagreementError(
                        f"tensor {tensor.name!r}: ranks {first} and {rank} both have "
                        f"{in_words(tensor.parts[holder])}, with different elements; ranks that have the same part "
                        "must have the same in it")
