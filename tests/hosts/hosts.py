#!/usr/bin/env python3
"""Several hosts on one machine, to run MPI programs over.

    python tests/hosts/hosts.py 2x4 ofi cyclic PROGRAM [ARGUMENT...]
        runs PROGRAM over 2 hosts with 4 ranks each; ofi, ucx (MPICH) or tcp (Open MPI) between them;
        ranks in block or cyclic order; for TIMEOUT seconds at most (a variable; 600).
        CONTRIBUTING.md says what to source before
    python tests/hosts/hosts.py pytest [ARGUMENT...]
        the tests of this folder

A host is a set of namespaces (network, mounts, processes, host name, IPC) with a process 1 of its
own. So hosts differ in address, host name, process ids, IPC and /dev/shm; all else of the file
system, /tmp for one, is common to them, and plays the shared file system.

All of it happens in a *sandbox*: namespaces of this process, in which it is process 1 itself.
Whatever is made there (bridge, wires, hosts, ranks, what is in /dev/shm) has names and addresses that
nobody outside can see, and the kernel takes it away when this process ends, however it ends.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from penstock._core import mpi_library_version
from penstock._launch import environment, find_mpiexec, kill_session

NETWORK = "10.77.0"  # of the sandbox: the front end has .254, host i has .i
NAMESPACES = ("--net", "--uts", "--ipc", "--mount", "--pid")
UNSHARE = ("unshare", *NAMESPACES, "--fork", "--kill-child")
SSH = Path(__file__).with_name("ssh.sh")
FOLDER = Path("/dev/shm")  # of the sandbox: a file for each host has the id of its process 1

# Process 1 of a host. It writes its id while /proc is still the sandbox's, and ends with the sandbox's.
INIT = """
read -r id rest </proc/self/stat
hostname "$1" && mount -t proc proc /proc && mount -t sysfs sysfs /sys &&
mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
ip link set lo up && echo "$id" && exec cat
"""
# Set-up of a sandbox.
PREPARE = """
mount -t tmpfs -o mode=1777 tmpfs /dev/shm && touch /dev/shm/addresses &&
mount --bind /dev/shm/addresses /etc/hosts && hostname front && ip link set lo up
"""
TRIAL = f"""
{PREPARE.strip()} && ip link add front type bridge && ip link add wire type veth peer name eth0 &&
nsenter -t 1 --mount {' '.join(UNSHARE)} mount -t proc proc /proc
"""


def enter_sandbox() -> None:
    """Starts this program again in a sandbox, unless it is in one. If that fails, PENSTOCK_NO_SANDBOX says why."""
    if "PENSTOCK_SANDBOX" in os.environ or "PENSTOCK_NO_SANDBOX" in os.environ:
        return
    sandbox = [*UNSHARE, "--mount-proc", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    try:
        subprocess.run([*sandbox, "sh", "-c", TRIAL], check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        os.environ["PENSTOCK_NO_SANDBOX"] = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        return
    os.environ["PENSTOCK_SANDBOX"] = "entered"
    script = PREPARE.strip() + ' && exec "$@"'
    os.execvp(sandbox[0], [*sandbox, "sh", "-c", script, "sandbox", sys.executable, *sys.argv])


def transports() -> list[str]:
    """Of the MPI that Penstock is built with, those that hosts can talk by."""
    version = mpi_library_version()
    if "Open MPI" in version:
        return ["tcp"]
    device = next((line for line in version.splitlines() if "Device:" in line), "")
    return [name for name in ("ofi", "ucx") if name in device]


def _is_open_mpi_4() -> bool:
    return "Open MPI v4" in mpi_library_version()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Hosts:
    """Hosts `host1` to `hostN`, from `with` to its end."""

    def __init__(self, count: int):
        self.names = [f"host{i}" for i in range(1, count + 1)]
        self._inits: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> "Hosts":
        try:
            self._lay_wires()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.all_off()
        for link in (*self.names, "front"):  # the kernel alone would take long
            subprocess.run(["ip", "link", "delete", link], check=False, stderr=subprocess.DEVNULL)

    def _lay_wires(self) -> None:
        (FOLDER / "addresses").write_text("".join(
            [f"127.0.0.1 localhost\n{NETWORK}.254 front\n"]
            + [f"{NETWORK}.{i} {name}\n" for i, name in enumerate(self.names, 1)]))
        ip("link", "add", "front", "type", "bridge")
        ip("address", "add", f"{NETWORK}.254/24", "dev", "front")
        ip("link", "set", "front", "up")
        for i, name in enumerate(self.names, 1):
            self._add(name, f"{NETWORK}.{i}/24")

    def _add(self, name: str, address: str) -> None:
        log = FOLDER / f"{name}.log"
        with log.open("w") as errors:
            init = subprocess.Popen([*UNSHARE, "sh", "-c", INIT, "init", name], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self._inits[name] = init
        process = init.stdout.readline().strip()
        if not process:
            raise RuntimeError(f"{name} did not start: {log.read_text()}")
        (FOLDER / name).write_text(process)
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", process)
        ip("link", "set", name, "master", "front", "up")
        self.on(name, "ip", "address", "add", address, "dev", "eth0")
        self.on(name, "ip", "link", "set", "eth0", "up")

    def on(self, name: str, *command: str) -> str:
        """Runs a command on one host and returns its output."""
        process = (FOLDER / name).read_text()
        done = subprocess.run(["nsenter", "-t", process, *NAMESPACES, "--", *command], check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout

    def plug(self, name: str, state: str) -> None:
        """Pulls the cable of a host ("down"), or puts it back ("up")."""
        ip("link", "set", name, state)

    def power_off(self, name: str) -> None:
        """Kills all processes of a host. Other hosts receive nothing more from it, not even the end of connections."""
        subprocess.run(["ip", "link", "set", name, "down"], check=False, stderr=subprocess.DEVNULL)
        init = self._inits.pop(name)
        process = FOLDER / name
        if process.exists():
            os.kill(int(process.read_text()), signal.SIGKILL)  # with process 1 the kernel ends them all
            process.unlink()
        init.kill()
        init.communicate()

    def all_off(self) -> None:
        for name in list(self._inits):
            self.power_off(name)

    def start(self, command: list[str], each: int, transport: str, placement: str = "block",
              options: tuple[str, ...] = (), settings: Optional[dict[str, str]] = None) -> "Program":
        """Runs an MPI program with `each` ranks a host."""
        launch = _mpich if transport in ("ofi", "ucx") else _open_mpi
        words, variables = launch(self.names, each, transport, placement)
        words = [find_mpiexec(), *options, *words, "-n", str(len(self.names) * each), *command]
        hint = (f"replay: python tests/hosts/hosts.py {len(self.names)}x{each} {transport} {placement} "
                + " ".join(command))
        return Program(self, words, {**environment(), "TMPDIR": str(FOLDER), **variables, **(settings or {})}, hint)

    def run(self, command: list[str], each: int, transport: str, placement: str = "block", timeout: float = 120,
            **more) -> str:
        """Its output, once it has ended successfully."""
        return self.start(command, each, transport, placement, **more).finish(timeout)


def _mpich(names: list[str], each: int, transport: str, placement: str) -> tuple[list[str], dict[str, str]]:
    in_a_row = each if placement == "block" else 1
    words = ["-launcher", "ssh", "-launcher-exec", str(SSH), "-iface", "front",
             "-hosts", ",".join(f"{name}:{in_a_row}" for name in names)]
    wires = {"ofi": {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"},
             "ucx": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}}
    return words, {"MPIR_CVAR_CH4_NETMOD": transport, **wires[transport]}


def _open_mpi(names: list[str], each: int, transport: str, placement: str) -> tuple[list[str], dict[str, str]]:
    order = f"ppr:{each}:node" if placement == "block" else "node"
    words = ["--map-by", order + ":oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1",
             "--mca", "btl", f"self,{transport},{'vader' if _is_open_mpi_4() else 'sm'}",
             "--mca", "btl_tcp_if_include", "eth0", "--host", ",".join(f"{name}:{each}" for name in names)]
    # The launcher is a project of its own since Open MPI 5.
    own = "OMPI_MCA_plm_rsh_" if _is_open_mpi_4() else "PRTE_MCA_plm_ssh_"
    net = "OMPI_MCA_oob_tcp_if_include" if _is_open_mpi_4() else "PRTE_MCA_prte_if_include"
    return words, {own + "agent": str(SSH), own + "no_tree_spawn": "1", net: f"{NETWORK}.0/24"}


class Program:
    """A program running on some hosts."""

    def __init__(self, hosts: Hosts, words: list[str], variables: dict[str, str], hint: str):
        self.hosts, self.hint = hosts, hint
        self._output = FOLDER / "output"
        with self._output.open("w") as output:
            self._process = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                                             stderr=subprocess.STDOUT, start_new_session=True)

    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def wait_until(self, condition: Callable[[], object], timeout: float, what: str) -> None:
        """Until condition() holds; fails where the program ends before, or time does."""
        end = time.monotonic() + timeout
        while not condition():
            if self._process.poll() is not None or time.monotonic() > end:
                self.end()
                raise AssertionError(f"{what}: not within {timeout} s\n{self.hint}\n{self.output()}")
            time.sleep(0.05)

    def finish(self, timeout: float) -> str:
        """Waits for its end, which has to be successful."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"not done within {timeout} s\n{self.hint}\n{self.output()}") from None
        assert status == 0, f"it ended with {status}\n{self.hint}\n{self.output()}"
        return self.output()

    def end(self) -> None:
        """Ends all of it. The hosts are gone then, too: launchers have processes there that know no session."""
        self.hosts.all_off()
        kill_session(self._process.pid)
        self._process.wait()


def main() -> int:
    enter_sandbox()
    # Process 1 only gets signals that it has handlers for.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.argv[1:2] == ["pytest"]:
        import pytest

        status = pytest.main(sys.argv[2:])
        return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    if "PENSTOCK_NO_SANDBOX" in os.environ:
        print(f"no hosts can be made here: {os.environ['PENSTOCK_NO_SANDBOX']}", file=sys.stderr)
        return 1
    count, each = map(int, sys.argv[1].split("x"))
    with Hosts(count) as hosts:
        program = hosts.start(sys.argv[4:], each, *sys.argv[2:4])
        try:
            print(program.finish(float(os.environ.get("TIMEOUT", "600"))), end="")
        except AssertionError as failure:
            print(failure, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
