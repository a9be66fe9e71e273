"""Environment managers with verl-agent's interface: texts in, prompts and anchors out, whole batches at a time.

    envs, val_envs = lodestep.verl_agent.make_envs(config)      # instead of verl-agent's own make_envs
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lodestep.environments import Factory, open_environment
from lodestep.errors import InvalidArgument, NotFound, Unsupported
from lodestep.prompts import Prompter
from lodestep.verl_agent.groups import VectorEnvs, draw_tasks, start_groups
from lodestep.verl_agent.vectors import tracked_facts
from lodestep.verl_agent.views import goal_of, shown_actions, shown_observation

__all__ = ["ANCHORS", "RECIPES", "EnvironmentManager", "make_envs"]

#: What names a state for step credit: the shown text; the text with the sorted admissible commands, as the GraphGPO
#: recipe has it for ALFWorld; the image; or the environment's own keys.
ANCHORS = ("text", "text+actions", "image", "exact", "relevant")

#: Whose environments make_envs makes alike: verl-agent's own managers, or those of its GraphGPO recipe.
RECIPES = ("stock", "graphgpo")

#: What the trainer's own environments pay for a win, where ours pays 1.
_REWARD_SCALE = {"alfworld": 10.0}

_ALFWORLD_TYPES = (
    "pick_and_place",
    "pick_two_obj_and_place",
    "look_at_obj_in_light",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_clean_then_place_in_recep",
)


class EnvironmentManager:
    """`groups` tasks with `group_size` members each, task after task, all stepped together.

    Each reset draws the next tasks of the split by the seed; the members of a group start in the same state, which
    is checked. Members that have ended are stepped without effect, as the trainer's loop does.
    """

    def __init__(
        self,
        factory: Factory,
        *,
        groups: int,
        group_size: int = 1,
        split: str | None = None,
        max_steps: int | None = None,
        seed: int = 0,
        history_length: int | None = None,
        prompt_templates: str | os.PathLike[str] | None = None,
        anchor: str | None = None,
        image: bool = False,
        threads: int = 0,
    ) -> None:
        """`image`: the model sees images, of a factory opened with them. `anchor` is one of ANCHORS, by default what is
        shown: the text or the image."""
        anchor = anchor or ("image" if image else "text")
        if anchor not in ANCHORS:
            raise InvalidArgument(f"unknown anchor {anchor!r}", factory.name, f"known: {', '.join(ANCHORS)}")
        self.factory = factory
        self.groups = groups
        self.group_size = group_size
        self.split = split or factory.splits[0]
        self.seed = seed
        self.anchor = anchor
        self.image = image
        self.prompter = Prompter(
            factory.name, prompt_templates=prompt_templates, history_length=history_length, image=image
        )
        budget = factory.default_max_steps if max_steps is None else max_steps
        self.envs = VectorEnvs(factory, groups * group_size, budget, threads)
        self._resets = 0
        self._goals: list[str] = []
        self._shown: list[str] = []
        self._history: list[list[tuple[str, str]]] = []

    def __len__(self) -> int:
        return len(self.envs)

    def reset(self, kwargs: Any = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Starts the next episodes. `kwargs` may name them: {"tasks": one id per group, "seed": number}."""
        chosen = dict(kwargs) if isinstance(kwargs, Mapping) else {}
        seed = int(chosen.get("seed", self.seed))
        tasks = chosen.get("tasks")
        if tasks is None:
            tasks = draw_tasks(self.factory, self.split, self.groups, seed, self._resets)
        if len(tasks) != self.groups:
            raise InvalidArgument(f"{len(tasks)} tasks for {self.groups} groups", self.factory.name)
        start_groups(self.envs, tasks, self.group_size, seed, self._resets)
        self._resets += 1
        details = self.envs.details()
        self._goals = [goal_of(detail) for detail in details]
        self._history = [[] for _ in details]
        return self._observe(details, None)

    def step(
        self, text_actions: Sequence[str]
    ) -> tuple[dict[str, Any], np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Plays one reply of the model per member."""
        if len(text_actions) != len(self):
            raise InvalidArgument(f"{len(text_actions)} replies for {len(self)} environments", self.factory.name)
        answers = [self.prompter.answer(reply) for reply in text_actions]
        for history, shown, (action, _) in zip(self._history, self._shown, answers):
            history.append((shown, action))
        self.envs.step([action for action, _ in answers])
        observation, infos = self._observe(self.envs.details(), [valid for _, valid in answers])
        rewards = (self.envs.rewards * _REWARD_SCALE.get(self.factory.name, 1.0)).astype(np.float32)
        return observation, rewards, self.envs.terminated | self.envs.truncated, infos

    def success_evaluator(self, **kwargs: Any) -> dict[str, np.ndarray]:
        """Success of every member at its last active step, and rates by kind where an environment has kinds."""
        found: dict[str, list[float]] = defaultdict(list)
        for infos, rows in zip(kwargs["total_infos"], kwargs["total_batch_list"]):
            active = [i for i, row in enumerate(rows) if row["active_masks"]]
            info = infos[active[-1]] if active else {"won": 0.0}
            won = float(info["won"])
            found["success_rate"].append(won)
            if "task_score" in info:
                found["webshop_task_score (not success_rate)"].append(float(info["task_score"]))
            for kind in _ALFWORLD_TYPES:
                if kind in str(info.get("extra.gamefile", "")):
                    found[f"{kind}_success_rate"].append(won)
                    break
        return {name: np.array(values) for name, values in found.items()}

    def close(self) -> None:
        """Nothing to do: no process, no connection."""

    def _observe(
        self, details: list[dict[str, Any]], valid: list[bool] | None
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        admissible = self.envs.admissible_actions()
        self._shown = [
            shown_observation(text, goal) for text, goal in zip(self.envs.observations, self._goals)
        ]
        prompts = [
            self.prompter.prompt(goal, shown, shown_actions(detail, actions), history)
            for goal, shown, detail, actions, history in zip(
                self._goals, self._shown, details, admissible, self._history
            )
        ]
        keys = self.envs.state_keys()
        infos = []
        for i, detail in enumerate(details):
            info: dict[str, Any] = {
                "won": bool(self.envs.success[i]),
                "truncated": bool(self.envs.truncated[i]),
                "task": self.envs.task(i).id,
                "state_key": keys[i].exact,
                "action_valid": bool(self.envs.valid[i]),
            }
            if valid is not None:
                info["is_action_valid"] = valid[i]
            if "available_actions" in detail:
                page = detail["available_actions"]
                info["available_actions"] = {name: page[name] for name in ("has_search_bar", "clickables")}
                info["task_score"] = detail.get("task_score") or 0.0
            else:
                info["admissible_commands"] = admissible[i]
            if "gamefile" in detail:
                info["extra.gamefile"] = detail["gamefile"]
            if "moved_player" in detail:
                info["action_is_effective"] = detail["moved_player"]
            info.update(tracked_facts(detail))
            infos.append(info)
        image = self._images() if self.image else None
        return {"text": prompts, "image": image, "anchor": self._anchors(image)}, infos

    def _images(self) -> np.ndarray:
        images = self.envs.images
        if images is None:
            raise Unsupported("the environment shows no images", self.factory.name, "open it with image='rgb'")
        return np.array(images)  # the next step writes over them

    def _anchors(self, image: np.ndarray | None) -> Any:
        if self.anchor == "image":
            return self._images() if image is None else image
        if self.anchor == "text":
            return list(self._shown)
        if self.anchor == "text+actions":
            commands = self.envs.admissible_actions()
            return [f"{shown} {','.join(sorted(actions))}" for shown, actions in zip(self._shown, commands)]
        return [getattr(keys, self.anchor) for keys in self.envs.state_keys()]


def make_envs(
    config: Any,
    *,
    data: str | os.PathLike[str] | None = None,
    prompt_templates: str | os.PathLike[str] | None = None,
    anchor: str | None = None,
    recipe: str | None = None,
    **settings: Any,
) -> tuple[EnvironmentManager, EnvironmentManager]:
    """(training, validation) managers from verl-agent's configuration.

    Read are env.env_name, seed, max_steps, history_length, rollout.n, alfworld.eval_dataset, sokoban.{dim_room,
    num_boxes, search_depth, mode}, webshop.{observation_mode, human_goals}, data.train_batch_size and val_batch_size.
    Beyond them env.data, env.prompt_templates, env.anchor and env.recipe, or the arguments here. `recipe` is one of
    RECIPES, by default "graphgpo" if algorithm.adv_estimator says so; its ALFWorld adds place, hands and moves to
    each text and the commands to the anchor. Validation uses seed + 1000. `settings` are the environment's options.
    """
    name = str(_pick(config, "env.env_name", "")).lower()
    known = ("alfworld", "webshop", "sokoban")
    env = next((kind for kind in known if kind in name), name)
    data = _pick(config, "env.data", "") if data is None else data
    templates = _pick(config, "env.prompt_templates", None) if prompt_templates is None else prompt_templates
    if recipe is None:
        asked = str(_pick(config, "algorithm.adv_estimator", "")).lower()
        recipe = str(_pick(config, "env.recipe", "graphgpo" if "graphgpo" in asked else "stock"))
    if recipe not in RECIPES:
        raise InvalidArgument(f"unknown recipe {recipe!r}", "make_envs", f"known: {', '.join(RECIPES)}")
    image = env == "sokoban" and _shows_images(config)
    chosen = {**_settings(config, env, recipe), **({"image": "rgb"} if image else {}), **settings}
    located = env == "alfworld" and recipe == "graphgpo"
    factory = open_environment(env, data, **chosen)
    seed = int(_pick(config, "env.seed", 0))
    common: dict[str, Any] = {
        "max_steps": int(_pick(config, "env.max_steps", factory.default_max_steps)),
        "history_length": int(_pick(config, "env.history_length", 2)),
        "prompt_templates": templates,
        "anchor": anchor or _pick(config, "env.anchor", "text+actions" if located else None),
        "image": image,
    }
    train = EnvironmentManager(
        factory,
        groups=int(_pick(config, "data.train_batch_size", 16)),
        group_size=max(1, int(_pick(config, "env.rollout.n", 1))),
        seed=seed,
        **common,
    )
    held_out = EnvironmentManager(
        factory,
        groups=int(_pick(config, "data.val_batch_size", 128)),
        split=_validation_split(config, factory),
        seed=seed + 1000,
        **common,
    )
    return train, held_out


def _pick(config: Any, path: str, default: Any) -> Any:
    """A value of nested mappings or objects; the default where a part is missing or None."""
    for part in path.split("."):
        config = config.get(part) if isinstance(config, Mapping) or hasattr(config, "get") else getattr(config, part, None)
        if config is None:
            return default
    return config


def _shows_images(config: Any) -> bool:
    """Sokoban's mode: the one with "tiny" in its name is text."""
    mode = _pick(config, "env.sokoban.mode", "tiny_rgb_array")
    if mode not in ("tiny_rgb_array", "rgb_array"):
        raise InvalidArgument(f"unknown mode {mode!r}", "env.sokoban.mode", "known: tiny_rgb_array, rgb_array")
    return bool(mode == "rgb_array")


def _settings(config: Any, env: str, recipe: str) -> dict[str, Any]:
    if env == "sokoban":
        rows, columns = _pick(config, "env.sokoban.dim_room", (6, 6))
        found: dict[str, Any] = {
            "size": f"{rows}x{columns}",
            "boxes": _pick(config, "env.sokoban.num_boxes", 1),
        }
        depth = _pick(config, "env.sokoban.search_depth", None)
        return found if depth is None else {**found, "depth": depth}
    if env == "webshop":
        return {
            "variant": "verl",
            "scheme": "verl",
            "mode": _pick(config, "env.webshop.observation_mode", "text_rich" if recipe == "graphgpo" else "text"),
            "human_goals": bool(_pick(config, "env.webshop.human_goals", False)),
        }
    if env == "alfworld" and recipe == "graphgpo":
        return {"observation": "located"}
    return {}


def _validation_split(config: Any, factory: Factory) -> str:
    named = {"eval_in_distribution": "valid_seen", "eval_out_of_distribution": "valid_unseen"}
    asked = _pick(config, "env.alfworld.eval_dataset", None) if factory.name == "alfworld" else None
    for split in (named.get(str(asked), asked), "valid_seen", "valid", "test", *factory.splits):
        if split in factory.splits:
            return split
    raise NotFound("there is no validation split", factory.name, f"splits: {', '.join(factory.splits)}")
