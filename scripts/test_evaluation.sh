#!/usr/bin/env bash
# Runs the tests of the evaluation (evaluation/tests, and those of the gas code) with one flavour. Further arguments
# go to pytest:
#   scripts/test_evaluation.sh FLAVOUR [-k jeans]
set -uo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=$PWD/build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build"/evaluation{,-ctest}.xml
(cd "$build" && ctest --output-on-failure --no-tests=error -L '^evaluation$' --output-junit evaluation-ctest.xml >ctest.log 2>&1) ||
  { cat "$build/ctest.log"; status=1; }
PYTHONPATH=$build/python:$PWD/evaluation PENSTOCK_BUILD=$build python -m pytest -q -n "$((2 * ${JOBS:-$(nproc)}))" --dist worksteal \
  --junitxml="$build/evaluation.xml" evaluation/tests "${@:2}" || status=1
exit ${status:-0}
