"""OpenEnv's own client plays whole episodes of every environment against `lodestep serve`.

The client lives in an environment of its own: LODESTEP_OPENENV_PYTHON names its interpreter (scripts/python-tests.sh makes one).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lodestep

PLAYER = """
import asyncio, json, sys
from openenv.core.generic_client import GenericEnvClient

async def play(url, resets):
    async with GenericEnvClient(base_url=url) as client:
        episodes = []
        for reset, actions in resets:
            result = await client.reset(**reset)
            steps = [(result.observation["text"], None, bool(result.done))]
            for action in actions:
                result = await client.step({"command": action})
                steps.append((result.observation["text"], result.reward, bool(result.done)))
            state = await client.state()
            count = state["step_count"] if isinstance(state, dict) else state.step_count
            episodes.append({"steps": steps, "count": count})
        return episodes

async def main():
    jobs = json.load(sys.stdin)
    print(json.dumps(await asyncio.gather(*(play(url, resets) for url, resets in jobs))))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python() -> str:
    named = os.environ.get("LODESTEP_OPENENV_PYTHON", sys.executable)
    probe = subprocess.run([named, "-c", "import openenv.core.generic_client"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"openenv-core's client is not installed: {probe.stderr.strip().splitlines()[-1]}")
    return named


def play(python: str, jobs: list[tuple[str, Any]]) -> list[list[dict[str, Any]]]:
    run = subprocess.run([python, "-c", PLAYER], input=json.dumps(jobs), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def in_process(env: lodestep.Environment, reset: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The gold player's actions, and what it sees."""
    step = env.reset(**reset)
    actions, steps = [], [[step.observation, None, False]]
    while not step.done and (action := env.gold_action()):
        step = env.step(action)
        actions.append(action)
        steps.append([step.observation, step.reward, step.done])
    assert step.outcome == "success"
    return actions, steps


def test_full_episodes_of_every_environment(python: str, url: str, env_name: str) -> None:
    env = lodestep.make(env_name)
    resets = [{"split": split, "index": i, "seed": 5} for split in env.factory.splits for i in range(2)]
    played = [in_process(env, reset) for reset in resets]
    # What a trainer passes on with a reset, a whole row of its data, does no harm.
    rows = [({**reset, "prompt": [{"role": "user", "content": "go"}], "answer": None}, p[0]) for reset, p in zip(resets, played)]
    (episodes,) = play(python, [(f"{url}/openenv/{env_name}", rows)])
    for episode, (actions, steps) in zip(episodes, played):
        assert episode == {"steps": steps, "count": len(actions)}


def test_members_of_a_group_play_alike_at_once(python: str, url: str, env_name: str) -> None:
    actions = ["no such action", "look", "up"]
    members = play(python, [(f"{url}/openenv/{env_name}", [({"seed": 11}, actions)])] * 16)
    assert all(member == members[0] for member in members)
    assert members[0][0]["count"] == 3


HARNESS = """
import json, sys
from openenv.core.harness import HarnessRunLimits, MCPHarnessAdapter, ModelStepResult
from openenv.core.llm_client import LLMResponse, ToolCall
from lodestep.openenv import SessionFactory

name, replies = json.load(sys.stdin)
factory = SessionFactory(name, max_steps=60)
first, second = (factory.create([{"role": "user", "content": "Play."}], seed=5) for _ in range(2))
assert first.initial_messages() == second.initial_messages() and len(first.initial_messages()) == 2
lines = iter(replies)

def model(messages, tools, sampling):
    assert [tool.name for tool in tools] == ["act"]
    line = next(lines, None)
    calls = [] if line is None else [ToolCall(id="1", name="act", args={"action": line})]
    return ModelStepResult(response=LLMResponse(content="", tool_calls=calls))

result = MCPHarnessAdapter().run_white_box(model, first, HarnessRunLimits(max_turns=70))
assert [entry.result.error for entry in result.tool_trace] == [None] * len(replies)
verdict = first.verify(result.messages)
print(json.dumps([verdict.env_reward, verdict.metrics, result.done, second.verify([]).env_reward]))
assert "no tool" in second.call_tool("open", {}).error and "one text" in second.call_tool("act", {"act": 1}).error
first.close(), second.close()
"""


def test_a_harness_plays_sessions_in_process(python: str, env_name: str, tmp_path: Path) -> None:
    probe = "import numpy, openenv.core.harness as h; h.MCPHarnessAdapter"
    if subprocess.run([python, "-c", probe], capture_output=True).returncode != 0:
        pytest.skip("no OpenEnv with harnesses and numpy")
    env = lodestep.make(env_name, max_steps=60)
    actions, _ = in_process(env, {"seed": 5})
    (tmp_path / "lodestep").symlink_to(Path(lodestep.__file__).parent)
    run = subprocess.run(
        [python, "-c", HARNESS], input=json.dumps([env_name, actions]), capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    metrics = {"steps": len(actions), "success": 1.0}
    assert json.loads(run.stdout) == [1.0, metrics, True, 0.0]
