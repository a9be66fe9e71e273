"""The environments inside verl-agent's own managers, for those who keep its managers: the same arguments and answers.

    from lodestep.verl_agent import build_webshop_envs       # in the place of its env_package's
    envs = build_webshop_envs(seed=0, env_num=16, group_n=8, data="shop.db")
    texts, infos = envs.reset()
    texts, rewards, dones, infos = envs.step(actions)        # actions as its projection functions give them

No processes are started. `data` and further keywords are those of lodestep.open_environment; of `env_kwargs` what is named
below is read (file paths are the original program's own), `resources_per_worker` and `alf_config_path` have nothing to say here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lodestep.environments import Factory, open_environment
from lodestep.errors import InvalidArgument
from lodestep.verl_agent.groups import VectorEnvs, draw_tasks, start_groups

__all__ = [
    "AlfworldEnvs", "SokobanEnvs", "WebshopEnvs", "build_alfworld_envs", "build_sokoban_envs", "build_webshop_envs",
]  # fmt: skip

Infos = list[dict[str, Any]]



def tracked_facts(detail: Mapping[str, Any]) -> dict[str, Any]:
    """What the GraphGPO recipe's ALFWorld tells beside the text, as its manager reads it."""
    if "obs_location" not in detail:
        return {}
    return {
        "obs_location": detail["obs_location"],
        "obs_holding": detail["obs_holding"],
        "items_info": {
            item: {mark: mark in marks for mark in ("heated", "cooled", "cleaned", "sliced")}
            for item, marks in detail["items_info"].items()
        },
        "item_location": {
            item: {"old_location": place["old"], "new_location": place["new"]}
            for item, place in detail["item_location"].items()
        },
    }


class _Envs:
    def __init__(self, factory: Factory, seed: int, env_num: int, group_n: int, split: str, max_steps: int = 0) -> None:
        self.factory = factory
        self.seed = seed
        self.env_num = env_num
        self.group_n = group_n
        self.num_processes = env_num * group_n
        self.split = split
        self.core = VectorEnvs(factory, self.num_processes, max_steps)
        self._resets = 0

    def _start(self) -> None:
        start_groups(self.core, self._next_tasks(), self.group_n, self.seed, self._resets)
        self._resets += 1

    def _next_tasks(self) -> list[str]:
        return draw_tasks(self.factory, self.split, self.env_num, self.seed, self._resets)

    def _play(self, actions: Sequence[str]) -> tuple[list[float], list[bool]]:
        if len(actions) != self.num_processes:
            raise InvalidArgument(f"{len(actions)} actions for {self.num_processes} environments", self.factory.name)
        self.core.step(list(actions))
        return self.core.rewards.tolist(), (self.core.terminated | self.core.truncated).tolist()

    def close(self) -> None:
        """Nothing to do: no process, no connection."""


class AlfworldEnvs(_Envs):
    """reset() -> (texts, None, infos); step(texts) -> (texts, None, rewards, dones, infos). A win pays 10. The texts are the
    game's alone; the infos have what the GraphGPO recipe's manager adds to them."""

    multi_modal = False

    def reset(self) -> tuple[list[str], None, Infos]:
        self._start()
        return self._texts(), None, self._infos()

    def step(self, actions: Sequence[str]) -> tuple[list[str], None, list[float], list[bool], Infos]:
        _, dones = self._play(actions)
        infos = self._infos()
        return self._texts(), None, [10.0 * info["won"] for info in infos], dones, infos

    def _texts(self) -> list[str]:
        return [text.rpartition(" Location: ")[0] for text in self.core.observations]

    @property
    def get_admissible_commands(self) -> list[list[str]]:
        return self.core.admissible_actions()

    def _infos(self) -> Infos:
        commands, details, won = self.core.admissible_actions(), self.core.details(), self.core.success.tolist()
        return [
            {
                "won": won[i],
                "admissible_commands": commands[i],
                "extra.gamefile": detail["gamefile"],
                **tracked_facts(detail),
            }
            for i, detail in enumerate(details)
        ]


class WebshopEnvs(_Envs):
    """reset() -> (texts, infos); step(texts) -> (texts, rewards, dones, infos). Goals are the original's sessions: 0 to 499
    for validation, the others for training, drawn as it draws them, and one goal table for all members."""

    def __init__(self, factory: Factory, seed: int, env_num: int, group_n: int, is_train: bool) -> None:
        super().__init__(factory, seed, env_num, group_n, split="")
        goals = sum(factory.task_count(split) for split in factory.splits)
        self.goal_idxs = range(500, goals) if is_train else range(min(500, goals))
        if len(self.goal_idxs) < env_num:
            raise InvalidArgument(f"{len(self.goal_idxs)} goals for {env_num} groups", factory.name, f"of {goals} goals")
        self._random = np.random.RandomState(seed)

    def reset(self) -> tuple[list[str], Infos]:
        self._start()
        return self.core.observations, self._infos()

    def step(self, actions: Sequence[str]) -> tuple[list[str], list[float], list[bool], Infos]:
        rewards, dones = self._play(actions)
        return self.core.observations, rewards, dones, self._infos()

    def _next_tasks(self) -> list[str]:
        chosen = self._random.choice(self.goal_idxs, size=self.env_num, replace=False)
        return [f"session/{goal}" for goal in chosen.tolist()]

    def _infos(self) -> Infos:
        won, infos = self.core.success.tolist(), []
        for i, detail in enumerate(self.core.details()):
            page: Any = detail["available_actions"]
            allowed = {name: page[name] for name in ("has_search_bar", "clickables")}  # the manager refuses other keys
            infos.append({"won": won[i], "task_score": detail["task_score"] or 0.0, "available_actions": allowed})
        return infos


