#!/usr/bin/env bash
# Runs the C++ and the Python tests of one flavour:
#   [SAN=...] [UNITY=OFF] [ONLY="..."] scripts/test.sh FLAVOUR [--slow | --fuzz]
# SAN: the sanitized build, UNITY=OFF: the build file by file, both C++ only. ONLY: modules (folders of src/), examples,
# python, and ranks: the Python tests that depend on the MPI library.
set -uo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
. "build/$flavour/env.sh"
. scripts/mpi_env.sh
build=build/$flavour${SAN:+-${SAN//,/-}}
[ "${UNITY:-ON}" = ON ] || build+=-files
labels=(-LE 'slow|fuzz') marks="not slow"
cpp=yes python=yes
case ${2:-} in
  --slow) labels=(-L slow) marks=slow ;;
  --fuzz) labels=(-L fuzz) python='' ;;
esac
if [ -n "${ONLY:-}" ]; then
  cpp='' python='' modules=
  for word in $ONLY; do
    case $word in
      python) python=yes ;;
      ranks) python=yes marks+=" and ranks" ;;
      *)
        [ -d "src/$word" ] || [ -d "bindings/$word" ] || [ "$word" = examples ] ||
          { echo "ONLY=$word: the modules are $(ls -d src/*/ bindings/*/ | xargs -n1 basename | xargs), examples, python and ranks" >&2; exit 2; }
        cpp=yes modules+=${modules:+|}$word ;;
    esac
  done
  labels+=(-L "^($modules)\$")
fi
[ "$build" = "build/$flavour" ] || python=
status=0
rm -f "$build/ctest.xml" "$build/pytest.xml"
# Print only failures and the summary: there are hundreds of small C++ tests.
run_ctest() {
  (cd "$build" && ctest --output-on-failure --no-tests=error -j "${JOBS:-$(nproc)}" "${labels[@]}" \
    --output-junit ctest.xml >ctest.log 2>&1) || { status=1; grep -vE ' Passed |^ +Start ' "$build/ctest.log"; }
  grep -E 'tests passed' "$build/ctest.log"
}
# Most tests wait for modelled devices and sleeping ranks: run more of them at a time than there are cores.
run_pytest() {
  PYTHONPATH=$PWD/$build/python python -m pytest -q -n "$((2 * ${JOBS:-$(nproc)}))" --dist worksteal -m "$marks" \
    --junitxml="$build/pytest.xml" tests/python
  local code=$?
  [ $code = 0 ] || [ $code = 5 ] || status=1   # 5: no test with this mark
}
[ -z "$cpp" ] || run_ctest
[ -z "$python" ] || run_pytest
exit $status
