#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests; at last the laws and fuzz tests once more under sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
# The viewer's tests use npm packages of the version the repository pins; without npm they skip.
if command -v npm >/dev/null && ! cmp -s web/package-lock.json web/node_modules/.lodestep-lock; then
  (cd web && npm ci --silent --ignore-scripts --no-audit --no-fund >&2 && cp package-lock.json node_modules/.lodestep-lock) ||
    echo "npm ci failed: the viewer's browser tests will skip" >&2
fi
scripts/clients.sh
scripts/build.sh release
ctest --test-dir build --output-on-failure --parallel "$(nproc)"
scripts/python-tests.sh
scripts/sanitize.sh asan 1
