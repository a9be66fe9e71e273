"""For TRL: an environment factory for GRPOTrainer.

    from trl import GRPOTrainer
    trainer = GRPOTrainer(..., environment_factory=lodestep.trl.environment_factory("alfworld", max_steps=50))

A dataset row may name its episode with the columns `task` (an id) or `split` and `index`, and `seed`; rows that
share them play the same episode, so give all members of a group the same. Without them the seed is random.
"""

from __future__ import annotations

import os
from typing import Any

from lodestep.environments import Environment, open_environment
from lodestep.errors import InvalidArgument

__all__ = ["environment_factory"]


def environment_factory(
    name: str,
    data: str | os.PathLike[str] = "",
    *,
    max_steps: int | None = None,
    reward: str = "success",
    show_actions: bool = True,
    **settings: Any,
) -> type:
    """A class whose objects are environments with one tool, `act`.

    `reward` is "success" (1 or 0) or "return" (the sum of the environment's rewards). The data are opened once and
    shared by all objects. `show_actions` adds the admissible actions to what the model reads.
    """
    if reward not in ("success", "return"):
        raise InvalidArgument(f"unknown reward {reward!r}", "environment_factory", "known: success, return")
    factory = open_environment(name, data, **settings)
    budget = factory.default_max_steps if max_steps is None else max_steps

    class LodestepEnvironment:
        # The trainer takes every public function of this class as a tool, except reset and get_reward.
        def __init__(self) -> None:
            self._env: Environment = factory.make(budget)
            self._return = 0.0
            self._success = False
            self._done = True

        def reset(self, **row: Any) -> str:
            chosen = {key: row[key] for key in ("seed", "split", "index") if row.get(key) is not None}
            step = self._env.reset(row.get("task"), **chosen)
            self._return, self._success, self._done = 0.0, False, step.done
            return self._shown(step.observation)

        def act(self, action: str) -> str:
            """Plays one action in the environment.

            Args:
                action: The action to play, in the environment's own words.

            Returns:
                What you see after the action.
            """
            if self._done:
                return "The episode is over."
            step = self._env.step(action)
            self._return += step.reward
            self._success = step.outcome == "success"
            self._done = step.done
            return self._shown(step.observation)

        def get_reward(self) -> float:
            return float(self._success) if reward == "success" else self._return

        def _shown(self, observation: str) -> str:
            if self._done:
                return f"{observation}\n\nThe episode is over."
            if not show_actions:
                return observation
            return f"{observation}\n\nPossible actions: {', '.join(self._env.admissible_actions())}"

    LodestepEnvironment.__name__ = LodestepEnvironment.__qualname__ = f"{name.capitalize()}Environment"
    return LodestepEnvironment
