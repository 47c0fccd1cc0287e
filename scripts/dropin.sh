#!/usr/bin/env bash
# Builds only the drop-in MPI-IO for the MPI library of MPICC; needs cmake and a C++ compiler, and installs nothing. The
# result is build/dropin/NAME, which may be copied anywhere, and build/dropin/penstock, where `penstock run` finds it.
#   scripts/dropin.sh MPICC           for example mpicc.mpich, /opt/mpi/bin/mpicc, mpicc_abi
#   scripts/dropin.sh --of FLAVOUR    the mpicc of a flavour of the build, which is set up if needed
set -euo pipefail
cd "$(dirname "$0")/.."
usage="usage: scripts/dropin.sh MPICC | --of FLAVOUR"
part() { printf '  %-34s %3d s\n' "$1" $((SECONDS - begin)); begin=$SECONDS; }
begin=$SECONDS
if [ "${1:?$usage}" = --of ]; then
  flavour=${2:?$usage}
  scripts/setup.sh "$flavour" demo
  . "build/$flavour/env.sh"
  set -- "$PENSTOCK_MPICC"
  part "set up"
elif ! command -v cmake >/dev/null; then
  scripts/setup.sh default demo
  PATH=$PWD/.venv/bin:$PATH
  part "set up, for cmake"
fi
mpicc=$(command -v "$1") || { echo "dropin: there is no $1" >&2; exit 1; }
id=$(basename "$mpicc")-$(echo "$mpicc" | cksum | cut -d' ' -f1)
build=build/dropin-$id made=build/dropin/$id
mkdir -p "$build" "$made"
generator=(-G "Unix Makefiles") options=()
command -v ninja >/dev/null && generator=(-G Ninja)
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
fail() { grep -E -A12 'rror|FAILED' "$build.log" || tail -n 40 "$build.log"; exit 1; }

echo "Building the drop-in MPI-IO for $mpicc (the log is $build.log)"
cmake -S . -B "$build" "${generator[@]}" -DMPI_C_COMPILER="$mpicc" -DPENSTOCK_BUILD_TESTS=OFF -DPENSTOCK_BUILD_EXAMPLES=OFF \
  -DPENSTOCK_BUILD_FORTRAN=OFF -DPENSTOCK_USE_CODECS=OFF ${options[@]+"${options[@]}"} >"$build.log" 2>&1 || fail
part configured
# A line for each fifth of it: "[12/60] Building ..." of ninja, "[ 20%] Building ..." of make.
tell_fifths() {
  local line done next=20
  while read -r line; do
    case $line in
      \[*/*\]*) line=${line#[}; line=${line%%]*}; done=$((100 * ${line%/*} / ${line#*/})) ;;
      \[*%\]*) line=${line#[}; done=$((${line%%%*})) ;;
      *) continue ;;
    esac
    [ "$done" -ge $next ] && [ "$done" -lt 100 ] || continue
    printf '  compiled %d %% after %d s\n' "$done" $((SECONDS - begin))
    next=$((done / 20 * 20 + 20))
  done
}
cmake --build "$build" --target penstock_mpiio_preload --parallel "${JOBS:-$(nproc)}" 2>&1 | tee -a "$build.log" |
  tell_fifths || fail
part "compiled, linked, stripped"
cp "$build"/dropin/* "$made/"
ln -sfn "$id/penstock-run" build/dropin/penstock-run
ln -sfn "$id/penstock-run" build/dropin/penstock
echo "$made/libpenstock_mpiio.so: $(cat "$made/mpi.json")"
echo "In $SECONDS s. Now: build/dropin/penstock run mpiexec -n 4 ./program"
