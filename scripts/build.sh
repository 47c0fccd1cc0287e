#!/usr/bin/env bash
# Configures (if something changed) and builds one flavour; prints only errors, and the seconds.
#   [SAN=...] [WERROR=ON] [UNITY=OFF] scripts/build.sh [FLAVOUR [TARGET...]]     default: everything
# The result is in build/FLAVOUR, under sanitizers (SAN=address,undefined or thread) in build/FLAVOUR-SAN, file by file
# (UNITY=OFF) in build/FLAVOUR-files. WERROR=ON stays set until OFF. _core alone is configured without the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
targets=("${@:2}")
. "build/$flavour/env.sh"
build=build/$flavour options=() python=ON whole=ON
[ "${targets[*]:-}" != _core ] || whole=OFF
examples=ON evaluation=OFF
case " ${targets[*]:-} " in *" evaluation "*) evaluation=ON ;; esac
if [ -n "${SAN:-}" ]; then
  build+=-${SAN//,/-} python=OFF examples=OFF
  options+=(-DPENSTOCK_SANITIZE="$SAN")
fi
if [ "${UNITY:-ON}" = OFF ]; then
  build+=-files
  options+=(-DCMAKE_UNITY_BUILD=OFF)
fi
mkdir -p "$build"
[ -z "${WERROR:-}" ] || options+=(-DPENSTOCK_WERROR="$WERROR")
generator=(-G "Unix Makefiles")
command -v ninja >/dev/null && generator=(-G Ninja)
# Relative paths, so that ccache shares objects between clones.
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
# Reconfigure a build whose configuration was interrupted, or that is older than its MPI.
[ -e "$build/build.ninja" ] || [ -e "$build/Makefile" ] || rm -rf "$build/CMakeCache.txt"
[ "$build/CMakeCache.txt" -nt "build/$flavour/env.sh" ] || rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"

has() { grep -qs "^$1=$2\$" "$build/CMakeCache.txt"; }
must_configure() {
  [ -e "$build/CMakeCache.txt" ] || return 0
  [ $whole = OFF ] || has PENSTOCK_BUILD_TESTS:BOOL ON || return 0
  [ $evaluation = OFF ] || has PENSTOCK_BUILD_EVALUATION:BOOL ON || return 0
  [ -z "${WERROR:-}" ] || has PENSTOCK_WERROR:BOOL "$WERROR" || return 0
  return 1
}
if must_configure; then
  if has PENSTOCK_BUILD_TESTS:BOOL ON; then whole=ON; fi
  if has PENSTOCK_BUILD_EVALUATION:BOOL ON; then evaluation=ON; fi
  fortran=AUTO
  [ $whole = ON ] || examples=OFF fortran=OFF
  cmake -S . -B "$build" "${generator[@]}" -DPENSTOCK_BUILD_TESTS=$whole \
    -DPENSTOCK_BUILD_EVALUATION=$evaluation -DPENSTOCK_BUILD_EXAMPLES=$examples -DPENSTOCK_BUILD_FORTRAN=$fortran \
    -DPENSTOCK_BUILD_PYTHON=$python \
    -DMPI_C_COMPILER="$PENSTOCK_MPICC" -DMPIEXEC_EXECUTABLE="$PENSTOCK_MPIEXEC" \
    -DPython_EXECUTABLE="$(command -v python)" ${options[@]+"${options[@]}"} >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; rm -f "$build/CMakeCache.txt"; exit 1; }
  echo "Configured (${build#build/}) in $SECONDS s"
fi
begin=$SECONDS
cmake --build "$build" ${targets[@]+--target "${targets[@]}"} --parallel "${JOBS:-$(nproc)}" >"$build/build.log" 2>&1 ||
  { grep -E -A12 'error|FAILED' "$build/build.log" || tail -n 60 "$build/build.log"; exit 1; }
echo "Built (${build#build/}${targets[*]:+, ${targets[*]}}) in $((SECONDS - begin)) s"
