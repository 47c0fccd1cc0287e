#!/usr/bin/env bash
# Runs the tests with PyTorch and JAX (tests/frameworks) with one flavour. Further arguments go to pytest:
#   scripts/test_frameworks.sh FLAVOUR [-k torch]
# The packages of requirements-frameworks.txt, several GB, are in .venv-frameworks; the flavour's Python and MPI are used.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
tools=.venv-frameworks
stamp=$(cat requirements-frameworks.txt | cksum)" $(readlink -f "$(command -v python)")"
if [ "$(cat $tools/stamp 2>/dev/null)" != "$stamp" ]; then
  echo "Preparing $tools (once)"
  python -m venv --clear $tools
  if $tools/bin/python -m pip install -q --disable-pip-version-check -r requirements-frameworks.txt; then
    echo "$stamp" >$tools/stamp
  else
    echo "going on without PyTorch and JAX (test-frameworks)" >&2
  fi
fi
packages=$(echo $PWD/$tools/lib/python*/site-packages)
rm -f "$build/frameworks.xml"
PYTHONPATH=$PWD/$build/python:$packages exec python -m pytest -q -rs --junitxml="$build/frameworks.xml" \
  tests/frameworks "${@:2}"
