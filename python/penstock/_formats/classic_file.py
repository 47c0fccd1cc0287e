"""A variable of a classic netCDF file that is opened alone: the whole file is open, and one variable of it shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Optional

from .. import _core
from .._core import ArgumentError, FormatError
from .._dataset import Dataset, GivenDataset
from .._file import File
from .._handle import closing
from .._variable import Variable
from .dataset import DatasetFile, check_against, check_growth
from .wanted import Found, Wanted


class ClassicFile(DatasetFile):
    """A variable of a classic netCDF file. `penstock.open` makes one where it is asked for a ``dataset``."""

    def __init__(self, inner: Any, ranks: int, wanted: Wanted, file: Dataset, variable: Variable):
        File.__init__(self, inner, wanted.path, wanted.mode, variable.dtype, ranks)
        self.container, self.dataset, self.dims = file.container, "/" + variable.name, variable.dims
        self._whole, self._attrs = file, variable.attrs

    def sync(self) -> None:
        """As `File.sync`."""
        self._whole.sync()

    def close(self, wait: bool = True) -> Any:
        """As `File.close`. The steps that were appended are on the device when it returns, also without waiting."""
        if wait or self.closed or self._whole._replacing is not None:
            return self._whole.close() if wait else closing(_Over(self._whole.close))
        self._whole._publish()
        handle = closing(self._inner.close_begin())
        self._whole.close()
        return handle

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._whole.__exit__(kind, value, traceback)


class _Over:
    """A close that is over when it has begun."""

    def __init__(self, close: Callable[[], None]):
        close()

    def copied(self, wait: bool) -> bool:
        return True

    def test(self) -> bool:
        return True

    def wait(self) -> None:
        pass


def open_alone(comm: int, ranks: int, hints: Optional[_core._Settings], wanted: Wanted, container: str) -> File:
    """Collective. The ranks have passed the same."""
    given = GivenDataset(os.fsencode(wanted.path), wanted.mode, container, settings=hints, replace=wanted.replace)
    file = Dataset(given, comm)
    try:
        name = (wanted.dataset or _only_one(file)).strip("/")
        if wanted.makes_file or (wanted.mode == "r+" and wanted.can_make and name not in file):
            variable = file.create(name, wanted.told_extents, wanted.dtype, dict(wanted.dims or ()) or None,
                                   chunks=wanted.given_chunks or None, fill_value=wanted.fill_element,
                                   attributes=wanted.attributes)
        elif name in file:
            variable = file[name]
            _check(wanted, file._store.found[name])
        else:
            raise FormatError(f"'{wanted.path}' has no dataset {name}; it has {', '.join(file) or 'none'}")
        inner = variable._inner
        assert inner.container == "raw"  # which opens it
    except Exception:  # on all ranks
        file.close()
        raise
    return ClassicFile(inner, ranks, wanted, file, variable)


def _only_one(file: Dataset) -> str:
    """Which is none of the coordinates, where there are others."""
    names = [name for name, variable in file.items() if variable.dims != (name,)] or list(file)
    if len(names) == 1:
        return names[0]
    raise ArgumentError(f"'{file.path}': dataset= is needed to say which one is meant; it has "
                        f"{', '.join(file) or 'none'}")


def _check(wanted: Wanted, found: Found) -> None:
    if found.refused:
        return  # which opening it tells
    given = wanted.dtype
    same = given is not None and given.newbyteorder(">") == found.dtype
    check_against(wanted, found, given if same and given is not None else found.dtype)
    if wanted.mode == "r+":
        check_growth(wanted, found, found.grows)
