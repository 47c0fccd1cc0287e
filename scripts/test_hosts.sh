#!/usr/bin/env bash
# Runs the tests on several hosts (tests/hosts) with one flavour. Further arguments go to pytest:
#   scripts/test_hosts.sh FLAVOUR [-m "not slow"]
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
. scripts/mpi_env.sh
rm -f "$build/hosts.xml"
# For a test that only runs in the whole suite, and is skipped without it.
if [ $# -le 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v glusterd >/dev/null; then
  (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends glusterfs-server \
    glusterfs-client) >/dev/null 2>&1 || echo "going on without GlusterFS"
fi
PYTHONPATH=$PWD/$build/python exec python tests/hosts/hosts.py pytest -q -rs --junitxml="$build/hosts.xml" \
  tests/hosts "${@:2}"
