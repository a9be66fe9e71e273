"""Shared fixtures. Tests run over every registered environment wherever that makes sense."""

from __future__ import annotations

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
