#!/usr/bin/env bash
# Builds a preset (release when none is named); the program is build/bin/lodestep. Further words are targets.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
[ $# -eq 0 ] || shift
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
