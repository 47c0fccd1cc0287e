"""The MPI under test, and programs that run with and without Penstock's MPI-IO preloaded."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")
TIMEOUT = 120
# Open MPI 5's launcher fails about once in some hundred times, before any rank exists.
NOT_BEGUN = "PMIx server's listener thread failed to start"


class Flavour:
    """A build folder, and the MPI that it was made with. Made by scripts/test_dropin.sh."""

    def __init__(self, build):
        self.build = build
        self.name = build.name
        self.mpicc = Path(os.environ["PENSTOCK_MPICC"])
        self.mpiexec = os.environ["PENSTOCK_MPIEXEC"]
        self.library = build / "dropin/libpenstock_mpiio.so"
        help_text = subprocess.run([self.mpiexec, "--help"], capture_output=True, text=True).stdout
        self.is_mpich = "hydra" in help_text.lower() or "-genv" in help_text
        self.is_debian = str(self.mpicc).startswith("/usr/bin/")

    def require(self, *names):
        """Skips a test whose program exists for other MPI libraries only."""
        if self.name not in names:
            pytest.skip(f"made for {' and '.join(names)}; this is {self.name}")

    def compiler(self, language):
        """mpicc or mpifort."""
        path = self.mpicc.with_name(self.mpicc.name.replace("mpicc", f"mpi{language}"))
        if not path.exists():
            pytest.skip(f"{self.name} has no {path.name}")
        return str(path)

    def compile(self, program, source, *options, language="cc"):
        command = [self.compiler(language), "-O1", "-g", "-o", str(program), str(PROGRAMS / source), *options]
        succeed(command, cwd=program.parent)
        return str(program)

    def header(self, mpicc=None):
        """mpi.h with its macros, as the compiler has it. mpicc: another one than the flavour's."""
        command = [mpicc or self.mpicc, "-E", "-dD", "-x", "c", "-"]
        return subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True).stdout

    def declares(self, name):
        return re.search(rf"\b{name}\b", self.header()) is not None

    def run(self, folder, command, ranks, dropin, variables=None, timeout=TIMEOUT):
        """Runs a program in a folder; returns its output. With dropin, Penstock reports every file that it closes."""
        status, output = self.try_run(folder, command, ranks, dropin, variables, timeout)
        assert status == 0, f"{' '.join(map(str, command))} in {folder} ended with {status}:\n{output}"
        return output

    def try_run(self, folder, command, ranks, dropin, variables=None, timeout=TIMEOUT):
        """The same for a program that may fail; also returns its exit status."""
        preload = {"LD_PRELOAD": str(self.library), "PENSTOCK_REPORT": "1"} if dropin else {}
        variables = {**(variables or {}), **preload}
        # Open MPI's -x takes NAME=VALUE as one word.
        settings = [word for name, value in variables.items()
                    for word in (["-env", name, value] if self.is_mpich else ["-x", f"{name}={value}"])]
        return run_ranks(folder, [self.mpiexec, "-n", str(ranks), *settings, *map(str, command)], timeout)

    def expect_end(self, folder, command):
        """An error of a file ends the program. Its output goes to files: launchers may drop the last of it."""
        redirected = ["sh", "-c", 'exec "$0" "$@" >"output.$$" 2>&1', *command]
        status, _ = self.try_run(folder, redirected, 2, dropin=True)
        output = "".join(path.read_text() for path in folder.glob("output.*"))
        assert status != 0 and "the program went on" not in output, output
        assert "penstock: MPI_ERR_ARG" in output, output

    def run_both(self, space, command, ranks, files, variables=None):
        """Runs it in space/native and, with Penstock, in space/penstock; it must leave the same files in both,
        including `files` among it. Penstock must have opened each of these. variables: for the environment of both."""
        outputs = {}
        for way in ("native", "penstock"):
            folder = space / way
            folder.mkdir()
            outputs[way] = self.run(folder, command, ranks, way == "penstock", variables)
        served = files_in_report(outputs["penstock"])
        assert served >= set(files), f"Penstock has not opened {set(files) - served}:\n{outputs['penstock']}"
        assert not files_in_report(outputs["native"])
        same_files(space / "native", space / "penstock", files)
        return outputs["penstock"]


def run_ranks(folder, command, timeout):
    status, output = run_once(folder, command, timeout)
    if status != 0 and NOT_BEGUN in output:
        status, output = run_once(folder, command, timeout)
    return status, output


def run_once(folder, command, timeout):
    process = subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        output, _ = process.communicate()
        pytest.fail(f"{' '.join(command)} did not end within {timeout} s:\n{output}")
    return process.returncode, output


def end_session(session):
    """Ends the processes of a session; ranks may have process groups of their own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue


def succeed(command, **how):
    command = list(map(str, command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **how)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def files_in_report(output):
    """The names of the files that Penstock has closed."""
    return {Path(path).name for path in re.findall(r"^penstock: (\S+) \([^)]* ranks, ", output, re.MULTILINE)}


def same_files(one, other, files):
    """Two folders with the same files, byte for byte."""
    names = [{str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
             for folder in (one, other)]
    assert names[0] == names[1]
    assert set(files) <= names[0]
    for name in sorted(names[0]):
        first, second = (one / name).read_bytes(), (other / name).read_bytes()
        assert len(first) > 0 or name not in files, f"{name} is empty"
        assert len(first) == len(second), f"{name}: {len(first)} bytes in {one}, {len(second)} in {other}"
        if first != second:
            at = next(i for i, (a, b) in enumerate(zip(first, second)) if a != b)
            pytest.fail(f"{name}: byte {at} is {first[at]} in {one}, {second[at]} in {other}")


def install(*packages):
    """Installs Debian's packages; skips the test if this user may not."""
    if all(is_installed(package) for package in packages):
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        pytest.skip(f"needs Debian's packages {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"],
                    ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"Debian's packages {' '.join(packages)} cannot be installed: {done.stderr.strip()[-200:]}")


def is_installed(package):
    if shutil.which("dpkg-query") is None:
        return False
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True)
    return done.stdout == "installed"


def fetch_source(package, folder):
    """The folder of Debian's source package, fetched once, with a separate list of sources."""
    found = sorted(folder.glob(f"{package}-*/"))
    if found:
        return found[0]
    install("dpkg-dev")
    if os.geteuid() != 0:
        pytest.skip(f"apt-get fetches the source package {package} as root")
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    release = Path("/etc/os-release").read_text().partition("VERSION_CODENAME=")[2].split()[0]
    (folder / "sources.list").write_text(f"deb-src http://deb.debian.org/debian {release} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=-",
           "-o", f"Dir::State::Lists={folder}/lists"]
    for command in ([*apt, "update"], [*apt, "source", package]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"the source package {package} cannot be had: {done.stderr.strip()[-200:]}")
    return next(folder.glob(f"{package}-*/"))


def fetch_mpi4py(folder):
    """mpi4py's sources in the version that is installed, from PyPI."""
    release = f"mpi4py-{version('mpi4py')}"
    if not (folder / release).is_dir():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py"]
        done = subprocess.run([*pip, "-d", str(folder), release.replace("-", "==")], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"{release} cannot be had from PyPI: {done.stderr.strip()[-200:]}")
        with tarfile.open(folder / f"{release}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / release
