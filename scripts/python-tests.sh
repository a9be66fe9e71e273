#!/usr/bin/env bash
# Builds the Python package, installs it into a virtual environment in build/ and runs its tests. Words after
# the script's name go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/python-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-test.txt
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r python/requirements-test-no-deps.txt
export PATH="$PWD/$venv/bin:$PATH" CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall .
python -m pytest -q "$@"
