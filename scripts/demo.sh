#!/usr/bin/env bash
# Installs what is missing, builds, and runs the main job: 16 Sokoban levels x 8 parallel episodes, every step
# recorded with its state key and its credit. Words after the script's name go to `lodestep rollout sokoban`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release lodestep >&2
rm -f build/demo.db build/demo.db-wal build/demo.db-shm
build/bin/lodestep rollout sokoban --groups 16 --group-size 8 --policy mixed:0.5 --out build/demo.db "$@"
echo
echo "The program is build/bin/lodestep. See this run in a browser:"
echo "  build/bin/lodestep view build/demo.db"
