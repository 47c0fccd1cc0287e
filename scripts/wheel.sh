#!/usr/bin/env bash
# Builds a wheel that can be installed without a compiler, dist/penstock-*.whl. It has an extension module for each
# binary interface of MPI libraries, of which penstock/_variants.py imports the one that fits.
#   scripts/wheel.sh [INTERFACE ...]     default: mpich openmpi
#   scripts/wheel.sh --prepare           only the tools
# mpich: libmpi.so.12; openmpi: libmpi.so.40. The same as mpi4py's, which is used in the same process. Not the standard
# ABI of MPI 5 (libmpi_abi.so.1): mpi4py's wheels have no build for it, and PyPI's Open MPI has no such library.
# Tools and MPI libraries are PyPI's, in .venv-wheel and build/wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD tools=.venv-wheel out=build/wheel
mkdir -p $out dist
log=$out/wheel.log
: >"$log"

# Runs quietly; shows its output if it fails.
quietly() {
  "$@" >>"$log" 2>&1 && return
  printf 'wheel: this failed: %s\n' "$*" >&2
  tail -n 40 "$log" >&2
  exit 1
}
prepare() {
  local stamp
  stamp=$(cat requirements-wheel.txt | cksum)" $(readlink -f "$(command -v python3)")"
  [ "$(cat $tools/stamp 2>/dev/null)" = "$stamp" ] && return
  echo "Preparing $tools (once)"
  quietly python3 -m venv --clear $tools
  quietly $tools/bin/python -m pip install --disable-pip-version-check -r requirements-wheel.txt
  echo "$stamp" >$tools/stamp
}
# PyPI's MPIs have files of the same names: each gets a folder of its own.
fetch_mpi() {
  local package=$1 folder=$out/mpi/$1
  [ -e "$folder/complete" ] && return
  echo "Fetching $package"
  rm -rf "$folder"
  quietly $tools/bin/python -m pip install --disable-pip-version-check --no-deps --prefix "$folder" "$package>=5"
  touch "$folder/complete"
}
# liburing is linked statically: the target machine may not have it.
uring=$(${CXX:-c++} -print-file-name=liburing.a)
build_for() {
  local interface=$1 settings=()
  fetch_mpi "$interface"
  if [ -e "$uring" ]; then settings+=(-C "cmake.define.Liburing_LIBRARY=$uring")
  else settings+=(-C cmake.define.PENSTOCK_USE_LIBURING=OFF); fi
  echo "Building (wheel, $interface)"
  rm -rf "${out:?}/$interface"/*.whl
  quietly env PATH="$root/$tools/bin:$PATH" MPICC="$root/$out/mpi/$interface/bin/mpicc" \
    CXXFLAGS="-ffile-prefix-map=$root=." LDFLAGS="-static-libstdc++ -static-libgcc" \
    $tools/bin/python -m pip wheel . --disable-pip-version-check --no-deps --no-build-isolation \
    -w "$out/$interface" -C build-dir="$out/$interface/build" "${settings[@]}"
}

prepare
[ "${1:-}" != --prepare ] || exit 0
[ $# -gt 0 ] || set -- mpich openmpi
built=()
for interface in "$@"; do
  case $interface in mpich | openmpi) ;; *) echo "wheel: '$interface' is neither mpich nor openmpi" >&2; exit 2 ;; esac
  build_for "$interface"
  built+=("$interface=$(echo "$out/$interface"/*.whl)")
done
rm -rf $out/joined dist/penstock-*.whl
quietly env PATH="$root/$tools/bin:$PATH" $tools/bin/python scripts/join_wheels.py $out/joined "${built[@]}"
# The minimal glibc version is determined from the symbols used; the MPI library is not included.
quietly env PATH="$root/$tools/bin:$PATH" $tools/bin/auditwheel repair -w dist \
  --exclude 'libmpi.so.*' $out/joined/*.whl
echo "dist/$(basename dist/penstock-*.whl)"
