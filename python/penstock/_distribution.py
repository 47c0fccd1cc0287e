"""Distributions of arrays over processes, in the terms of High Performance Fortran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ._core import ArgumentError, Section, _share


class Distribution:
    """The share of one rank of an array, made by `distribute`."""

    shape: tuple[int, ...]  #: extents of the array, in elements
    rank: int  #: whose share it is
    ranks: int  #: of how many
    kind: tuple[str, ...]  #: how each dimension is dealt out
    grid: tuple[int, ...]  #: processes per dimension
    coordinates: tuple[int, ...]  #: this rank's place among them (row-major)
    section: Section  #: what this rank owns
    with_halo: Section  #: what it owns and the halo cells around it, clipped at the array's edge
    local_shape: tuple[int, ...]  #: shape of the local array, halo included
    interior: tuple[slice, ...]  #: the owned elements within the local array
    comm: Any  #: the communicator it was made for, or None

    def __init__(self, shape: Sequence[int], ranks: int, rank: int, kind: Sequence[str],
                 grid: Optional[Sequence[int]], halo: Sequence[int], comm: Any = None):
        self.shape, self.comm = tuple(shape), comm
        self.rank, self.ranks, self.kind = rank, ranks, tuple(kind)
        section, with_halo, local_shape, before, chosen, coordinates = _share(
            list(shape), ranks, list(kind), list(grid or []), list(halo), rank)
        self.section, self.with_halo = section, with_halo
        self.local_shape = tuple(local_shape)
        self.grid = tuple(chosen)
        self.coordinates = tuple(coordinates)
        self.interior = tuple(slice(b, b + n) for b, n in zip(before, section.shape))

    def empty(self, dtype: Any, order: str = "C") -> np.ndarray:
        """A local array of `local_shape`, halo included, not initialised."""
        return np.empty(self.local_shape, dtype, order=order)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return (f"<Distribution of {self.shape} {self.kind} over {self.grid}, rank {self.rank}: "
                f"{self.section!r}>")


def distribute(shape: Sequence[int], comm: Any = None,
               kind: Union[str, Sequence[str], None] = None, halo: Union[int, Sequence[int]] = 0, *,
               grid: Optional[Sequence[int]] = None, rank: Optional[int] = None,
               ranks: Optional[int] = None) -> Distribution:
    """The share of this rank of an array of this shape. Not collective.

    Args:
        shape: Extents of the array, 1 to 8, in elements.
        comm: An mpi4py communicator. None: one process, or what ``rank`` and ``ranks`` say.
        kind: Per dimension "block", "cyclic", "block-cyclic(k)" or "*" (not distributed); one name
            for all. Default: "block" everywhere.
        halo: Cells on each side in block dimensions, one number or one per dimension.
        grid: Processes per dimension; default: blocks as cubic as the number of ranks allows.
        rank: Whose share it is, without ``comm``.
        ranks: Of how many, without ``comm``.

    Returns:
        The share, which reads and writes take as a section.

    Raises:
        ArgumentError: For a kind that is none, or a grid that is not of as many processes.
    """
    shape = tuple(int(n) for n in shape)
    if kind is None:
        kind = "block"
    kinds = (kind,) * len(shape) if isinstance(kind, str) else tuple(kind)
    halos = (halo,) * len(shape) if isinstance(halo, int) else tuple(halo)
    if comm is not None:
        rank, ranks = comm.Get_rank(), comm.Get_size()
    rank, ranks = rank or 0, ranks or 1
    if not all(isinstance(k, str) for k in kinds):
        raise ArgumentError(f"distribution kinds must be names, not {kinds!r}")
    return Distribution(shape, ranks, rank, kinds, grid, halos, comm)
