"""The environment class for TRL: its tool as the trainer reads it, episodes, rewards."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path

import pytest

import lodestep
from lodestep import trl


def play_gold(environment, task: str) -> None:
    environment.reset(task=task, seed=0)
    for _ in range(60):
        action = environment._env.gold_action()
        if environment._done or action is None:
            break
        environment.act(action)


def test_one_tool_is_found_on_the_class(env_name: str) -> None:
    kind = trl.environment_factory(env_name)
    public = [n for n, f in inspect.getmembers(kind, inspect.isfunction) if not n.startswith("_")]
    assert sorted(public) == ["act", "get_reward", "reset"]
    transformers = pytest.importorskip("transformers.utils", reason="transformers is not installed")
    schema = transformers.get_json_schema(kind().act)["function"]
    assert schema["name"] == "act" and schema["parameters"]["required"] == ["action"]
    assert schema["parameters"]["properties"]["action"]["type"] == "string"


def test_episodes(env_name: str) -> None:
    factory = lodestep.open_environment(env_name)
    first = lodestep.tasks(factory)[0]
    environment, other = (trl.environment_factory(env_name, max_steps=60) for _ in range(2))
    environment, other = environment(), other()
    # A row brings all its columns, those of the trainer too.
    row = {"prompt": [{"role": "user", "content": "go"}], "task": first, "seed": 3, "answer": None}
    shown = environment.reset(**row)
    assert shown == other.reset(**row)
    assert factory.make().reset(first, seed=3).observation in shown
    assert environment.get_reward() == 0.0
    play_gold(environment, first)
    assert environment.get_reward() == 1.0
    assert environment.act("anything") == "The episode is over."
    assert environment.get_reward() == 1.0
    environment.reset(split=factory.splits[0], index=1, seed=0)
    assert environment.get_reward() == 0.0 and environment._env.task.id == factory.task_id(factory.splits[0], 1)


def test_the_budget_ends_an_episode_without_success(env_name: str) -> None:
    environment = trl.environment_factory(env_name, max_steps=2, reward="return")()
    environment.reset(seed=0)
    assert "over" not in environment.act("nonsense").splitlines()[-1]
    assert environment.act("nonsense").endswith("The episode is over.")
    assert trl.environment_factory(env_name, max_steps=1)().get_reward() == 0.0


def test_unknown_rewards_are_refused() -> None:
    with pytest.raises(lodestep.InvalidArgument, match="success, return"):
        trl.environment_factory("dummy", reward="won")


def test_the_rows_of_the_example_are_episodes() -> None:
    if "sokoban" not in [row["name"] for row in lodestep.environments()]:
        pytest.skip("sokoban is not registered in this build")
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "trl_grpo.py"))
    rows = example["rows"](3)
    assert len({row["task"] for row in rows}) == 3
    environment = trl.environment_factory("sokoban", max_steps=15)()
    for row in rows:
        assert "\t" in environment.reset(**row) and environment._env.task.id == row["task"]
