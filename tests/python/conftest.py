"""Shared fixtures. Tests run over every registered environment wherever that makes sense."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import lodestep

NAMES = [row["name"] for row in lodestep.environments()]


@pytest.fixture(params=NAMES)
def env_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def factories() -> dict[str, lodestep.Factory]:
    return {name: lodestep.open_environment(name) for name in NAMES}


@pytest.fixture
def factory(env_name: str, factories: dict[str, lodestep.Factory]) -> lodestep.Factory:
    return factories[env_name]


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A running server of every environment."""
    words = ["serve", "--env", ",".join(NAMES), "--port", "0"]
    server = subprocess.Popen(
        [sys.executable, "-m", "lodestep", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("listening on "), line
    yield line.split()[2]
    server.terminate()
    assert server.wait(timeout=20) in (0, 143)
