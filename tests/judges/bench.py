"""The bench of judges: cases of a suite, each run with the MPI library's own MPI-IO and with Penstock's."""

import fnmatch
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

KNOWN = Path(__file__).with_name("known_differences.txt")
ENDED, PASSED = "ended", "passed"


def status_alone(status, output):
    """A program is one case."""
    return {ENDED: PASSED if status == 0 else f"status {status}"}


@dataclass
class Case:
    """Programs with their words, one after the other in a folder of their own, which {} stands for. A program that is a
    Path is linked there: some start themselves anew. `read` finds outcomes of parts in status and output: PASSED or any
    other word."""

    name: str
    commands: list
    ranks: int = 4
    timeout: int = 300
    variables: dict = field(default_factory=dict)
    read: Callable = status_alone


def run_case(flavour, case, dropin):
    """Its outcomes, in a folder of its own, and its output."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-judge-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    status, output = 0, ""
    variables = {name: value.replace("{}", str(folder)) for name, value in case.variables.items()}
    try:
        for program, *words in case.commands:
            if isinstance(program, Path):
                (folder / program.name).symlink_to(program)
                program = f"./{program.name}"
            words = [program, *(str(word).replace("{}", str(folder)) for word in words)]
            one, said = flavour.try_run(folder, words, case.ranks, dropin, variables, case.timeout)
            status, output = status or one, output + said
        return case.read(status, output), output
    except pytest.fail.Exception as error:  # it did not end
        return {ENDED: "no end"}, str(error)
    finally:
        shutil.rmtree(folder)


def paragraph_for(suite, name):
    """Of the standard, by which this case may fail with Penstock alone; None: it must not."""
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            suites, names, paragraph = (part.strip() for part in line.split("|", 2))
            if fnmatch.fnmatchcase(suite, suites) and fnmatch.fnmatchcase(name, names):
                return paragraph
    return None


def judge(flavour, suite, cases, record):
    """Fails if a case passes without Penstock but not with it, unless that is a known difference. `record`
    (pytest's record_property) gets what passed either way."""
    own, ours, lines, words = 0, 0, [], []
    for case in cases:
        (native, _), (penstock, output) = (run_case(flavour, case, dropin) for dropin in (False, True))
        own += sum(outcome == PASSED for outcome in native.values())
        ours += sum(outcome == PASSED for outcome in penstock.values())
        for part in native:
            outcome = penstock.get(part, f"not run ({penstock.get(ENDED, '')})")
            name = case.name if part == ENDED else f"{case.name}::{part}"
            if native[part] != PASSED or outcome == PASSED:
                if native[part] != outcome:
                    lines.append(f"{name}: {native[part]} without Penstock, {outcome} with it")
                continue
            paragraph = paragraph_for(suite, name)
            lines.append(f"{name}: passed without Penstock, {outcome} with it ({paragraph or 'a defect'})")
            if paragraph is None:
                words.append(f"{lines[-1]}:\n{output[-3000:]}")
    summary = f"{suite}, {flavour.name}: {own} passed without Penstock, {ours} with it"
    record("summary", summary)
    with open(flavour.build / "judges.txt", "a") as report:
        print(summary, *(f"  {line}" for line in lines), sep="\n", file=report)
    assert own > 0, f"{suite}: nothing passes without Penstock; {lines}"
    assert not words, "\n".join([summary, *words])
