#!/usr/bin/env bash
# Installs the real client libraries that tests play the server with, one virtual environment per release of OpenEnv's
# client in build/clients. The releases come without what only their own servers need (a web interface among it).
# Where PyPI is out of reach the tests skip.
set -euo pipefail
cd "$(dirname "$0")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1
for release in openenv-core==0.3.0 openenv==0.10.0; do
  venv=build/clients/$release
  [ -e "$venv/installed" ] && [ ! python/requirements-openenv.txt -nt "$venv/installed" ] && continue
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  if timeout 300 "$venv/bin/pip" install --quiet -r python/requirements-openenv.txt jsonschema==4.26.0 &&
    timeout 300 "$venv/bin/pip" install --quiet --no-deps "$release"; then
    touch "$venv/installed"
  else
    echo "$release could not be installed: tests with it are skipped" >&2
  fi
done
