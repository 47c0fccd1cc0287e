#!/usr/bin/env bash
# Builds the documentation with one flavour: build/docs/html, readable from a folder or a server.
#   scripts/docs.sh FLAVOUR      the flavour's extension module must have been built
# Sphinx and its extensions (requirements-docs.txt) are in .venv-docs; doxygen is the system's.
set -euo pipefail
cd "$(dirname "$0")/.."
flavour=${1:-default}
out=build/docs
tools=.venv-docs
. "build/$flavour/env.sh"
mkdir -p "$out"

die() { printf 'docs: %s\n' "$*" >&2; exit 1; }
prepare() {
  local stamp
  stamp=$(cat requirements-docs.txt | cksum)" $(readlink -f "$(command -v python)")"
  [ "$(cat $tools/stamp 2>/dev/null)" = "$stamp" ] && return
  echo "Preparing $tools (once)"
  # Uses the flavour's Python, since the extension module is imported for its documentation.
  python -m venv --clear $tools &&
    $tools/bin/python -m pip install -q --disable-pip-version-check -r requirements-docs.txt &&
    echo "$stamp" >$tools/stamp
}
install_doxygen() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
    die "please install doxygen (with your system's package manager)"
  echo "Installing doxygen (Debian)"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends doxygen; } \
    >"$out/doxygen-install.log" 2>&1 || { tail -n 20 "$out/doxygen-install.log" >&2; die "doxygen could not be installed"; }
}
prepare || die "$tools could not be made"
command -v doxygen >/dev/null || install_doxygen

export PYTHONPATH=$PWD/build/$flavour/python
"$tools/bin/python" scripts/doc_tables.py
"$tools/bin/python" -m typer penstock.cli utils docs --name penstock --title "The command" --output "$out/command.md" >/dev/null
echo "Reading the headers"
doxygen docs/Doxyfile
echo "Writing $out/html"
"$tools/bin/python" -m sphinx -E -a -W --keep-going -q -j auto -d "$out/doctrees" docs "$out/html"
echo '<testsuite name="docs"><testcase classname="docs" name="no warnings"/></testsuite>' >"$out/docs.xml"
echo "The documentation is in $out/html/index.html"
