#!/usr/bin/env bash
# Configures (once) and builds one flavour into build/FLAVOUR; prints only what went wrong.
#   scripts/build.sh [FLAVOUR [TARGET]]     default: everything
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
generator=(-G "Unix Makefiles")
command -v ninja >/dev/null && generator=(-G Ninja)
if [ ! -e "$build/CMakeCache.txt" ]; then
  cmake -S . -B "$build" "${generator[@]}" -DPENSTOCK_BUILD_PYTHON=ON \
    -DMPI_C_COMPILER="$PENSTOCK_MPICC" -DMPIEXEC_EXECUTABLE="$PENSTOCK_MPIEXEC" \
    -DPython_EXECUTABLE="$(command -v python)" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; rm -f "$build/CMakeCache.txt"; exit 1; }
fi
echo "Building ($flavour)"
cmake --build "$build" ${2:+--target "$2"} --parallel "${JOBS:-$(nproc)}" >"$build/build.log" 2>&1 ||
  { grep -E -A12 'error|FAILED' "$build/build.log" || tail -n 60 "$build/build.log"; exit 1; }
