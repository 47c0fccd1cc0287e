"""Non-blocking and blocking collective writes during a computation: `make evaluation ARGS="program nonblocking"`.

With the drop-in and without, at each thread level, in turns. Visible is what a run takes longer than the computation
alone; processor is what all ranks use beyond it, up to a sync. Page cache, existing files, medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from penstock._launch import environment
from penstock._run import script
from rich.console import Console
from rich.table import Table

LEVELS = ("single", "funneled", "serialized", "multiple")


def run(build: Path, ranks: int, words: list[str], with_penstock: bool) -> dict[str, list[list[float]]]:
    """Of each way the numbers of its runs, as the program prints them."""
    command = [os.environ["PENSTOCK_MPIEXEC"], "-n", str(ranks), str(build / "evaluation/bin/nonblocking"), *words]
    command = [script(), *command] if with_penstock else command
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        way, *numbers = line.split(";")
        if len(numbers) == 6:
            found[way].append([float(number) for number in numbers])
    return found


def beyond(found: dict[str, list[list[float]]], way: str, which: int) -> float:
    """Milliseconds, of neighbouring runs."""
    pairs = zip(found[way], found["computation"], strict=True)
    return 1e3 * statistics.median(one[which] - alone[which] for one, alone in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mebibytes", default="16,64")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--seconds", default="0.05", help="of the computation")
    arguments = parser.parse_args()
    table = Table(title=f"{arguments.ranks} ranks, page cache, existing files; medians")
    for column in ("", "blocking: visible", "processor", "non-blocking: visible", "processor", "begin and wait"):
        table.add_column(column, justify="left" if not column else "right")
    folder = tempfile.mkdtemp(prefix="penstock-nonblocking-")
    try:
        for size in arguments.mebibytes.split(","):
            for with_penstock in (False, True):
                for level in LEVELS:
                    words = [folder, level, size, str(arguments.repeat), arguments.seconds]
                    found = run(arguments.build, arguments.ranks, words, with_penstock)
                    calls = 1e3 * statistics.median(one[1] + one[3] for one in found["nonblocking"])
                    table.add_row(f"{size} MiB, {level}, {'with Penstock' if with_penstock else 'MPI alone'}", *(
                        f"{beyond(found, way, which):.1f} ms" for way in ("blocking", "nonblocking") for which in (0, 4)),
                        f"{calls:.1f} ms")
    finally:
        shutil.rmtree(folder)
    Console().print(table)


if __name__ == "__main__":
    main()
