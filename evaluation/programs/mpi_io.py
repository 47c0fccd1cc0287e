"""MPI-IO with the drop-in compared with the MPI library's own: `make evaluation ARGS="program mpi-io"`.

Both run in turns, each several times; ratios are of medians. Page cache, existing files.
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


def run(build: Path, ranks: int, folder: Path, repeats: int, with_penstock: bool) -> dict[str, list[float]]:
    mpiexec = os.environ["PENSTOCK_MPIEXEC"]
    command = [mpiexec, "-n", str(ranks), str(build / "evaluation/bin/mpi_io"), str(folder), str(repeats)]
    if with_penstock:
        command = [script(), *command]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    times = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, seconds = line.partition(";")
        if seconds:
            times[name].append(float(seconds))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-mpi-io-"))
    own, ours = defaultdict(list), defaultdict(list)
    try:
        for _ in range(arguments.turns):
            for times, with_penstock in ((own, False), (ours, True)):
                for name, values in run(arguments.build, arguments.ranks, folder, arguments.repeat,
                                        with_penstock).items():
                    times[name] += values
    finally:
        shutil.rmtree(folder)
    table = Table(title=f"{arguments.ranks} ranks, page cache, existing files; medians")
    for column in ("", "MPI library's own", "with Penstock", "own / Penstock"):
        table.add_column(column, justify="left" if not column else "right")
    for name in own:
        if name == "first":
            continue
        unit, factor = ("us", 1e6) if "each" in name else ("ms", 1e3)
        a, b = statistics.median(own[name]), statistics.median(ours[name])
        table.add_row(name, f"{a * factor:.2f} {unit}", f"{b * factor:.2f} {unit}", f"{a / b:.2f}")
    console = Console()
    console.print(table)
    pairs = zip(ours["64 MiB block-block, write_at_all"], ours["64 MiB block-block, ArrayFile"], strict=True)
    door = statistics.median(mpi / array for mpi, array in pairs)
    console.print("the same write through MPI_File_write_at_all and through ArrayFile, with Penstock, in turns: "
                  f"{door:.3f} (median of pairs)")


if __name__ == "__main__":
    main()
