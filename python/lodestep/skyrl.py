"""For SkyRL-gym: register("lodestep", entry_point="lodestep.skyrl:LodestepTextEnv").

`env_config` names the environment: `env`, `data`, `settings`, `max_turns`, `history_length`, `prompt_templates`. A dataset row
may name its episode with the columns `task`, `split`, `index` and `seed`; give all members of a group the same.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from lodestep.environments import Factory, open_environment
from lodestep.prompts import Prompter
from lodestep.verl_agent.views import goal_of, shown_actions

__all__ = ["LodestepTextEnv"]


@functools.cache
def _factory(env: str, data: str, settings: tuple[tuple[str, Any], ...]) -> Factory:
    return open_environment(env, data, **dict(settings))


class LodestepTextEnv(BaseTextEnv):
    """One trajectory. The model's replies are read as verl-agent reads them: the action between <action> tags."""

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        config, row = dict(env_config or {}), dict(extras or {})
        name = config.get("env") or row.get("env", "sokoban")
        factory = _factory(name, str(config.get("data", "")), tuple(sorted(dict(config.get("settings", {})).items())))
        self.max_turns = row.get("max_turns") or config.get("max_turns") or factory.default_max_steps
        self._env = factory.make(self.max_turns)
        self._row = row
        self._prompter = Prompter(
            name, prompt_templates=config.get("prompt_templates"), history_length=config.get("history_length")
        )
        self._history: list[tuple[str, str]] = []
        self._seen = ""
        self._metrics: dict[str, Any] = {}

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        chosen = {key: self._row[key] for key in ("seed", "split", "index") if self._row.get(key) is not None}
        self._seen = self._env.reset(self._row.get("task"), **chosen).observation
        self._history = []
        self._metrics = {"success": 0.0, "return": 0.0, "steps": 0, "invalid_replies": 0}
        task = self._env.task
        return [*prompt, *self._message()], {"task": task.id, "seed": task.seed}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        words, valid = self._prompter.answer(action)
        step = self._env.step(words)
        self._history.append((self._seen, words))
        self._seen = step.observation
        self._metrics["success"] = float(step.outcome == "success")
        self._metrics["return"] += step.reward
        self._metrics["steps"] += 1
        self._metrics["invalid_replies"] += not valid
        return BaseTextEnvStepOutput(
            observations=[] if step.done else self._message(),
            reward=step.reward,
            done=step.done,
            metadata={
                "action": words,
                "reply_valid": valid,
                "action_valid": step.valid,
                "terminated": step.terminated,
                "truncated": step.truncated,
                "state_key": self._env.state_keys().exact,
            },
        )

    def get_metrics(self) -> dict[str, Any]:
        return dict(self._metrics)

    def _message(self) -> list[dict[str, str]]:
        details = self._env.details()
        actions = shown_actions(details, self._env.admissible_actions())
        text = self._prompter.prompt(goal_of(details), self._seen, actions, self._history)
        return [{"role": "user", "content": text}]
