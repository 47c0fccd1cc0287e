#!/usr/bin/env bash
# Configures (where something changed) and builds one flavour; prints only what went wrong.
#   [SAN=...] [WERROR=ON] scripts/build.sh [FLAVOUR [TARGET]]     default: everything
# Leaves it in build/FLAVOUR, under sanitizers (SAN=address,undefined or thread) in
# build/FLAVOUR-SAN. WERROR=ON stays so until it is OFF.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
. "build/$flavour/env.sh"
build=build/$flavour options=() python=ON
if [ -n "${SAN:-}" ]; then
  build+=-${SAN//,/-} python=OFF
  options+=(-DPENSTOCK_SANITIZE="$SAN" -DPENSTOCK_BUILD_BENCH=OFF -DPENSTOCK_BUILD_EXAMPLES=OFF)
  mkdir -p "$build"
fi
[ -z "${WERROR:-}" ] || options+=(-DPENSTOCK_WERROR="$WERROR")
generator=(-G "Unix Makefiles")
command -v ninja >/dev/null && generator=(-G Ninja)
# A sanitized build has no setup of its own: one that is older than its flavour's is made anew.
[ "$build/CMakeCache.txt" -nt "build/$flavour/setup.stamp" ] || rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
# So is one whose configuring was interrupted.
[ -e "$build/build.ninja" ] || [ -e "$build/Makefile" ] || rm -rf "$build/CMakeCache.txt"
if [ ! -e "$build/CMakeCache.txt" ]; then
  cmake -S . -B "$build" "${generator[@]}" -DPENSTOCK_BUILD_PYTHON=$python \
    -DMPI_C_COMPILER="$PENSTOCK_MPICC" -DMPIEXEC_EXECUTABLE="$PENSTOCK_MPIEXEC" \
    -DPython_EXECUTABLE="$(command -v python)" ${options[@]+"${options[@]}"} >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; rm -f "$build/CMakeCache.txt"; exit 1; }
elif [ -n "${WERROR:-}" ] && ! grep -q "^PENSTOCK_WERROR:BOOL=$WERROR$" "$build/CMakeCache.txt"; then
  cmake -S . -B "$build" -DPENSTOCK_WERROR="$WERROR" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; exit 1; }
fi
echo "Building (${build#build/})"
cmake --build "$build" ${2:+--target "$2"} --parallel "${JOBS:-$(nproc)}" >"$build/build.log" 2>&1 ||
  { grep -E -A12 'error|FAILED' "$build/build.log" || tail -n 60 "$build/build.log"; exit 1; }
