#!/usr/bin/env bash
# Builds the drop-in MPI-IO for another MPI library: that of MPICC. penstock run finds it.
#   scripts/dropin.sh MPICC         for example mpicc.mpich, /opt/mpi/bin/mpicc, mpicc_abi
set -euo pipefail
cd "$(dirname "$0")/.."
mpicc=$(command -v "${1:?usage: scripts/dropin.sh MPICC}") || { echo "dropin: there is no $1" >&2; exit 1; }
id=$(echo "$mpicc" | cksum | cut -d' ' -f1)
build=build/dropin-$id
mkdir -p "$build" build/dropin
generator=(-G "Unix Makefiles")
command -v ninja >/dev/null && generator=(-G Ninja)
echo "Building the drop-in MPI-IO for $mpicc"
{ cmake -S . -B "$build" "${generator[@]}" -DMPI_C_COMPILER="$mpicc" -DPENSTOCK_BUILD_TESTS=OFF -DPENSTOCK_BUILD_BENCH=OFF \
    -DPENSTOCK_BUILD_EXAMPLES=OFF &&
  cmake --build "$build" --target penstock_mpiio_preload --parallel "${JOBS:-$(nproc)}"; } >"$build.log" 2>&1 ||
  { grep -E -A12 'rror|FAILED' "$build.log" || tail -n 40 "$build.log"; exit 1; }
mkdir -p "build/dropin/$id"
cp "$build"/dropin/* "build/dropin/$id/"
echo "build/dropin/$id/libpenstock_mpiio.so: $(cat "build/dropin/$id/mpi.json")"
