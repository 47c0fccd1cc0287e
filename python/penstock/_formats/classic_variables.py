"""The variables of a classic netCDF file.

All are made before the first of them is read or written, since one more moves what lies behind the header. Each is
opened like a dataset that is one stretch of bytes, or one with steps that lie in the records of the file. These belong
to all variables: so the file tells of new ones when the bytes of all variables are on the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._chunks import NONE
from .._core import FormatError, StateError
from .._first_rank import ask_first_rank_of
from .._values import descr_of
from .classic import FILL, Classic
from .variables import StoredVariables
from .wanted import MAKES_FILE, Found, Wanted


class FilledSteps:
    """The elements of a variable that has a fill value: a step has it before it is written."""

    def __init__(self, inner: Any, fill: Callable[[int], None]):
        self._inner, self._fill = inner, fill

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, *request: Any) -> None:
        self._fill(self._inner.shape[0])
        self._inner.append(*request)


class ClassicVariables(StoredVariables):
    """Of one file, on every rank."""

    _kind: Classic
    publishes_first = True

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._is_defined = self.mode == "r+"  # no more variables are made
        self._is_begun = self.mode == "r"  # the file is as it must be before it is written
        self._growing: dict[str, Any] = {}  # what is open of variables with records

    def _check_may_create(self) -> None:
        if self.mode == "r":
            raise StateError(f"'{self.path}' was opened for reading only; open it with w")
        if self._is_defined:
            raise StateError(f"'{self.path}': the variables of a classic netCDF file are made before the first of them "
                             "is read or written, since one more moves what is there: create all of them first (mode "
                             "'w' or 'x'), or choose container='netcdf' (netCDF-4), which takes more at any time")

    def _try_chunks(self, wanted: Wanted) -> None:
        self._kind.check_new(wanted)

    def _make(self, wanted: Wanted) -> dict[str, Found]:
        """On rank 0. Nothing has changed where it raises."""
        return self._kind.make(self.path, wanted)

    def create(self, *arguments: Any) -> dict[str, Found]:
        """As StoredVariables.create. The others may have moved."""
        before = dict(self.found)
        made = super().create(*arguments)
        for name, found in before.items():
            found.offset, found.step = made[name].offset, made[name].step
            self.found[name] = found
        return {name: found for name, found in made.items() if name not in before}

    def open_variable(self, found: Found, is_new: bool) -> Any:
        """Collective: its elements."""
        ask_first_rank_of(self.anchor, {"variable": found.name}, lambda: None)
        self.begin()
        if found.refused:
            raise FormatError(f"'{self.path}': variable {found.name} {found.refused}, so that Penstock cannot read its "
                              "elements")
        grows = found.grows and self.mode != "r"
        extents = [_core.unlimited, *found.shape[1:]] if grows else list(found.shape)
        offset = found.offset if grows or 0 not in found.shape else 0  # nothing need be there
        inner = _core._open(self._comm, self._name, "r" if self.mode == "r" else "r+", extents, descr_of(found.dtype),
                            found.dtype.itemsize, "C", offset, "raw", self._hints, NONE, None, None,
                            (found.step, found.shape[0] if found.shape else 0))
        if not grows:
            return inner
        self._growing[found.name] = inner
        if found.attrs.get(FILL) is None:
            return inner
        return FilledSteps(inner, lambda step: self._ask(
            "append", lambda: self._kind.fill_step(self.path, found.name, step)))

    def end_definitions(self) -> None:
        if self.mode in MAKES_FILE:
            self.begin()

    def begin(self) -> None:
        """Collective, before the first of them is read or written: no more are made."""
        is_new, self._is_defined = not self._is_defined, True
        if not self._is_begun:
            self._ask("open a variable", lambda: self._kind.begin_writing(self.path, is_new))
            self._is_begun = True

    def _ask(self, call: str, work: Callable[[], Any]) -> None:
        ask_first_rank_of(self.anchor, {"the call": call}, self._in_words(work, "write"), True)

    def publish(self) -> None:
        """As StoredVariables.publish."""
        self.begin()
        steps = {name: found.shape[0] for name, found in self.found.items() if found.grows}
        steps.update({name: inner.shape[0] for name, inner in self._growing.items()})
        self._ask("sync", lambda: self._kind.publish(self.path, steps))
