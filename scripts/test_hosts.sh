#!/usr/bin/env bash
# Runs the tests on several hosts (tests/hosts) with one flavour. Further words go to pytest:
#   scripts/test_hosts.sh FLAVOUR [-m "not slow"]
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build/hosts.xml"
PYTHONPATH=$PWD/$build/python exec python tests/hosts/hosts.py pytest -q -rs --junitxml="$build/hosts.xml" \
  tests/hosts "${@:2}"
