#!/usr/bin/env bash
# Runs the C++ and the Python tests of one flavour. Further words go to ctest and pytest:
#   scripts/test.sh FLAVOUR [--slow]
set -uo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
labels=(-LE slow) marks="not slow"
[ "${2:-}" = --slow ] && labels=(-L slow) marks=slow
status=0
rm -f "$build/ctest.xml" "$build/pytest.xml"
# Only what failed, and the summary: there are hundreds of small C++ tests.
(cd "$build" && ctest --output-on-failure "${labels[@]}" --output-junit ctest.xml >ctest.log 2>&1) ||
  { status=1; grep -vE ' Passed |^ +Start ' "$build/ctest.log"; }
grep -E 'tests passed' "$build/ctest.log"
PYTHONPATH=$PWD/$build/python python -m pytest -q -m "$marks" --junitxml="$build/pytest.xml" tests/python
code=$?
[ $code = 0 ] || [ $code = 5 ] || status=1   # 5: no test with this mark
exit $status
