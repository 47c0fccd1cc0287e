"""The random models with fresh seeds, at odd rank counts, on cores kept busy by other processes.

    python tests/soak.py build/FLAVOUR [--minutes 30] [--ranks 5 9] [--seed N] [--strangers N]

Ends at the first failure or hang, with what replays it and a status that is not 0. No rank is left behind.
"""

import argparse
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from penstock._launch import environment, find_mpiexec, kill_session

RANKS = (2, 3, 4, 5, 7, 9, 13)


@dataclass(frozen=True)
class Round:
    """One run of a model."""

    model: str
    ranks: int
    cases: int
    repeat: int
    options: tuple[str, ...]
    nodes: int  # that MPICH takes the ranks for
    seed: int

    def command(self, build: Path) -> list[str]:
        program = build.resolve() / "tests" / "mpi" / self.model
        return [find_mpiexec(), "-n", str(self.ranks), str(program), "--seed", str(self.seed),
                "--cases", str(self.cases),
                "--repeat", str(self.repeat), "--limit", "300", *self.options]

    def settings(self) -> dict[str, str]:
        return {"MPIR_CVAR_NUM_CLIQUES": str(self.nodes)} if self.nodes > 1 else {}

    def __str__(self) -> str:
        nodes = f", {self.nodes} cliques" if self.nodes > 1 else ""
        return (f"{self.model} seed {self.seed}, {self.ranks} ranks{nodes}, {self.cases} cases, "
                f"each {self.repeat} times {' '.join(self.options)}")


def burn(parent: int) -> None:
    while os.getppid() == parent:  # ends with it, however that ends
        for _ in range(10**6):
            pass


def choose(choices: random.Random, ranks: list[int]) -> Round:
    """Half of the rounds stress node proxies; many ranks get fewer cases, since they share few cores."""
    count = choices.choice(ranks)
    stressed = choices.random() < 0.5
    background = choices.random() < 0.3
    cases = max(2, (8 if background else 90) // count)
    options = (*(["--stress"] if stressed else []), *(["--steps", "25"] if background else []))
    return Round(model="background_model" if background else "random_model", ranks=count, cases=cases,
                 repeat=choices.choice((2, 3, 5)), options=options, nodes=choices.choice((1, 1, 2, 3)),
                 seed=choices.randrange(1, 2**31))


def run(round_: Round, build: Path, seconds: float) -> tuple[int, str]:
    """Exit status (124: it did not end) and output."""
    process = subprocess.Popen(round_.command(build), env={**environment(), **round_.settings()}, text=True,
                               start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        return 124, process.communicate()[0]
    finally:
        kill_session(process.pid)


def report(round_: Round, build: Path, status: int, output: str) -> None:
    print(output[-20000:])
    what = "did not end" if status == 124 else f"ended with status {status}"
    print(f"FAILED: {round_} {what}")
    settings = "".join(f"{name}={value} " for name, value in round_.settings().items())
    named = re.search(r"replay: mpiexec -n \d+ (\S+) (.*)", output)
    if named:
        print(f"replay: {settings}mpiexec -n {round_.ranks} {build}/tests/mpi/{named[1]} {named[2]}")
    else:
        print(f"replay: {settings}{' '.join(round_.command(build))}")


def write_report(build: Path, done: list[Round], failed: Optional[Round]) -> None:
    """In JUnit's format: a test for each run."""
    cases = [f'<testcase classname="soak" name="{round_}"/>' for round_ in done]
    if failed:
        cases.append(f'<testcase classname="soak" name="{failed}"><failure/></testcase>')
    (build / "soak.xml").write_text(f'<testsuite name="soak">{"".join(cases)}</testsuite>\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS))
    parser.add_argument("--seed", type=int, default=None, help="of the rounds; default: a fresh one")
    parser.add_argument("--strangers", type=int, default=os.cpu_count(), help="processes that burn the cores")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    choices = random.Random(seed)
    print(f"soak: {options.minutes:g} minutes, --seed {seed}, {options.strangers} strangers", flush=True)
    strangers = [multiprocessing.Process(target=burn, args=(os.getpid(),), daemon=True)
                 for _ in range(options.strangers)]
    begin, done = time.monotonic(), list[Round]()
    try:
        for stranger in strangers:
            stranger.start()
        while time.monotonic() - begin < 60 * options.minutes:
            round_ = choose(choices, options.ranks)
            print(f"  {round_}", flush=True)
            status, output = run(round_, options.build, 1200)
            if status != 0:
                report(round_, options.build, status, output)
                write_report(options.build, done, round_)
                return 1
            done.append(round_)
    finally:
        for stranger in strangers:
            stranger.kill()
    minutes = (time.monotonic() - begin) / 60
    write_report(options.build, done, None)
    cases, used = sum(r.cases * r.repeat for r in done), sorted({r.ranks for r in done})
    print(f"soak: {cases} cases in {len(done)} runs on {', '.join(map(str, used))} ranks, "
          f"{minutes:.1f} minutes, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
