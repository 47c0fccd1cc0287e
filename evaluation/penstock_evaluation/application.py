"""`python -m penstock_evaluation application`: a self-gravitating gas code with dumps, as Thakur, Gropp & Lusk (1996) ran it.

The program is evaluation/jeans, in C++. Each run is an mpiexec of its own, and begins with a restart file; it leaves a
line of JSON, which is a record. Of repetitions the one that took the least time counts, as in the paper.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import typer
from penstock import ArgumentError
from penstock._bench.devices import Device, device
from penstock._bench.running import FOLDER, HINT, ON, OUTPUT, TIMEOUT, Progress, at_least, parse_hints, runs_on

from .background import app

CASES = ["small", "large", "study", "film"]
BACKGROUNDS = ["none", "storage", "all"]
BUFFERS = {"off": "0", "on": "64M"}
HEADER, CELL_OF_A_DUMP = 24, 28  # bytes: six arrays of 4-byte reals, four of characters
MEMORY_OF_A_CELL, MEMORY_OF_A_RANK = 200, 64 << 20  # the solver, its ghosts, a dump; the MPI library and its buffers


@dataclass(frozen=True)
class Case:
    """A size of the application: what it computes, and how often it writes."""

    name: str
    cells: tuple[int, int, int]
    ranks: int
    iterations: int
    dump_every: int = 5

    @property
    def count(self) -> int:
        return self.cells[0] * self.cells[1] * self.cells[2]

    @property
    def dumps(self) -> int:
        return self.iterations // self.dump_every

    @property
    def memory(self) -> int:
        return MEMORY_OF_A_CELL * self.count + MEMORY_OF_A_RANK * self.ranks

    @property
    def disk(self) -> int:
        """Files of one run, and the restart file that it begins with."""
        return (self.dumps + 2) * (CELL_OF_A_DUMP * self.count + 6 * HEADER)

    def smaller(self, factor: int) -> Case:
        x, y, z = (max(n // factor, 8) // 4 * 4 for n in self.cells)
        return replace(self, cells=(x, y, z))


@dataclass(frozen=True)
class Way:
    """How dumps are written: hints, and the background mode."""

    name: str
    hints: dict[str, str]
    background: str = "none"
    about: tuple[tuple[str, str], ...] = ()  #: the part of it in records

    def arguments(self) -> list[str]:
        hints = [text for name, value in self.hints.items() for text in ("--hint", f"{name}={value}")]
        return ["--background", self.background, *hints]


SMALL = Case("small", (128, 128, 64), 8, 20)
LARGE = Case("large", (256, 256, 128), 64, 5)


def ways_of_the_paper(ranks: int) -> list[Way]:
    """Its two-phase routines: every rank writes its part of (*, *, block) at once. Its first routines: all to rank 0."""
    unbuffered = {"active_buffer_size": "0"}
    phases = {"method": "extended", "exchange": "step5", "aggregators": str(ranks), "buffer_size": "4M"}
    return [Way("two-phase, as in the paper", {**unbuffered, **phases}),
            Way("all to rank 0", {**unbuffered, "method": "gather", "exchange": "step5"}),
            Way("auto", unbuffered)]


def ways_of_the_study(methods: list[str]) -> list[Way]:
    return [Way(f"{method}, {background}, buffer {buffer}", {"method": method, "active_buffer_size": BUFFERS[buffer]},
                background, (("method", method), ("background", background), ("buffer", buffer)))
            for method in methods for buffer in BUFFERS for background in BACKGROUNDS]


def find_program(given: Optional[Path]) -> Path:
    """The user's choice, or else the one that `make evaluation` builds."""
    program = Path(given or Path(os.environ.get("PENSTOCK_BUILD", "build/default"), "evaluation/bin/jeans"))
    if program.is_file() and os.access(program, os.X_OK):
        return program
    how = ("Penstock's sources have it: there, `make evaluation ARGS=application` builds it and runs this command, or `cmake -S evaluation/jeans "
           "-B jeans-build && cmake --build jeans-build` makes it with an installed C++ library; name the program with "
           "--program jeans-build/jeans")
    if given:
        raise ArgumentError(f"the application '{program}' is not there, or is no program. {how}")
    raise ArgumentError(f"the application that is measured, jeans, a C++ program, is not built. {how}")