class SokobanEnvs(_Envs):
    """reset() -> (texts or images, infos); step(numbers) -> (texts or images, rewards, dones, infos). 0 is no action, 1 to 4
    are up, down, left, right."""

    WORDS = ("still", "up", "down", "left", "right")

    def __init__(self, factory: Factory, seed: int, env_num: int, group_n: int, split: str, max_steps: int, mode: str) -> None:
        super().__init__(factory, seed, env_num, group_n, split, max_steps)
        self.mode = mode

    def reset(self) -> tuple[Any, Infos]:
        self._start()
        return self.render(), [{"won": False} for _ in range(self.num_processes)]

    def step(self, actions: Sequence[int]) -> tuple[Any, list[float], list[bool], Infos]:
        for action in actions:
            if not 0 <= int(action) < len(self.WORDS):
                raise InvalidArgument(f"there is no action {action}", "sokoban", "actions are 0 to 4")
        rewards, dones = self._play([self.WORDS[int(action)] for action in actions])
        won, details = self.core.success.tolist(), self.core.details()
        infos = [{"action_is_effective": detail["moved_player"], "won": won[i]} for i, detail in enumerate(details)]
        return self.render(), rewards, dones, infos

    def render(self, mode: str | None = None) -> Any:
        """What all members see: a list of texts ("tiny_rgb_array") or of images ("rgb_array")."""
        mode = mode or self.mode
        if mode == "tiny_rgb_array":
            return self.core.observations
        if mode == "rgb_array" and self.core.images is not None:
            return list(np.array(self.core.images))
        known = "tiny_rgb_array" if self.core.images is None else "tiny_rgb_array, rgb_array"
        raise InvalidArgument(f"unknown mode {mode!r}", "sokoban", f"known: {known}")


def build_alfworld_envs(
    alf_config_path: str = "",
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    resources_per_worker: Mapping[str, Any] | None = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    data: str | os.PathLike[str] = "",
    **settings: Any,
) -> AlfworldEnvs:
    """env_kwargs: eval_dataset."""
    factory = open_environment("alfworld", data, **{**settings, "observation": "located"})
    asked = str((env_kwargs or {}).get("eval_dataset", "eval_in_distribution"))
    held_out = "valid_unseen" if "out_of" in asked else "valid_seen"
    split = factory.splits[0] if is_train else held_out
    return AlfworldEnvs(factory, seed, env_num, group_n, split)


def build_webshop_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    resources_per_worker: Mapping[str, Any] | None = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    data: str | os.PathLike[str] = "",
    **settings: Any,
) -> WebshopEnvs:
    """env_kwargs: observation_mode, human_goals, num_products, show_attrs."""
    asked = dict(env_kwargs or {})
    chosen = {"variant": "verl", "scheme": "verl", "mode": asked.get("observation_mode", "text")}
    for name in ("human_goals", "num_products", "show_attrs"):
        if asked.get(name) is not None:
            chosen[name] = asked[name]
    factory = open_environment("webshop", data, **{**chosen, **settings})
    return WebshopEnvs(factory, seed, env_num, group_n, is_train)


def build_sokoban_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    mode: str = "tiny_rgb_array",
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    resources_per_worker: Mapping[str, Any] | None = None,
    *,
    data: str | os.PathLike[str] = "",
    **settings: Any,
) -> SokobanEnvs:
    """env_kwargs: dim_room, num_boxes, search_depth, max_steps (the environment's own limit)."""
    asked = dict(env_kwargs or {})
    chosen: dict[str, Any] = {"image": "rgb"} if mode == "rgb_array" else {}
    if "dim_room" in asked:
        chosen["size"] = "x".join(map(str, asked["dim_room"]))
    for theirs, ours in (("num_boxes", "boxes"), ("search_depth", "depth")):
        if asked.get(theirs) is not None:
            chosen[ours] = asked[theirs]
    factory = open_environment("sokoban", data, **{**chosen, **settings})
    split = factory.splits[0] if is_train else "valid"
    return SokobanEnvs(factory, seed, env_num, group_n, split, int(asked.get("max_steps") or 0), mode)
