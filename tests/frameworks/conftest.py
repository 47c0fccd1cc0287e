"""Programs are run here as in the tests of the package."""

import importlib.util
import os
import socket
from pathlib import Path

import pytest

_file = Path(__file__).parents[1] / "python/conftest.py"
_spec = importlib.util.spec_from_file_location("package_conftest", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
run_ranks, run_once, mpirun, pytest_configure = (_module.run_ranks, _module.run_once, _module.mpirun,
                                                 _module.pytest_configure)


@pytest.fixture(autouse=True)
def meeting_place(monkeypatch):
    """Where the ranks of torch.distributed and of jax.distributed find each other."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
