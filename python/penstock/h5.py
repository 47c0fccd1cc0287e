"""For programs that have h5py code: ``import penstock.h5 as h5py``.

>>> with h5py.File("run.h5", "w", driver="mpio", comm=comm) as f:
...     u = f.create_dataset("run/u", (512, 512), dtype="f8")
...     with u.collective:
...         u[rows] = block

Files that a communicator opens are read and written by Penstock, with any h5py, also one that has no MPI. What one
process opens without a communicator is opened by h5py itself.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

try:
    import h5py as _h5py
except ImportError as error:
    raise ImportError(f"penstock.h5 needs h5py, with or without MPI, and it cannot be imported ({error}): "
                      "pip install h5py, or penstock[hdf5]") from None
from h5py import UNLIMITED as UNLIMITED
from h5py import (  # noqa: F401
    Empty,
    ExternalLink,
    HardLink,
    Reference,
    RegionReference,
    SoftLink,
    check_dtype,
    check_enum_dtype,
    check_string_dtype,
    check_vlen_dtype,
    enum_dtype,
    h5t,
    is_hdf5,
    opaque_dtype,
    ref_dtype,
    special_dtype,
    string_dtype,
    version,
    vlen_dtype,
)
from h5py import __version__ as __version__

from ._h5.attributes import AttributeManager
from ._h5.dataset import Dataset
from ._h5.entries import Lacking
from ._h5.group import Group
from ._h5.shared import Shared
from ._types import Comm, Path

__all__ = ["AttributeManager", "Dataset", "File", "Group", "get_config"]

MODES = {"r": "r", "r+": "r+", "w": "w", "w-": "x", "x": "x", "a": "a"}
#: Of h5py's `File`: what changes only how HDF5 itself would read and write.
WITHOUT_EFFECT = frozenset({"libver", "rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "alignment_threshold",
                            "alignment_interval", "meta_block_size", "locking", "info", "page_buf_size",
                            "min_meta_keep", "min_raw_keep"})
Group.of_h5py, Dataset.of_h5py = _h5py.Group, _h5py.Dataset


class File(Group):
    """An HDF5 file. A context manager, which closes it.

    After an exception within the ``with`` it abandons the file on this rank alone, since the other ranks may be
    anywhere.
    """

    of_h5py = _h5py.File

    def __new__(cls, name: Any, mode: str = "r", driver: Any = None, comm: Comm = None, **how: Any) -> Any:
        if cls is File and comm is None and driver != "mpio":
            return _h5py.File(name, mode, driver, **how)
        return super().__new__(cls)

    def __init__(self, name: Path, mode: str = "r", driver: Any = None, comm: Comm = None, **how: Any):
        """Collective over ``comm``.

        Args:
            name: The file.
            mode: "r", "r+", "w", "w-" or "x", "a".
            driver: "mpio" or None.
            comm: An mpi4py communicator. Without one h5py opens the file.
            how: What else h5py takes. What has no effect on the file's content is let pass.

        Raises:
            NotImplementedError: For a driver or an option that Penstock has not.
            OSError, FileNotFoundError, FormatError: As `penstock.open_dataset`.
        """
        if driver not in (None, "mpio"):
            raise Lacking(f"File(driver={driver!r}): with a communicator penstock.h5 has 'mpio'; leave the driver out")
        if driver == "mpio" and comm is None:
            raise TypeError("driver 'mpio' needs comm=, an mpi4py communicator")
        if mode not in MODES:
            raise ValueError("Invalid mode; must be one of r, r+, w, w-, x, a")
        for option, value in how.items():
            if option not in WITHOUT_EFFECT and value not in (None, False, 0):
                raise Lacking(f"File({option}={value!r}): penstock.h5 has no {option}; leave it out, or open the file "
                              "by h5py on one rank")
        super().__init__(Shared(name, MODES[mode], comm), "/")
        self._shared.owner = self
        self._driver = "mpio" if comm is not None else "sec2"

    @property
    def filename(self) -> str:
        """As it was given."""
        return os.fsdecode(self._shared.path)

    @property
    def mode(self) -> str:
        """ "r" or "r+"."""
        return "r+" if self._shared.can_write else "r"

    @property
    def driver(self) -> str:
        """ "mpio": all ranks of a communicator have it open."""
        return self._driver

    @property
    def atomic(self) -> bool:
        """Whether reads and writes of a dataset, which a rank makes alone, wait for each other. As in MPI."""
        return self._shared.is_atomic

    @atomic.setter
    def atomic(self, value: bool) -> None:
        self._shared.require_open()
        self._shared.is_atomic = bool(value)

    @property
    def swmr_mode(self) -> bool:
        """False."""
        return False

    @swmr_mode.setter
    def swmr_mode(self, value: bool) -> None:
        if value:
            raise Lacking("swmr_mode: penstock.h5 has it not; after f.flush() others read what is in the file")

    @property
    def userblock_size(self) -> int:
        """0: a new file has none."""
        return 0

    def flush(self) -> None:
        """Returns when all that was written is on the device. Collective."""
        self._shared.flush()

    def close(self) -> None:
        """Collective. A second call does nothing."""
        self._shared.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._shared.abandon(kind, value)

    def __repr__(self) -> str:
        if not self:
            return "<Closed HDF5 file>"
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode}, penstock)>'


class _Config:
    """h5py's, and MPI is there, whatever h5py was built with."""

    mpi = parallel = True

    def __getattr__(self, name: str) -> Any:
        return getattr(_h5py.get_config(), name)


def get_config() -> Any:
    """As of h5py; `mpi` is true."""
    return _Config()


h5 = SimpleNamespace(get_config=get_config)


def __getattr__(name: str) -> Any:
    if name.startswith("__") or not hasattr(_h5py, name):
        raise AttributeError(f"module 'penstock.h5' has no attribute {name!r}, and neither has h5py")
    raise Lacking(f"penstock.h5 has no {name}: it stands for h5py's files, groups, datasets and attributes; import "
                  "h5py itself for the rest, and open the file on one rank")
