#!/usr/bin/env bash
# Tests the wheel in dist/ in separate environments (tests/wheel). Further arguments go to pytest:
#   scripts/test_wheel.sh [-k mpi4py]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/mpi_env.sh
rm -f build/wheel/wheel.xml
exec .venv-wheel/bin/python -m pytest -q -rs -p no:cacheprovider --junitxml=build/wheel/wheel.xml tests/wheel "$@"
