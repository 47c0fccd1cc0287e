"""Distributions of arrays over processes, in the terms of High Performance Fortran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._core import ArgumentError, Section, _share


class Ghosted:
    """A rank's block and the cells around it, `Distribution.ghosted`: reading it fills a whole local array.

    Where dimensions are periodic, cells beyond an end of the array hold elements of the other end. Cells of a frame
    belong to no element: a read leaves them as they are, 0 in a new array.
    """

    shape: tuple[int, ...]  #: of the local array
    pieces: tuple[tuple[Section, tuple[slice, ...]], ...]  #: of the array, each with its place in the local one

    def __init__(self, shape: Sequence[int], pieces: Sequence[tuple[Section, Sequence[int]]]):
        self.shape = tuple(shape)
        self.pieces = tuple((section, tuple(slice(begin, begin + n) for begin, n in zip(start, section.shape)))
                            for section, start in pieces)

    def __repr__(self) -> str:
        return f"<Ghosted local array of shape {self.shape}: {', '.join(repr(section) for section, _ in self.pieces)}>"


class Distribution:
    """One rank's part of an array, made by `distribute`."""

    shape: tuple[int, ...]  #: extents of the array, in elements
    rank: int  #: whose share it is
    ranks: int  #: of how many
    kind: tuple[str, ...]  #: how each dimension is dealt out
    grid: tuple[int, ...]  #: processes per dimension
    coordinates: tuple[int, ...]  #: this rank's place among them (row-major)
    section: Section  #: what this rank owns
    with_halo: Section  #: what it owns and the halo cells around it, clipped at the array's edge
    ghosted: Ghosted  #: all of the local array: what it owns, its halo, wrapped around where it is periodic
    local_shape: tuple[int, ...]  #: shape of the local array, halo included
    interior: tuple[slice, ...]  #: the owned elements within the local array
    comm: Any  #: the communicator it was made for, or None

    def __init__(self, shape: Sequence[int], place: tuple[int, int, Any], kind: Sequence[str],
                 grid: Optional[Sequence[int]], halo: tuple[Sequence[int], Sequence[bool], bool]):
        ranks, rank, self.comm = place
        self.shape, self.kind = tuple(shape), tuple(kind)
        self.rank, self.ranks = rank, ranks
        width, periodic, frame = halo
        section, with_halo, local_shape, before, chosen, coordinates, pieces = _share(
            list(shape), (ranks, rank), list(kind), list(grid or []), (list(width), list(periodic), frame))
        self.section, self.with_halo = section, with_halo
        self.ghosted = Ghosted(local_shape, pieces)
        self.local_shape = tuple(local_shape)
        self.grid = tuple(chosen)
        self.coordinates = tuple(coordinates)
        self.interior = tuple(slice(b, b + n) for b, n in zip(before, section.shape))

    def empty(self, dtype: Any, order: str = "C") -> NDArray[Any]:
        """A local array of `local_shape`, halo included, not initialised."""
        return np.empty(self.local_shape, dtype, order=order)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return (f"<Distribution of {self.shape} {self.kind} over {self.grid}, rank {self.rank}: "
                f"{self.section!r}>")


def distribute(shape: Sequence[int], comm: Any = None,
               kind: Union[str, Sequence[str], None] = None, halo: Union[int, Sequence[int]] = 0, *,
               periodic: Union[bool, Sequence[bool]] = False, frame: bool = False,
               grid: Optional[Sequence[int]] = None, rank: Optional[int] = None,
               ranks: Optional[int] = None) -> Distribution:
    """This rank's part of an array of this shape. Not collective.

    Args:
        shape: Extents of the array, 1 to 8, in elements.
        comm: An mpi4py communicator. None: one process, or what ``rank`` and ``ranks`` say.
        kind: Per dimension "block", "cyclic", "block-cyclic(k)" or "*" (not distributed); one name
            for all. Default: "block" everywhere.
        halo: Cells on each side in block dimensions, one number or one per dimension. They end at the array's edge,
            except with the next two.
        periodic: Dimensions whose two ends are neighbours, so that their halo wraps around; one value or one per
            dimension.
        frame: Halo cells also at the array's edge, so that all local arrays have them on all sides.
        grid: Processes per dimension; default: blocks as cubic as the number of ranks allows.
        rank: Whose share it is, without ``comm``.
        ranks: Of how many, without ``comm``.

    Returns:
        The share, which reads and writes take as a section.

    Raises:
        ArgumentError: For an invalid kind, a grid of another number of processes, or values for another number of
            dimensions.
    """
    shape = tuple(int(n) for n in shape)
    if kind is None:
        kind = "block"
    kinds = (kind,) * len(shape) if isinstance(kind, str) else tuple(kind)
    halos = (halo,) * len(shape) if isinstance(halo, int) else tuple(halo)
    if comm is not None:
        rank, ranks = comm.Get_rank(), comm.Get_size()
    rank, ranks = rank or 0, ranks or 1
    around = (periodic,) * len(shape) if isinstance(periodic, bool) else tuple(bool(p) for p in periodic)
    if not all(isinstance(k, str) for k in kinds):
        raise ArgumentError(f"distribution kinds must be names, not {kinds!r}")
    return Distribution(shape, (ranks, rank, comm), kinds, grid, (halos, around, bool(frame)))
