"""For harnesses of OpenEnv (0.4 and newer), such as TRL's asynchronous GRPO: one session per rollout, in this process.

    factory = lodestep.openenv.SessionFactory("alfworld", max_steps=50)
    session = factory.create([{"role": "user", "content": "Play."}], seed=3)    # equal seeds, equal episodes
    session.call_tool("act", {"action": "look"})

OpenEnv's clients need none of this: they play against `lodestep serve`.
"""

from __future__ import annotations

import os
from typing import Any

from openenv.core.env_server.mcp_types import Tool
from openenv.core.harness import ResourceSession, ResourceSessionFactory, ToolResult, VerifyResult

from lodestep.trl import environment_factory

__all__ = ["Session", "SessionFactory"]

_ACT = Tool(
    name="act",
    description="Plays one action in the environment and tells what you see after it.",
    input_schema={
        "type": "object",
        "properties": {"action": {"type": "string", "description": "The action, in the environment's own words."}},
        "required": ["action"],
    },
)


class Session(ResourceSession):  # type: ignore[misc, unused-ignore]
    """One episode. Its only tool is `act`."""

    def __init__(self, environment: Any, prompt: Any, first: str) -> None:
        self._environment = environment
        self._messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt or [])
        self._messages.append({"role": "user", "content": first})

    def initial_messages(self) -> list[dict[str, Any]]:
        return list(self._messages)

    def list_tools(self) -> list[Tool]:
        return [_ACT]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        if name != _ACT.name:
            return ToolResult(error=f"there is no tool {name!r}; known: {_ACT.name}")
        if not isinstance(arguments.get("action"), str) or len(arguments) != 1:
            return ToolResult(error="the tool takes one text: action")
        return ToolResult(data=self._environment.act(arguments["action"]), done=self._environment._done)

    def verify(self, transcript: list[dict[str, Any]], final_state: Any | None = None) -> VerifyResult:
        task = self._environment._env.task
        return VerifyResult(
            env_reward=self._environment.get_reward(),
            done=self._environment._done,
            metrics={"steps": self._environment._env.steps, "success": float(self._environment._success)},
            artifacts={"task": task.id, "seed": task.seed},
        )

    def close(self) -> None:
        """Nothing to do: no process, no connection."""


class SessionFactory(ResourceSessionFactory[Session]):  # type: ignore[misc, unused-ignore]
    """Arguments as for lodestep.trl.environment_factory; the data are opened once for all sessions."""

    def __init__(
        self,
        name: str,
        data: str | os.PathLike[str] = "",
        *,
        split: str | None = None,
        max_steps: int | None = None,
        reward: str = "success",
        show_actions: bool = True,
        **settings: Any,
    ) -> None:
        self._kind = environment_factory(
            name, data, max_steps=max_steps, reward=reward, show_actions=show_actions, **settings
        )
        self._split = split

    def create(self, task: Any, seed: int | None = None, episode_id: str | None = None) -> Session:
        """`task` is the prompt. Sessions with the same seed play the same episode, as the members of a group must."""
        environment = self._kind()
        return Session(environment, task, environment.reset(seed=seed, split=self._split))
