#!/usr/bin/env bash
# Runs third-party programs with Penstock's MPI-IO preloaded (tests/dropin), with the MPI of one flavour.
# Further arguments go to pytest:
#   scripts/test_dropin.sh FLAVOUR [-k h5py]
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build/dropin.xml"
PENSTOCK_BUILD=$PWD/$build exec python -m pytest -q -rs --junitxml="$build/dropin.xml" tests/dropin "${@:2}"
