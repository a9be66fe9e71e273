#!/usr/bin/env bash
# Writes tests/playthroughs/*.txt anew from the environments as they are; review the diff.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release test_playthroughs >/dev/null
LODESTEP_REMAKE=1 build/bin/test_playthroughs
git diff --stat -- tests/playthroughs
