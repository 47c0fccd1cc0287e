"""What background I/O is measured on: the page cache, O_DIRECT, or a paced device."""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import ArgumentError

RANK_MEMORY = 64 << 20  #: bytes of a rank beside its data: the interpreter and staging buffers
KNOWN = "page-cache, o-direct and paced:NAME=VALUE,..."


@dataclass(frozen=True)
class Device:
    name: str  #: as in --on
    hints: dict[str, str]

    @property
    def is_paced(self) -> bool:
        return self.name.startswith("paced:")

    @property
    def words(self) -> str:
        if self.name == "page-cache":
            return "page cache"
        return "O_DIRECT" if self.name == "o-direct" else self.name.replace(":", ": ", 1).replace(",", ", ")


def device(name: str) -> Device:
    if name == "page-cache":
        return Device(name, {})
    if name == "o-direct":
        return Device(name, {"storage": "direct"})
    if name.startswith("paced:"):
        return Device(name, {"device": name})
    raise ArgumentError(f"--on '{name}' is not known; known are {KNOWN}")


def parse(text: str) -> list[Device]:
    """Devices with commas between; a paced one has commas between its own parameters, too."""
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if names and names[-1].startswith("paced:") and "=" in part and not part.startswith("paced:"):
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    if not names:
        raise ArgumentError(f"--on must name one at least: {KNOWN}")
    return [device(name) for name in dict.fromkeys(names)]


def of_file(file: Any, device: Device) -> str:
    """The device of an open file in the library's words."""
    return str(getattr(file, "device", "")) or device.words


def has_o_direct(folder: Path) -> bool:
    """Whether a page can be written past the page cache into a file in this folder."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    descriptor, path = tempfile.mkstemp(prefix="penstock-bench-", dir=folder)
    os.close(descriptor)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_DIRECT)
        try:
            return os.pwrite(descriptor, page, 0) == len(page)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    finally:
        os.unlink(path)
        page.close()


def room(wanted: int, copies: int, ranks: int) -> int:
    """`wanted` bytes a rank, or fewer: `copies` times that on all ranks fit into half of the free memory."""
    most = available_memory() // 2 // (copies * ranks)
    if wanted <= most:
        return wanted
    unit = 1 << 20 if most >= 1 << 20 else 1 << 12
    return max(most // unit * unit, unit)


def available_memory() -> int:
    """Bytes that this machine, or the container around this process, can still give."""
    with open("/proc/meminfo", encoding="ascii") as f:
        facts = dict(line.split(":", 1) for line in f)
    free = int(facts.get("MemAvailable", facts["MemFree"]).split()[0]) * 1024
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        facts = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text()) - int(facts["inactive_file"])
    except (OSError, ValueError, KeyError):
        return free
    return free if limit == "max" else max(min(free, int(limit) - used), 0)
