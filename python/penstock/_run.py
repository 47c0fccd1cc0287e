"""`penstock run`: programs that use MPI-IO, with Penstock's in place of their MPI library's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import ArgumentError
from ._launch import environment
from ._variants import soname_of as linked_soname

LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun", "srun")


@dataclass(frozen=True)
class Library:
    """A build of the drop-in MPI-IO, and the MPI library that it is for."""

    path: Path
    mpi: str  #: "MPICH", "Open MPI", "MPI ABI"
    version: str
    soname: str  #: what programs of that MPI library are linked with

    @property
    def name(self) -> str:
        return f"{self.mpi} {self.version}"


def folders() -> list[Path]:
    """Where builds are: in PENSTOCK_DROPIN, beside this package, and in the tree that it was built in."""
    here = Path(__file__).absolute().parent
    found = [Path(folder) for folder in os.environ.get("PENSTOCK_DROPIN", "").split(os.pathsep) if folder]
    found += [here / "dropin", *sorted(here.glob("dropin/*"))]
    for parent in here.parents:
        if parent.name == "build":
            own = here.relative_to(parent).parts[0]
            found += [parent / own / "dropin", *sorted(parent.glob("dropin/*")), *sorted(parent.glob("*/dropin"))]
            break
    return list(dict.fromkeys(found))


def libraries() -> list[Library]:
    """All builds that are found."""
    found = []
    for folder in folders():
        path = folder / "libpenstock_mpiio.so"
        if not path.exists() or not (folder / "mpi.json").exists():
            continue
        told = json.loads((folder / "mpi.json").read_text())
        found.append(Library(path, told["mpi"], told["version"], soname_of(path) or ""))
    return found


def mpi_of_launcher(launcher: str) -> tuple[str, str] | None:
    """Name and version of the MPI that `mpiexec` belongs to; None: it does not tell."""
    told = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=60)
    text = told.stdout + told.stderr
    if match := re.search(r"(?:Open MPI|OpenRTE)\)? v?(\d+\.\d+[.\d]*)", text):
        return "Open MPI", match[1]
    if match := re.search(r"HYDRA.*?Version:\s*(\d+\.\d+[.\d]*)", text, re.DOTALL):
        return "MPICH", match[1]
    if re.search(r"prterun|PRRTE", text, re.IGNORECASE):
        return "Open MPI", "5"
    return None


def soname_of(path: Path) -> str | None:
    """The MPI library that a program or library is linked with, whatever is preloaded here."""
    return linked_soname(path, {**os.environ, "LD_PRELOAD": ""})


def soname_of_program(words: list[str]) -> str | None:
    """The MPI library that the first program among `words` is linked with; None: with none."""
    for word in words:
        path = shutil.which(word)
        if path is None or Path(word).name in LAUNCHERS:
            continue
        with open(path, "rb") as program:
            if program.read(4) != b"\x7fELF":
                continue
        if soname := soname_of(Path(path)):
            return soname
    return None


def choose(command: list[str], found: list[Library]) -> Library:
    """The build for the MPI library of `command`. Throws ArgumentError that says what is missing."""
    there = ", ".join(sorted({library.name for library in found})) or "none"
    advice = (f"; builds are there for: {there}. `make dropin MPICC=...`, with that MPI's mpicc, in Penstock's "
              "source folder makes another")
    launcher = next((word for word in command if Path(word).name.split(".")[0] in LAUNCHERS), None)
    soname = soname_of_program(command)
    told = mpi_of_launcher(launcher) if launcher and Path(launcher).name != "srun" else None
    fitting = [library for library in found if soname is None or library.soname == soname]
    if soname and not fitting:
        raise ArgumentError(f"the program is linked with {soname}, for which there is no drop-in MPI-IO{advice}")
    if told is None:
        if fitting:
            return fitting[0]
        raise ArgumentError(f"no drop-in MPI-IO was found{advice}")
    mpi, version = told
    if soname is not None and soname.startswith("libmpi_abi"):
        return fitting[0]  # whatever MPI library is behind it
    same = [library for library in fitting if library.mpi == mpi]
    major = [library for library in same if library.version.split(".")[0] == version.split(".")[0]]
    if not major:
        raise ArgumentError(f"{launcher} is that of {mpi} {version}, for which there is no drop-in MPI-IO{advice}")
    return major[0]


# Prints what mpi4py has loaded, without starting MPI.
LOAD_MPI4PY = """
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
import mpi4py.MPI
print(open("/proc/self/maps").read())
"""


def loaded_by_mpi4py(python: str) -> list[Path]:
    """The libmpi.so that mpi4py's wheel finds and loads in this Python; none: it is linked with its MPI library."""
    told = subprocess.run([python, "-c", LOAD_MPI4PY], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": ""}).stdout
    return [Path(path) for path in dict.fromkeys(re.findall(r"(/\S*/libmpi\.so\S*)$", told, re.MULTILINE))]


def needed_by_mpi4py(command: list[str], library: Library) -> list[Path]:
    """What is to be preloaded, too, for a Python program.

    mpi4py's wheel looks for no MPI library where there is one already, and its extension module needs libmpi.so.12 or
    libmpi.so.40. An MPI library of another name (Debian's MPICH) does not satisfy that.
    """
    python = next((word for word in command if re.fullmatch(r"python[\d.]*", Path(word).name)), None)
    if python is None or shutil.which(python) is None or re.match(r"libmpi(_abi)?\.so", library.soname):
        return []
    found = loaded_by_mpi4py(python)
    for path in found:
        if soname_of(path) != library.soname:
            raise ArgumentError(f"mpi4py of {python} uses {path}, which is not {library.name} ({library.soname}), the "
                                "MPI library of the launcher; MPI4PY_LIBMPI names another one for mpi4py")
    return found


def preloaded(command: list[str], library: Library, settings: dict[str, str],
              also: list[Path] | None = None) -> tuple[list[str], dict[str, str]]:
    """The command and its environment. Ranks on other hosts get the settings through the launcher."""
    mine = environment()
    before = mine.get("LD_PRELOAD", "")
    libraries = [str(path) for path in (library.path, *(also or []))]
    mine |= {**settings, "LD_PRELOAD": ":".join([*libraries, before] if before else libraries)}
    names = ["LD_PRELOAD", *(name for name in mine if name.startswith("PENSTOCK_"))]
    command = list(command)
    for i, word in enumerate(command):
        if Path(word).name.split(".")[0] in LAUNCHERS and library.mpi == "Open MPI" and "srun" not in word:
            command[i + 1:i + 1] = [part for name in names for part in ("-x", name)]
            break
    return command, mine


def run(command: list[str], settings: dict[str, str]) -> None:
    """Becomes the command. Throws ArgumentError where there is no build for its MPI library."""
    if shutil.which(command[0]) is None:
        raise ArgumentError(f"there is no program '{command[0]}'")
    library = choose(command, libraries())
    command, mine = preloaded(command, library, settings, needed_by_mpi4py(command, library))
    os.execvpe(command[0], command, mine)
