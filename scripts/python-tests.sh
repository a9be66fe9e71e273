#!/usr/bin/env bash
# Builds the Python package, installs it into a virtual environment in build/ and runs its tests. Words after
# the script's name go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/python-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
export PATH="$PWD/$venv/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
# The compiler under the name that the main build gave it, so that the compiler cache knows its work again.
export CC="${CC:-cc}" CXX="${CXX:-c++}"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
pip install --quiet -r python/requirements-test.txt
pip install --quiet --no-deps -r python/requirements-test-no-deps.txt
timeout 900 pip install --quiet -r python/requirements-test.txt -r python/requirements-adapters.txt ||
  echo "the trainers' libraries could not be installed: their tests are skipped" >&2
# OpenEnv's clients have environments of their own; tests find one by this name.
scripts/clients.sh
client=build/clients/openenv==0.10.0
[ ! -e "$client/installed" ] || export LODESTEP_OPENENV_PYTHON="${LODESTEP_OPENENV_PYTHON:-$PWD/$client/bin/python}"
pip install --quiet --no-build-isolation --no-deps --force-reinstall .
python -m pytest -q -rs "$@"
