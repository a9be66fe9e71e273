"""SkyRL-gym and verifiers: the real libraries drive our classes, with scripted replies in the place of a model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

import lodestep
from lodestep.prompts import Prompter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def reply(action: str) -> str:
    return f"<think>so</think><action>{action}</action>"


def gold_replies(env_name: str, task: str, max_steps: int) -> list[str]:
    env = lodestep.make(env_name, max_steps=max_steps)
    step, out = env.reset(task, seed=0), []
    while not step.done and (action := env.gold_action()):
        out.append(reply(action))
        step = env.step(action)
    return out


def test_skyrl_gym(env_name: str) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is not installed")

    if "lodestep" not in skyrl_gym.registry:
        skyrl_gym.register(id="lodestep", entry_point="lodestep.skyrl:LodestepTextEnv")
    task = lodestep.tasks(lodestep.open_environment(env_name))[0]
    config = {"env": env_name, "max_turns": 60}
    env = skyrl_gym.make("lodestep", env_config=config, extras={"task": task, "seed": 0, "reward_spec": None})
    prompt, metadata = env.init([{"role": "system", "content": "play"}])
    assert [message["role"] for message in prompt] == ["system", "user"]
    assert metadata == {"task": task, "seed": 0}
    answers = [env.step(text) for text in gold_replies(env_name, task, 60)]
    assert [answer["done"] for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert all(set(answer) >= {"observations", "reward", "done", "metadata"} for answer in answers)
    assert all(message["role"] == "user" for answer in answers[:-1] for message in answer["observations"])
    metrics = env.get_metrics()
    assert metrics["success"] == 1.0 and metrics["steps"] == len(answers) and metrics["invalid_replies"] == 0
    env.close()
    short = skyrl_gym.make("lodestep", env_config={"env": env_name}, extras={"task": task, "max_turns": 2})
    short.init([])
    assert not short.step("no tags")["done"]
    last = short.step(reply("nonsense"))
    assert last["done"] and last["metadata"]["truncated"] and not last["metadata"]["terminated"]
    # Sokoban's reply is one of five words; elsewhere any text between the tags is well formed.
    assert short.get_metrics()["invalid_replies"] == (2 if env_name == "sokoban" else 1) and short.get_metrics()["success"] == 0.0


class Trace:
    def __init__(self) -> None:
        self.rewards: dict[str, float] = {}
        self.info: dict = {}

    def record_reward(self, name: str, value: float, weight: float = 1.0) -> None:
        self.rewards[name] = value


class Player:
    """An agent that says its lines, as the library's interaction hands them over."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.heard, self.trace = lines, [], Trace()

    @asynccontextmanager
    async def interaction(self, task):
        yield self

    async def turn(self, text: str | None = None):
        self.heard.append(text)
        line = self.lines[len(self.heard) - 1] if len(self.heard) <= len(self.lines) else None
        return SimpleNamespace(last_reply=line, terminated=line is None)


def test_verifiers(env_name: str) -> None:
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    from lodestep.verifiers import LodestepConfig, LodestepEnv, LodestepTaskset

    taskset = LodestepTaskset(LodestepConfig(id="lodestep.verifiers", env=env_name, max_steps=60))
    tasks = list(islice(taskset, 2))
    ids = lodestep.tasks(lodestep.open_environment(env_name))
    assert [task.data.info["task"] for task in tasks] == list(ids[:2])
    assert tasks[0].data.idx == 0 and tasks[0].data.prompt
    won = Player(gold_replies(env_name, ids[0], 60))
    asyncio.run(LodestepEnv.run(None, tasks[0], SimpleNamespace(player=won)))
    assert won.trace.rewards["success"] == 1.0 and won.heard[0] is None
    silent = Player([reply("nonsense")])  # stops after one reply
    asyncio.run(LodestepEnv.run(None, tasks[0], SimpleNamespace(player=silent)))
    assert silent.trace.rewards["success"] == 0.0 and silent.trace.info["truncated"] is False
    assert isinstance(silent.heard[1], str) and Prompter(env_name).history_length > 0


@pytest.mark.parametrize(
    ("example", "library"), [("skyrl_env.py", "skyrl_gym"), ("verifiers_eval.py", "verifiers.v1")]
)
def test_examples_run(example: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    if "sokoban" not in [row["name"] for row in lodestep.environments()]:
        pytest.skip("sokoban is not registered in this build")
    run = subprocess.run([sys.executable, str(EXAMPLES / example)], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout, run.stderr
