import os
import shutil
import tempfile
from pathlib import Path

import pytest
from flavour import Flavour


@pytest.fixture(scope="session")
def flavour():
    return Flavour(Path(os.environ["PENSTOCK_BUILD"]))


@pytest.fixture
def space():
    """A folder for files, in memory where there is room: file systems take their time over MPI_File_sync."""
    in_memory = Path("/dev/shm")
    enough = in_memory.is_dir() and shutil.disk_usage(in_memory).free > 1 << 30
    folder = Path(tempfile.mkdtemp(prefix="penstock-dropin-", dir=in_memory if enough else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def programs(flavour):
    """A folder for what is compiled, which stays from run to run."""
    folder = flavour.build / "dropin/programs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
