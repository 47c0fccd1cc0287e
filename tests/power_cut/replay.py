"""The states that a power cut may leave of the files recorded by recorder.c.

After each record there are several states: everything is there; what was not synced has lost its bytes, or its names,
too; or any part of that is there, in any order.
"""

import os
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

MARK = "/mark-"  #: the name of this folder says how far the program was; it belongs to no state
VARIANTS = ("all", "without bytes", "without names", *(f"some, {i}" for i in range(6)))


@dataclass
class Record:
    what: str
    inode: int = 0
    numbers: tuple = ()
    paths: tuple = ()
    data: bytes = b""


def read_log(path):
    """The records of a log, in order."""
    text, records, at = Path(path).read_bytes(), [], 0
    while at < len(text):
        end = text.index(b"\n", at)
        what, *words = text[at:end].decode().split(" ")
        at = end + 1
        record = Record(what)
        if what in ("rename", "unlink", "rmdir"):
            record.paths = tuple(words)
        elif words:
            record.inode = int(words[0])
            if what in ("create", "mkdir"):
                record.paths = (words[1],)
            else:
                record.numbers = tuple(int(word) for word in words[1:])
        if what == "write":
            record.data = text[at:at + record.numbers[1]]
            at += record.numbers[1]
        records.append(record)
    return records


@dataclass
class Node:
    """A file or a folder; inode numbers may be reused."""

    inode: int
    folder: bool = False
    synced: bytes = b""
    changes: list = field(default_factory=list)  #: since the last sync

    def content(self, chosen):
        """Its bytes, with those changes for which `chosen` says so."""
        content = bytearray(self.synced)
        for record in self.changes:
            if not chosen(record):
                continue
            if record.what == "size":
                content[record.numbers[0]:] = bytes(max(0, record.numbers[0] - len(content)))
            elif record.what == "hole":
                begin, end = (min(number, len(content)) for number in record.numbers)
                content[begin:end] = bytes(end - begin)
            else:
                begin, length = record.numbers
                content.extend(bytes(max(0, begin - len(content))))
                content[begin:begin + length] = record.data
        return bytes(content)


class Disk:
    """The files of a folder, partly on the device and partly only in memory."""

    def __init__(self, root):
        self.root = str(root)
        self.top = os.stat(root).st_ino
        self.nodes = {self.top: Node(self.top, folder=True)}  #: the newest of each inode
        self.changes = []  #: of names: (record, its node); those that are not durable are listed here
        self.durable = {}  #: path: node

    def folder_of(self, inode):
        node = self.nodes[inode]
        return self.root if inode == self.top else next(
            path for path, other in self.names(lambda _: True).items() if other is node)

    def names(self, chosen):
        names = dict(self.durable)
        for record, node in self.changes:
            if chosen(record):
                apply(names, record, node)
        return names

    def step(self, record):
        if record.what in ("create", "mkdir"):
            self.nodes[record.inode] = Node(record.inode, record.what == "mkdir")
            self.changes.append((record, self.nodes[record.inode]))
        elif record.paths:
            self.changes.append((record, None))
        elif record.what == "syncfs":
            for node in self.nodes.values():
                keep(node)
            self.durable, self.changes = self.names(lambda _: True), []
        elif record.what == "sync" and self.nodes[record.inode].folder:
            self.sync_folder(self.folder_of(record.inode))
        elif record.what == "sync":
            keep(self.nodes[record.inode])
        else:
            self.nodes[record.inode].changes.append(record)

    def sync_folder(self, folder):
        rest = []
        for record, node in self.changes:
            if all(os.path.dirname(path) == folder for path in record.paths):
                apply(self.durable, record, node)
            else:
                rest.append((record, node))
        self.changes = rest

    def state(self, variant):
        """{path: (inode, its bytes; None: a folder)}."""
        choose = random.Random(variant)
        bytes_chosen = names_chosen = lambda _: variant == "all"
        if variant == "without bytes":
            names_chosen = lambda _: True  # noqa: E731
        elif variant.startswith("some"):
            # Names change in the order in which they were changed: file systems have a journal of them.
            kept = {id(record) for record, _ in self.changes[:choose.randint(0, len(self.changes))]}
            names_chosen = lambda record: id(record) in kept  # noqa: E731
            bytes_chosen = lambda _: choose.random() < 0.5  # noqa: E731
        return {path: (node.inode, None if node.folder else node.content(bytes_chosen))
                for path, node in self.names(names_chosen).items() if MARK not in path}


def keep(node):
    node.synced, node.changes = node.content(lambda _: True), []


def apply(names, record, node):
    if record.what in ("create", "mkdir"):
        names[record.paths[0]] = node
    elif record.what == "rename":
        old, new = record.paths
        for path in [path for path in names if path == old or path.startswith(old + "/")]:
            names[new + path[len(old):]] = names.pop(path)
    else:
        names.pop(record.paths[0], None)


def states(log, root):
    """Of each moment and variant: (how far the program was, a text that names the state, the files)."""
    disk, far, seen = Disk(root), 0, set()
    for number, record in enumerate(read_log(log)):
        disk.step(record)
        if record.what == "mkdir" and MARK in record.paths[0]:
            far = int(re.search(MARK + r"(\d+)$", record.paths[0])[1])
        for variant in VARIANTS:
            files = disk.state(variant)
            key = (far, tuple(sorted(files.items(), key=lambda item: item[0])))
            if key not in seen:
                seen.add(key)
                yield far, f"record {number} ({record.what} {' '.join(record.paths)}), {variant}", files


def lay_out(files, root, folder):
    """Makes the files of a state in `folder`, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    made = {}
    for path, (inode, content) in sorted(files.items()):
        to = Path(folder) / os.path.relpath(path, root)
        if content is None:
            to.mkdir(parents=True, exist_ok=True)
        elif to.parent.is_dir():  # else its folder is not there, and so neither is it
            to.write_bytes(content)
            made[inode] = to.stat().st_ino
    for path in Path(folder).glob("*.attrs.json.*"):  # those that are named by the inode of their file
        inode = path.suffix[1:]
        if inode.isdigit():
            path.rename(path.with_suffix(f".{made.get(int(inode), 0)}"))
