"""What `python -m penstock_evaluation all` runs: one entry for each experiment.

An entry has a command of the evaluation and its arguments, and the records that are compared with a paper. The command
leaves NAME.jsonl and its plots in its --output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock._bench.ratios import Record

from .application_findings import application_findings
from .application_report import application_report
from .background_findings import abt_findings
from .background_report import abt_report, split_report
from .findings import Finding
from .outofcore_report import findings as outofcore_findings
from .outofcore_report import outofcore_report
from .peers_report import peers_report
from .pictures import illustrated
from .sections_report import findings as sections_findings
from .sections_report import sections_report
from .split_findings import split_findings
from .steps_findings import peers_findings, steps_findings
from .steps_report import steps_report

Report = Callable[[list[Record], Path], None]


@dataclass(frozen=True)
class Experiment:
    name: str  #: of the command and of its results
    title: str
    arguments: str  #: of a run on few cores, in minutes
    small: str  #: of one that only shows that everything works, in seconds
    report: Report  #: prints its tables, and draws
    findings: Callable[[list[Record]], list[Finding]]


_PATTERNS = "block-block,column-block,block3,block4,halo,gaps,element-gaps,tiles"

EXPERIMENTS = {e.name: e for e in (
    Experiment("sections", "Sections of arrays", "--patience 0.7 --longest 4",
               "--tables 1,4 --rows I --repeat 1 --methods direct,dynamic,auto --on page-cache,paced:bandwidth=1G,latency=100us",
               illustrated(sections_report), sections_findings),
    Experiment("outofcore", "Arrays larger than memory", "--ranks 8 --size 1024 --iterations 2 --repeat 2 --patience 4",
               "--ranks 2 --size 64 --memory 16K --loop-memory 64K --steps 4 --iterations 2 --repeat 1 --on paced:bandwidth=1G,latency=10us",
               illustrated(outofcore_report), outofcore_findings),
    Experiment("steps", "The steps of the two-phase exchange",
               "--ranks 4,16 --sizes 16M,64M --steps direct,step1,step2,step3,step4,step5,node --operations write --repeat 5 --patience 2 "
               "--on page-cache,o-direct,paced:bandwidth=1G,latency=200us,writers=4",
               "--ranks 2,4 --sizes 256K,1M --repeat 1 --operations write --on page-cache", illustrated(steps_report), steps_findings),
    Experiment("peers", "Beside the MPI library's own MPI-IO", f"--ranks 4 --size 32M --patterns {_PATTERNS} --repeat 5 --patience 3",
               "--ranks 2 --size 1M --patterns gaps --repeat 1", illustrated(peers_report), peers_findings),
    Experiment("split", "Split collectives", "--ranks 4 --size 32M --repeat 3 --patience 8",
               "--ranks 2 --size 256K --slab 64K --repeat 1 --sample 0 --on page-cache", illustrated(split_report), split_findings),
    Experiment("abt", "Active buffering",
               "--ranks 4 --size 8M --grid 768 --iterations 64 --snapshots 1,4,16,64 --repeat 3 --jacobi-repeat 3 --patience 6 "
               "--requests 128K,1M,4M --on page-cache,o-direct,paced:bandwidth=100M,latency=1ms",
               "--ranks 2 --size 512K --grid 64 --iterations 4 --snapshots 1 --repeat 2 --requests 128K,256K --variances 0,1 "
               "--on page-cache,paced:bandwidth=400M", illustrated(abt_report), abt_findings),
    Experiment("application", "A production application", "--cases small,study --on paced:bandwidth=200M,latency=1ms --methods auto,extended,gather",
               "--cases small,study --scale 8 --small-ranks 2 --methods auto --on page-cache", illustrated(application_report), application_findings),
)}
