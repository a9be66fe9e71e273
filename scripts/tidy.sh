#!/usr/bin/env bash
# Runs clang-tidy on the .cc files named, or on those that differ from main. Needs a configured release build.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -e build/compile_commands.json ] || cmake --preset release >/dev/null
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git diff --name-only --diff-filter=d main -- '*.cc')
fi
[ ${#files[@]} -eq 0 ] || clang-tidy -p build --quiet "${files[@]}"
