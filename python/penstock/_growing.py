"""Arrays that can become longer."""

from __future__ import annotations

import threading
from typing import Any, Optional

from ._array import Array
from ._request import CallArguments, Requests
from ._types import Index


class Growing(Array):
    """The methods of arrays that can be opened to grow along their slowest dimension."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()  # two threads must not mean the same step

    def append(self, local: Any, section: Optional[Index] = ..., method: Optional[str] = None, **hints: Any) -> None:
        """Makes the array one step longer along its slowest dimension, and writes the step. Collective.

        The file was opened with None for that dimension, as in ``shape=(None, 512, 512)``. An .npy header and Zarr's
        metadata have the new extent after the next `File.sync` or `File.close`, which write the steps to the device
        first: after a crash the file is as of then.

        Args:
            local: This rank's part of the step, as in `write`.
            section: Where it belongs in the step, in the other dimensions: as in `write`, e.g. a Distribution of these.
                Default: all of the step. None: this rank has no part of it. Elements that no rank writes are zeros, or
                the fill value.
            method: As in `write`.
            hints: As in `write`.

        Raises:
            StateError: If the file was not opened to grow, or its header has no room for a longer shape.
            ArgumentError, SectionError, DisagreementError, StorageError: As `write`; the shape is then unchanged.
        """
        with self._one_at_a_time:
            longer = self._requests.one_longer()
            self._become(longer, longer.write(local, longer.in_last_step(section), method, hints))

    def _become(self, longer: Requests, step: CallArguments) -> None:
        self._inner.append(*step.request)
        self._requests = longer
        self.shape, self.end_offset = longer.shape, self._inner.end_offset
