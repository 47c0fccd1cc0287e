"""GlusterFS, a network file system whose clients have caches of their own."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from hosts import FOLDER, Hosts

BRICKS = [FOLDER / "brick1", FOLDER / "brick2"]
#: Of the sandbox, each in memory.
STATE = ["/var/lib/glusterd", "/var/run/gluster", "/var/log/glusterfs"]


def is_there() -> bool:
    return all(shutil.which(name) for name in ("glusterd", "gluster", "glusterfs")) and os.path.exists("/dev/fuse")


class Volume:
    """Of two bricks, which the front end serves; each host has it at `at`, from `with` to its end.

    It is as it comes but for `options`, which are set before any client mounts it: clients that exchange their graph
    under open files may keep pages of before. At `asked` kernels ask for what a name and a size are: for what a test
    reads without Penstock.
    """

    def __init__(self, hosts: Hosts, options: dict[str, str] | None = None):
        self._hosts, self._options = hosts, options or {}
        self.at, self.asked = FOLDER / "volume", FOLDER / "asked"

    def __enter__(self) -> "Volume":
        for folder in STATE:
            os.makedirs(folder, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
        for brick in BRICKS:
            brick.mkdir()
        subprocess.run(["glusterd", "-p", str(FOLDER / "glusterd.pid")], check=True, timeout=60)
        self.do("create", *(f"front:{brick}" for brick in BRICKS), "force")
        for option in self._options.items():
            self.do("set", *option)
        self.do("start")
        for name in self._hosts.names:
            for at, options in ((self.at, "rw"), (self.asked, "attribute-timeout=0,entry-timeout=0")):
                self._hosts.on(name, "mkdir", str(at))
                self._hosts.on(name, "mount", "-t", "glusterfs", "-o", options, "front:/shared", str(at))
        return self

    def __exit__(self, *_) -> None:
        for name in self._hosts.names:
            if (FOLDER / name).exists():  # else it is off
                self._hosts.on(name, "umount", "-l", str(self.at), str(self.asked))
                self._hosts.on(name, "rmdir", str(self.at), str(self.asked))
        self.do("stop", "force")
        (process,) = (int(text) for text in (FOLDER / "glusterd.pid").read_text().split())
        os.kill(process, 15)
        for brick in BRICKS:
            shutil.rmtree(brick)
        for folder in STATE:
            subprocess.run(["umount", "-l", folder], check=True)

    def on_bricks(self, name: str) -> list[Path]:
        """The files of a name, as its servers have them."""
        return [path for brick in BRICKS for path in brick.rglob(name) if ".glusterfs" not in path.parts]

    @staticmethod
    def do(what: str, *words: str) -> None:
        """Retries until the server answers."""
        command = ["gluster", "--mode=script", "volume", what, "shared", *words]
        for _ in range(30):
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            if done.returncode == 0:
                return
            time.sleep(0.5)
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
