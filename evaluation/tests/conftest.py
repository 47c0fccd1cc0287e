"""Programs are run here as in the tests of the package."""

import importlib.util
from pathlib import Path

_file = Path(__file__).parents[2] / "tests/python/conftest.py"
_spec = importlib.util.spec_from_file_location("package_conftest", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
INTERRUPTIBLE, run_ranks, mpirun = _module.INTERRUPTIBLE, _module.run_ranks, _module.mpirun
pytest_configure = _module.pytest_configure
