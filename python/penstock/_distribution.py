"""Distributions of arrays over processes, in the terms of High Performance Fortran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ._core import ArgumentError, Section, _share


class Distribution:
    """The share of one rank of an array.

    Attributes
    ----------
    section: Section
        What this rank owns.
    with_halo: Section
        What it owns and the halo cells around it, clipped at the array's edge.
    local_shape: tuple of int
        Shape of the local array, halo included.
    interior: tuple of slice
        The owned elements within the local array.
    grid, coordinates: tuple of int
        Processes per dimension, and this rank's place among them (row-major).
    """

    def __init__(self, shape: Sequence[int], ranks: int, rank: int, kind: Sequence[str],
                 grid: Optional[Sequence[int]], halo: Sequence[int]):
        self.shape = tuple(shape)
        self.rank, self.ranks, self.kind = rank, ranks, tuple(kind)
        section, with_halo, local_shape, before, chosen, coordinates = _share(
            list(shape), ranks, list(kind), list(grid or []), list(halo), rank)
        self.section: Section = section
        self.with_halo: Section = with_halo
        self.local_shape = tuple(local_shape)
        self.grid = tuple(chosen)
        self.coordinates = tuple(coordinates)
        self.interior = tuple(slice(b, b + n) for b, n in zip(before, section.shape))

    def empty(self, dtype: Any, order: str = "C") -> np.ndarray:
        """A local array, halo included, not initialised."""
        return np.empty(self.local_shape, dtype, order=order)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return (f"<Distribution of {self.shape} {self.kind} over {self.grid}, rank {self.rank}: "
                f"{self.section!r}>")


def distribute(shape: Sequence[int], comm: Any = None,
               kind: Union[str, Sequence[str], None] = None, halo: Union[int, Sequence[int]] = 0, *,
               grid: Optional[Sequence[int]] = None, rank: Optional[int] = None,
               ranks: Optional[int] = None) -> Distribution:
    """The share of this rank of an array of `shape`.

    Parameters
    ----------
    shape: the array's shape, 1 to 8 dimensions.
    comm: an mpi4py communicator; None: one process (or say `rank` and `ranks`).
    kind: per dimension "block", "cyclic", "block-cyclic(k)" or "*" (not distributed); one name
        for all. Default: "block" everywhere.
    halo: cells on each side in block dimensions, one number or one per dimension.
    grid: processes per dimension; default: blocks as cubic as the number of ranks allows.

    Raises ArgumentError.
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
    return Distribution(shape, ranks, rank, kinds, grid, halos)
