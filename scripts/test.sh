#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release
ctest --test-dir build --output-on-failure --parallel "$(nproc)"
scripts/python-tests.sh
