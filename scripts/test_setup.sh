#!/usr/bin/env bash
# Tests scripts/setup.sh and make demo in copies of this tree (tests/setup), with the tools of the wheel. Further
# arguments go to pytest:
#   scripts/test_setup.sh [-k interrupted]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/wheel.sh --prepare
mkdir -p build/setup
rm -f build/setup/setup.xml
exec .venv-wheel/bin/python -m pytest -q -p no:cacheprovider --junitxml=build/setup/setup.xml tests/setup "$@"
