import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "dropin"))

from flavour import Flavour  # noqa: E402  beside the programs of others


@pytest.fixture(scope="session")
def flavour():
    return Flavour(Path(os.environ["PENSTOCK_BUILD"]))


@pytest.fixture(scope="session")
def workshop(flavour):
    """A folder for fetched sources and compiled programs, kept between runs."""
    folder = flavour.build / "judges"
    folder.mkdir(exist_ok=True)
    return folder
