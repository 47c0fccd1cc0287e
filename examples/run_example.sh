#!/usr/bin/env bash
# Runs an example on 4 ranks; NumPy compares the blocks.npy that it leaves.
#   run_example.sh MPIEXEC PROGRAM PYTHON
set -euo pipefail
mpiexec=$1 program=$2 python=$3
rm -f blocks.npy
timeout 60 "$mpiexec" -n 4 "$program"
"$python" - <<'PYTHON'
import numpy as np

blocks = np.load("blocks.npy", mmap_mode="r")
rank = np.arange(512) // 256  # of a block, in its dimension of a grid of 2 x 2
assert blocks.dtype == np.dtype("<f8"), blocks.dtype
assert np.array_equal(blocks, 2 * rank[:, None] + rank), blocks
PYTHON
