"""save_tensors and load_tensors with JAX itself: several processes of two CPU devices each."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jax")
ROOT = Path(__file__).resolve().parents[2]


def test_sharded_arrays_are_saved_and_loaded(mpirun, tmp_path):
    """And what the gate replays is what JAX has."""
    mpirun("import runpy, sys\nsys.argv = ['', 'x.safetensors', 'jax.json']\nrunpy.run_module('jax_protocol')", 2)
    known = json.loads((ROOT / "tests/python/frameworks_protocol.json").read_text())["jax"]
    assert json.loads((tmp_path / "jax.json").read_text()) == known


def test_the_example(mpirun):
    text = (ROOT / "examples/python/checkpoint_jax.py").read_text()
    assert "from the checkpoint" in mpirun(text, 4)
