#!/usr/bin/env bash
# The installed library as a C++ user meets it: cmake --install, find_package(penstock), run.
#   install_test.sh SOURCE BUILD MPICC MPIEXEC
set -euo pipefail
source=$1 build=$2 mpicc=$3 mpiexec=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/prefix" >/dev/null
cmake -S "$source/examples/cxx" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DMPI_C_COMPILER="$mpicc" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
cmake --build "$folder/build" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
cd "$folder"
timeout 60 "$mpiexec" -n 3 "$folder/build/blocks"
size=$(wc -c <blocks.npy)
[ "$size" = $((128 + 512 * 512 * 8)) ] || { echo "blocks.npy has $size bytes"; exit 1; }
