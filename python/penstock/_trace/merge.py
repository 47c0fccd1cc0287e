"""One file of all ranks for Perfetto and chrome://tracing: JSON in the Trace Event Format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from .events import ACCESSES, CALLS, IN_FLIGHT, RUN_QUEUE, Trace
from .reading import Records

#: Each thread has so many numbers: one for each row that its events take, since rows must nest.
ROWS = 64


def rows_of(events: Records) -> np.ndarray:
    """In which row of its thread each event goes, so that those of a row nest. Events begin in ascending order.

    Operations in flight together take turns in a thread, so that their spans may overlap.
    """
    order = np.lexsort((-events["duration"], events["begin"]))
    begins, ends = events["begin"].tolist(), (events["begin"] + events["duration"]).tolist()
    threads = (events["process"].astype("u8") << np.uint64(32) | events["lane"]).tolist()
    rows = np.zeros(len(events), "u2")
    open_ends: dict[int, list[list[int]]] = {}
    for i in order.tolist():
        stacks = open_ends.setdefault(threads[i], [[]])
        row = next((r for r, stack in enumerate(stacks) if fits(stack, begins[i], ends[i])), len(stacks))
        row = min(row, ROWS - 1)
        if row == len(stacks):
            stacks.append([])
        stacks[row].append(ends[i])
        rows[i] = row
    return rows


def fits(open_ends: list[int], begin: int, end: int) -> bool:
    """Whether a span nests in those that are open in a row; what has ended before it is closed."""
    while open_ends and open_ends[-1] <= begin:
        open_ends.pop()
    return not open_ends or end <= open_ends[-1]


def metadata(trace: Trace, rows: np.ndarray, events: Records) -> Iterator[dict[str, object]]:
    for number, process in enumerate(trace.processes):
        name = f"{process.who} ({process.program} on {process.host})"
        yield {"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}}
        yield {"ph": "M", "pid": number, "name": "process_sort_index", "args": {"sort_index": number}}
    used = np.unique(np.stack([events["process"], events["lane"], rows]).astype("i8"), axis=1)
    for process_number, lane, row in used.T.tolist():
        name = trace.lane_name(process_number, lane) + (f", row {row + 1}" if row else "")
        thread = lane * ROWS + row
        yield {"ph": "M", "pid": process_number, "tid": thread, "name": "thread_name", "args": {"name": name}}
        yield {"ph": "M", "pid": process_number, "tid": thread, "name": "thread_sort_index",
               "args": {"sort_index": thread}}


def category(kind: str) -> str:
    return "call" if kind in CALLS else "file" if kind in ACCESSES else "phase"


def spans(trace: Trace, events: Records, rows: np.ndarray) -> Iterator[str]:
    """Formatted by hand: a million of them take seconds so."""
    heads = [f'"name":{json.dumps(kind)},"cat":"{category(kind)}"' for kind in trace.kinds]
    files = [f',"file":{json.dumps(name)}' if name else "" for name in trace.files]
    for event, row in zip(events.tolist(), rows.tolist()):
        process, lane, kind, file, begin, duration, offset, size, operation = event
        where = f',"offset":{offset}' if offset >= 0 else ""
        call = f',"call":{operation}' if operation else ""
        yield (f'{{"ph":"X",{heads[kind]},"pid":{process},"tid":{lane * ROWS + row},"ts":{begin / 1e3:.3f},'
               f'"dur":{duration / 1e3:.3f},"args":{{"bytes":{size}{where}{call}{files[file]}}}}}')


def in_flight(trace: Trace) -> Iterator[dict[str, object]]:
    """Operations that end after the call that began them: rows of their own."""
    for number, event in enumerate(trace.of(IN_FLIGHT)):
        both = {"cat": IN_FLIGHT, "name": f"call {event['operation']}", "id": number, "pid": int(event["process"]),
                "tid": int(event["lane"]) * ROWS}
        yield {**both, "ph": "b", "ts": int(event["begin"]) / 1e3,
               "args": {"bytes": int(event["bytes"]), "file": trace.files[event["file"]]}}
        yield {**both, "ph": "e", "ts": int(event["begin"] + event["duration"]) / 1e3}


def processor_use(trace: Trace) -> Iterator[dict[str, object]]:
    """Counters: what part of the time a thread ran, and waited for a core."""
    for event in trace.of(RUN_QUEUE):
        if event["duration"] == 0:
            continue
        name = f"{trace.lane_name(int(event['process']), int(event['lane']))}: % of a core"
        yield {"ph": "C", "pid": int(event["process"]), "name": name, "ts": int(event["begin"]) / 1e3,
               "args": {"running": round(100 * float(event["offset"]) / float(event["duration"]), 1),
                        "waiting for a core": round(100 * float(event["bytes"]) / float(event["duration"]), 1)}}


def write_json(trace: Trace, file: TextIO) -> int:
    """Returns how many events it wrote."""
    special = np.isin(trace.events["kind"], [trace.kinds.index(IN_FLIGHT), trace.kinds.index(RUN_QUEUE)])
    events = trace.events[~special]
    rows = rows_of(events)
    about = {"problems": trace.problems, "files": trace.files[1:]}
    file.write(f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n')
    lines = [json.dumps(entry) for entry in metadata(trace, rows, events)]
    lines += [json.dumps(entry) for entry in in_flight(trace)]
    lines += [json.dumps(entry) for entry in processor_use(trace)]
    file.write(",\n".join(lines))
    for line in spans(trace, events, rows):
        file.write(",\n" + line)
    file.write("\n]}\n")
    return len(trace.events)