@app.command()
def application(
    cases: str = typer.Option("small,large,study", help="Any of small, large (Tables 1 to 12 of the paper), study (background modes x "
                                                        "active buffering x methods) and film (slices of the density)."),
    on: str = typer.Option("page-cache,paced:bandwidth=200M,latency=1ms", help=ON),
    methods: str = typer.Option("auto,extended,two-phase,gather,sieved,direct", help="Methods of study."),
    scale: int = typer.Option(1, min=1, help="Divides the paper's number of cells in each dimension."),
    small_ranks: int = typer.Option(SMALL.ranks, min=1, help="MPI processes of small, study and film."),
    large_ranks: int = typer.Option(LARGE.ranks, min=1, help="MPI processes of large."),
    iterations: int = typer.Option(SMALL.iterations, min=1, help="Iterations of small and study; a dump every fifth."),
    film_iterations: int = typer.Option(300, min=6, help="Iterations of film, which has six pictures."),
    repeat: int = typer.Option(1, min=1, help="Runs of each kind; the fastest counts."),
    program: Optional[Path] = typer.Option(None, help="The application; default: the one built with the package."),
    output: Path = OUTPUT, folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """A production application: a gas code with dumps for analysis, restart and visualisation."""
    from penstock._bench.patterns import pick

    chosen = pick("case", cases, CASES)
    find_program(program)
    small = replace(SMALL.smaller(scale), ranks=small_ranks, iterations=iterations)
    wanted = [case for case in (small, replace(LARGE.smaller(scale), ranks=large_ranks), replace(small, name="study"),
                                replace(small, name="film", iterations=film_iterations, dump_every=film_iterations // 6))
              if case.name in chosen]
    names = pick("method", methods, _methods())
    at_least(5, "iterations", iterations)
    settings, place = parse_hints(hint or []), folder or output
    devices = [device(run.job["on"]) for run in runs_on(on, folder, output)]
    sized = [_fitting(case, place) for case in wanted]
    runs = Runs(find_program(program).resolve(), output, settings, repeat, mpiexec_timeout, _works(sized, devices, names))
    raise typer.Exit(runs.carry_out(place))


def _methods() -> list[str]:
    from penstock._hints import choices

    return ["auto", *(m for m in choices("method") if m != "auto")]


def _works(cases: list[Case], devices: list[Device], methods: list[str]) -> list[tuple[Case, Device, Way]]:
    found: list[tuple[Case, Device, Way]] = []
    for case in cases:
        if case.name == "film":
            found.append((case, devices[0], Way("auto", {})))
            continue
        ways = ways_of_the_study(methods) if case.name == "study" else ways_of_the_paper(case.ranks)
        found += [(case, device, way) for device in devices for way in ways]
    return found


def _fitting(case: Case, folder: Path) -> Case:
    """The case itself, or a smaller version of the large one if memory or disk is too small. Reported before
    anything runs."""
    from penstock._bench.devices import available_memory
    from penstock._bench.patterns import size_text

    memory, disk = available_memory(), shutil.disk_usage(folder).free
    while case.memory > memory or case.disk > disk:
        short = (f"{'memory' if case.memory > memory else 'disk'}: {case.name}, {'x'.join(map(str, case.cells))} cells on "
                 f"{case.ranks} ranks, wants {max(case.memory if case.memory > memory else case.disk, 1) >> 20} MiB, and there are "
                 f"{(memory if case.memory > memory else disk) >> 20} MiB")
        if case.name != "large" or case.count <= SMALL.count or case.memory - MEMORY_OF_A_CELL * case.count > memory:
            raise ArgumentError(f"too little {short}; take a larger --scale, fewer ranks, or another --folder")
        case = case.smaller(2)
        typer.echo(f"{short}: {'x'.join(map(str, case.cells))} cells are taken, dumps of {size_text(case.count * 24)}")
    return case


@dataclass(frozen=True)
class Runs:
    """What is to be run, and how."""

    program: Path
    output: Path
    settings: dict[str, str]  #: hints of the user
    repeat: int
    seconds: float  #: of a run at most
    works: list[tuple[Case, Device, Way]]

    def carry_out(self, place: Path) -> int:
        """The exit status. What was measured before an error, or ^C, is reported."""
        from .application_report import application_report
        from .pictures import illustrated

        self.output.mkdir(parents=True, exist_ok=True)
        results, status = self.output / "application.jsonl", 0
        results.write_text("")
        try:
            with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=place) as folder:
                status = self._run_all(Path(folder).resolve(), results)
        except KeyboardInterrupt:
            typer.echo("evaluation: interrupted; this is what was measured before", err=True)
            status = 130
        finally:
            records = [json.loads(line) for line in results.read_text().splitlines()]
            if records:
                illustrated(application_report)(records, self.output)
        return status

    def _run_all(self, folder: Path, results: Path) -> int:
        progress, prepared = Progress(len(self.works) * self.repeat), None
        with progress.bar, open(results, "a", encoding="utf-8") as out:
            for case, device, way, repetition in self._turns():
                name = f"{case.name}, {case.ranks} ranks, {device.words}"
                if prepared != case:
                    status = self._prepare(case, folder, progress)
                    prepared = case
                    if status != 0:
                        return status
                record = self._run(case, device, way, folder, lambda line: None)
                if record is None:
                    return 1
                progress.line(name, f"@ {way.name}: {record['seconds']:.2f} s")
                out.write(json.dumps({**record, "repetition": repetition, "repeat": self.repeat}) + "\n")
                out.flush()
        return 0

    def _turns(self) -> Iterator[tuple[Case, Device, Way, int]]:
        """All methods for a case and a device in turn, repeatedly, so that disturbances affect them alike."""
        groups: dict[tuple[str, str], list[tuple[Case, Device, Way]]] = {}
        for work in self.works:
            groups.setdefault((work[0].name, work[1].name), []).append(work)
        for group in groups.values():
            for repetition in range(self.repeat if group[0][0].name != "film" else 1):
                yield from ((*work, repetition) for work in group)

    def _prepare(self, case: Case, folder: Path, progress: Progress) -> int:
        """The restart file that all runs of the case begin with."""
        shutil.rmtree(folder / "restart", ignore_errors=True)
        (folder / "restart").mkdir()
        if case.name == "film":
            return 0
        progress.line(case.name, f"{case.name}: making a restart file of {'x'.join(map(str, case.cells))} cells")
        first = replace(case, iterations=1, dump_every=1)
        return 0 if self._mpirun(first, ["--folder", str(folder / "restart"), "--quiet"], lambda line: None) == 0 else 1

    def _run(self, case: Case, device: Device, way: Way, folder: Path, on_line: Any) -> Optional[dict[str, Any]]:
        from penstock._bench.ranks import library

        files, line = folder / "files", folder / "record.json"
        shutil.rmtree(files, ignore_errors=True)
        line.unlink(missing_ok=True)
        files.mkdir()
        begin = [] if case.name == "film" else ["--restart", str(folder / "restart" / "restart.dat")]
        hints = Way(way.name, {**way.hints, **device.hints, **self.settings}, way.background)
        arguments = ["--folder", str(files), "--record", str(line), "--quiet", *begin, *hints.arguments()]
        if self._mpirun(case, arguments, on_line) != 0 or not line.exists():
            return None
        if case.name == "film":
            self._keep_film(files)
        return {"command": "application", **json.loads(line.read_text()), "case": case.name, "way": way.name, "device": device.words,
                "on": device.name, "dump_every": case.dump_every, "cores": len(os.sched_getaffinity(0)), "mpi": library(),
                "files": {path.name: path.stat().st_size for path in sorted(files.iterdir())}, **dict(way.about)}

    def _keep_film(self, files: Path) -> None:
        frames = self.output / "film"
        shutil.rmtree(frames, ignore_errors=True)
        frames.mkdir(parents=True)
        for path in files.glob("density-*.dat"):
            shutil.copy(path, frames)

    def _mpirun(self, case: Case, arguments: list[str], on_line: Any) -> int:
        from penstock._launch import say_status, watched_mpirun

        program = [str(self.program), "--cells", ",".join(map(str, case.cells)), "--iterations", str(case.iterations),
                   "--dump-every", str(case.dump_every), *arguments]
        try:
            status = watched_mpirun(program, case.ranks, self.seconds, on_line, {})
        except TimeoutError as error:
            typer.echo(f"evaluation: {case.name}: {error}; see --mpiexec-timeout", err=True)
            return 1
        say_status(case.name, status)
        return status
