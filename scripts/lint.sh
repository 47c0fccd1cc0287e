#!/usr/bin/env bash
# Static checks: one line per tool if there are no findings.
#   [SINCE=COMMIT] scripts/lint.sh FLAVOUR      with SINCE, clang-tidy reads only files changed since then
#   scripts/lint.sh --format     only formats C++ and Python imports
# The tools' versions are pinned in requirements-lint.txt; they are in .venv-lint.
set -uo pipefail
cd "$(dirname "$0")/.."
tools=.venv-lint
prepare() {
  local stamp
  stamp=$(cat requirements-lint.txt | cksum)" $(command -v python3)"
  [ "$(cat $tools/stamp 2>/dev/null)" = "$stamp" ] && return
  echo "Preparing $tools (once)"
  python3 -m venv --clear $tools &&
    $tools/bin/python -m pip install -q --disable-pip-version-check -r requirements-lint.txt &&
    echo "$stamp" >$tools/stamp
}
prepare || { echo "lint: $tools could not be made" >&2; exit 1; }

cpp_sources() { git ls-files '*.cpp' '*.hpp' 'include/*.h' 'tests/c/*.c' 'tests/c/*.h' ':!examples'; }
if [ "${1:-}" = --format ]; then
  cpp_sources | xargs $tools/bin/clang-format -i
  $tools/bin/ruff check -q --select I --fix .
  exit
fi

flavour=${1:-default}
build=build/$flavour
. "$build/env.sh"
report=$build/lint.xml
status=0 cases=
# Runs one tool; shows its output only if it has findings.
tool() {
  local name=$1 about=$2 begin=$SECONDS failure= output
  shift 2
  if output=$("$@" 2>&1); then
    echo "$name: $about, nothing found"
  else
    status=1 failure="<failure/>"
    printf '%s\n' "$output" "$name: FAILED"
  fi
  cases+="<testcase classname=\"lint\" name=\"$name\" time=\"$((SECONDS - begin))\">$failure</testcase>"
}
# clang-tidy reads file by file, so it needs a build configuration without unity files.
compiled_sources() { git ls-files 'src/*.cpp' 'bindings/*.cpp' | grep -F -f <(grep -oE '(src|bindings)/[^"]*\.cpp' "$build-tidy/compile_commands.json" | sort -u); }
# For a changed header, the source file of the same name is read. A file that was only moved has not changed.
tidied_sources() {
  if [ -n "${SINCE:-}" ] && git merge-base --is-ancestor "$SINCE" HEAD 2>/dev/null; then
    compiled_sources | grep -F -x -f <(git diff --name-only -M90% --diff-filter=AM "$SINCE" -- src bindings | sed 's/\.hpp$/.cpp/' | sort -u)
  else
    compiled_sources
  fi
}
tidy() {
  tidied_sources | xargs -r -P "${JOBS:-$(nproc)}" -n 3 $tools/bin/clang-tidy -p "$build-tidy" --quiet 2>&1 | grep -v -e '^$' -e ' Processing file '
  return "${PIPESTATUS[1]}"
}
# The extension module's types come from its generated stub.
types() {
  local view=$build/mypy
  rm -rf "$view" && mkdir -p "$view" && cp -r python/penstock "$view/" && cp "$build/python/_core.pyi" "$view/penstock/" &&
    (cd "$view" && MYPYPATH=. "$OLDPWD/$tools/bin/mypy" --config-file "$OLDPWD/pyproject.toml" \
      --python-executable "$(command -v python)" -p penstock)
}
# The programs of the README and of docs/arrays.md, with the strictness that users may have. Needs the stub.
documented() {
  local view=$build/mypy
  python scripts/doc_programs.py "$view/programs" README.md docs/arrays.md docs/out-of-core.md &&
    printf '[mypy]\nstrict = True\nfollow_imports = silent\nfollow_imports_for_stubs = True\n' >"$view/strict.ini" &&
    (cd "$view" && MYPYPATH=. "$OLDPWD/$tools/bin/mypy" --config-file strict.ini --cache-dir .documented \
      --python-executable "$(command -v python)" programs)
}

tool clang-format "$(cpp_sources | wc -l) files" $tools/bin/clang-format --dry-run -Werror $(cpp_sources)
tool warnings "a build with -Werror" env WERROR=ON scripts/build.sh "$flavour"
cmake -S . -B "$build-tidy" -G Ninja -DCMAKE_UNITY_BUILD=OFF -DPENSTOCK_BUILD_PYTHON=OFF -DPENSTOCK_BUILD_TESTS=OFF \
  -DPENSTOCK_BUILD_EXAMPLES=OFF -DMPI_C_COMPILER="$PENSTOCK_MPICC" >"$build-tidy.log" 2>&1 ||
  { cat "$build-tidy.log"; exit 1; }
tool clang-tidy "$(tidied_sources | wc -l) of $(compiled_sources | wc -l) files" tidy
tool ruff "$(git ls-files '*.py' | wc -l) files" $tools/bin/ruff check -q .
tool words "documents and public docstrings, $(grep -vc '^#' scripts/words.txt) words that went" python3 scripts/words.py
tool mypy "package penstock" types
tool mypy-documents "the programs of README.md, docs/arrays.md and docs/out-of-core.md" documented
echo "<testsuite name=\"lint\">$cases</testsuite>" >"$report"
exit $status
