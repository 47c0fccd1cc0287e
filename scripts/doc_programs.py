"""Writes the Python programs of documents into a folder, one file each: lint.sh has mypy read them.

    python scripts/doc_programs.py FOLDER README.md...

A block that imports nothing is a piece of a program: it is preceded by what it assumes.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
GIVEN = """from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI

comm: MPI.Comm = MPI.COMM_WORLD
shape = (512, 512)
d: ps.Distribution = ps.distribute(shape, comm)
f: ps.File
u, v = np.zeros(shape), np.zeros(shape)
section: ps.Section = d.section
step: Any

"""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in map(Path, sys.argv[2:]):
        text = page.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            program = block[1] if "import" in block[1] else GIVEN + block[1]
            (folder / f"{page.stem}_line_{line}.py").write_text(program + "\n")


if __name__ == "__main__":
    main()
