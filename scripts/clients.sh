#!/usr/bin/env bash
# Installs the real client libraries that tests/e2e/server plays the server with, one virtual environment per release
# of OpenEnv's client, in build/clients. Where PyPI is out of reach those tests skip.
set -euo pipefail
cd "$(dirname "$0")/.."

for release in 0.3 0.10; do
  wanted=python/requirements-clients-$release.txt
  venv=build/clients/$release
  cmp -s "$wanted" "$venv/installed.txt" && continue
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  if timeout 600 "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"; then
    cp "$wanted" "$venv/installed.txt"
  else
    echo "the clients of $wanted could not be installed: tests with them are skipped" >&2
  fi
done
