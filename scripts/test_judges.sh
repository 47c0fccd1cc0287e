#!/usr/bin/env bash
# Runs third-party test suites (tests/judges) with the MPI library's own MPI-IO and with Penstock's, with the MPI of one
# flavour, and writes the results to build/FLAVOUR/judges.txt. Further arguments go to pytest:
#   scripts/test_judges.sh FLAVOUR [-k pnetcdf]
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build/judges.xml" "$build/judges.txt"
PENSTOCK_BUILD=$PWD/$build exec python -m pytest -q -rs --junitxml="$build/judges.xml" tests/judges "${@:2}"
