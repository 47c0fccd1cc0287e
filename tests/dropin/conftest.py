import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from flavour import Flavour, succeed

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def flavour():
    return Flavour(Path(os.environ["PENSTOCK_BUILD"]))


@pytest.fixture
def space():
    """A folder for files, in memory if there is room: MPI_File_sync is slow on file systems."""
    in_memory = Path("/dev/shm")
    enough = in_memory.is_dir() and shutil.disk_usage(in_memory).free > 1 << 30
    folder = Path(tempfile.mkdtemp(prefix="penstock-dropin-", dir=in_memory if enough else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def programs(flavour):
    """A folder for compiled programs, kept between runs."""
    folder = flavour.build / "dropin/programs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Abi:
    """The standard ABI's compilers, and the drop-in for it."""

    mpicc: Path
    mpicxx: Path
    library: Path


@pytest.fixture(scope="session")
def abi(flavour):
    mpicc = flavour.mpicc.with_name("mpicc_abi")
    if not mpicc.exists():
        pytest.skip(f"{flavour.name} has no mpicc_abi")
    reported = succeed([REPOSITORY / "scripts/dropin.sh", mpicc])
    made = re.search(r'(\S+libpenstock_mpiio\.so): .*"mpi": "MPI ABI"', reported)
    assert made, reported
    return Abi(mpicc, mpicc.with_name("mpicxx_abi"), REPOSITORY / made[1])
