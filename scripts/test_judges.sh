#!/usr/bin/env bash
# Runs test suites of others (tests/judges) with the MPI library's own MPI-IO and with Penstock's, with the MPI of one
# flavour, and leaves build/FLAVOUR/judges.txt, which says what passed either way. Further words go to pytest:
#   scripts/test_judges.sh FLAVOUR [-k pnetcdf]
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build/judges.xml" "$build/judges.txt"
PENSTOCK_BUILD=$PWD/$build exec python -m pytest -q -rs --junitxml="$build/judges.xml" tests/judges "${@:2}"
