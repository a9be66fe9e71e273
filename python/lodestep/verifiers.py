"""For verifiers (v1): a taskset of an environment's task list, and an environment in which one player acts.

    env = vf.load_environment(...)      # with taskset lodestep.verifiers:LodestepTaskset, see docs/python.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from lodestep.environments import open_environment, tasks
from lodestep.prompts import Prompter
from lodestep.verl_agent.views import goal_of, shown_actions

__all__ = ["LodestepConfig", "LodestepData", "LodestepEnv", "LodestepEnvConfig", "LodestepTask", "LodestepTaskset"]

SYSTEM_PROMPT = (
    "You act in a text environment, one action a turn. Think first, between <think> and </think>, then give "
    "exactly one action between <action> and </action>."
)


class LodestepConfig(vf.TasksetConfig):
    env: str = "sokoban"
    data: str = ""
    split: str = ""
    """Empty: the environment's default split."""
    max_steps: int = 0
    """0: the environment's own budget."""
    settings: dict[str, str] = {}


class LodestepData(vf.TaskData):
    info: dict[str, Any]
    """Environment, settings, task id and seed: the whole episode."""


class LodestepTask(vf.Task[LodestepData, vf.State, vf.TaskConfig]):
    pass


class LodestepEnvConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig()


class LodestepTaskset(vf.Taskset[LodestepTask, LodestepConfig]):
    def load(self) -> Iterator[LodestepTask]:
        config = self.config
        factory = open_environment(config.env, config.data, **config.settings)
        env, prompter = factory.make(), Prompter(config.env)
        for task in tasks(factory, config.split or None):
            first = env.reset(task, seed=0)
            details = env.details()
            yield LodestepTask(
                LodestepData(
                    name=f"{config.env}/{task}",
                    prompt=prompter.prompt(
                        goal_of(details), first.observation, shown_actions(details, env.admissible_actions())
                    ),
                    system_prompt=SYSTEM_PROMPT,
                    info={
                        "env": config.env,
                        "data": config.data,
                        "settings": dict(config.settings),
                        "task": task,
                        "seed": 0,
                        "max_steps": config.max_steps or factory.default_max_steps,
                    },
                ),
                config.task,
            )


class LodestepEnv(vf.Env[LodestepEnvConfig]):
    async def run(self, task: LodestepTask, agents: Any) -> None:
        info = task.data.info
        env = open_environment(info["env"], info["data"], **info["settings"]).make(info["max_steps"])
        prompter = Prompter(info["env"])
        step = env.reset(info["task"], seed=info["seed"])
        history: list[tuple[str, str]] = []
        total = 0.0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                action, _ = prompter.answer(segment.last_reply)
                history.append((step.observation, action))
                step = env.step(action)
                total += step.reward
                if step.done:
                    break
                details = env.details()
                actions = shown_actions(details, env.admissible_actions())
                segment = await interaction.turn(
                    prompter.prompt(goal_of(details), step.observation, actions, history)
                )
        trace = interaction.trace
        trace.record_reward("success", float(step.outcome == "success"), 1.0)
        trace.record_reward("return", total, 0.0)
        trace.info["truncated"] = step.truncated
