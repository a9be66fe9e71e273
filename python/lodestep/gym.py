"""Gymnasium environments, single and vectorised. Importing this module registers them.

    import gymnasium, lodestep.gym
    env = gymnasium.make("lodestep/Sokoban-v0")
    envs = gymnasium.make_vec("lodestep/Sokoban-v0", num_envs=128, autoreset_mode="same_step")
    fast = gymnasium.make_vec("lodestep/SokobanBoards-v0", num_envs=1024)       # boards as planes

Observations are text by default; `observation="bytes"` gives the text as a fixed array of UTF-8 bytes and
`observation="image"` pixels, where the environment has them. Actions are text by default; `actions="index"`
picks from the sorted list of admissible actions. The step budget truncates, the environment terminates.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import register, registry
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from lodestep import _core
from lodestep.environments import Batch, Factory, environments, open_environment
from lodestep.errors import InvalidArgument, Unsupported

__all__ = ["AnyText", "LodestepEnv", "LodestepVectorEnv", "SokobanBoards", "env_id"]

_PRINTABLE = "".join(map(chr, range(32, 127))) + "\n"
_SPELLING = {"alfworld": "ALFWorld", "webshop": "WebShop"}
_OPTIONS = ("task", "split", "index")


def env_id(name: str) -> str:
    """The registered id of an environment: `lodestep/Sokoban-v0` for "sokoban"."""
    return f"lodestep/{_SPELLING.get(name, name.capitalize())}-v0"


class AnyText(gymnasium.spaces.Text):
    """Any text of at most `max_length` characters. Samples are drawn from `examples` where there are some."""

    def __init__(self, max_length: int, examples: Sequence[str] = (), seed: Any = None) -> None:
        super().__init__(max_length, min_length=0, charset=_PRINTABLE, seed=seed)
        self.examples = tuple(examples)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        if self.examples:
            return self.examples[int(self.np_random.integers(len(self.examples)))]
        letters = self.np_random.integers(len(_PRINTABLE), size=int(self.np_random.integers(33)))
        return "".join(_PRINTABLE[i] for i in letters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"


def _open(
    name: str, data: str | os.PathLike[str], settings: Mapping[str, Any], observation: str, render_mode: str | None
) -> Factory:
    """The factory, with images where they are asked for and the environment can draw them."""
    wanted = observation == "image" or render_mode == "rgb_array"
    if wanted and "image" not in settings and _draws_images(name):
        settings = {**settings, "image": "rgb"}
    return open_environment(name, data, **settings)


def _draws_images(name: str) -> bool:
    options = [option for row in environments() if row["name"] == name for option in row["options"]]
    return any(option["name"] == "image" and "rgb" in option["choices"] for option in options)


class _Form:
    """How texts, pixels and actions look to a user of the environment; shared by both classes."""

    def __init__(
        self, factory: Factory, observation: str, actions: str, max_length: int, max_actions: int
    ) -> None:
        for what, value, known in (
            ("observation", observation, ("text", "bytes", "image")),
            ("actions", actions, ("text", "index")),
        ):
            if value not in known:
                raise InvalidArgument(f"unknown {what}={value!r}", factory.name, f"known: {', '.join(known)}")
        self.observation = observation
        self.actions = actions
        self.max_length = max_length
        probe = factory.make()
        first = probe.reset(split=factory.splits[0], index=0, seed=0)
        self.image_shape = None if first.image is None else first.image.shape
        if observation == "image" and self.image_shape is None:
            raise Unsupported("this environment shows no images", factory.name, "use observation='text'")
        draws = self.image_shape is not None or _draws_images(factory.name)
        self.render_modes = ["ansi", "rgb_array"] if draws else ["ansi"]
        self.action_space: gymnasium.Space[Any]
        if actions == "text":
            self.action_space = AnyText(max_length, probe.admissible_actions())
        else:
            self.action_space = gymnasium.spaces.Discrete(max_actions)
        self.observation_space: gymnasium.Space[Any]
        if observation == "text":
            self.observation_space = AnyText(max_length)
        else:
            shape = self.image_shape if observation == "image" else (max_length,)
            self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)

    def check_render_mode(self, render_mode: str | None) -> None:
        if render_mode is not None and render_mode not in self.render_modes:
            raise Unsupported(f"no render_mode {render_mode!r} here", "render", f"known: {', '.join(self.render_modes)}")

    def action(self, action: Any, admissible: Sequence[str]) -> Any:
        if self.actions == "text":
            return action
        # A number past the end of the list is an action that means nothing, as it would be in text.
        return admissible[int(action)] if 0 <= int(action) < len(admissible) else ""

    def see(self, text: str, image: np.ndarray | None) -> Any:
        if self.observation == "image":
            if image is None or image.shape != self.image_shape:
                raise Unsupported("an image of another size", "observation", "use tasks of one size")
            return np.array(image)
        if self.observation == "text":
            if len(text) > self.max_length:
                raise Unsupported(f"an observation of {len(text)} characters", "observation", "raise max_length")
            return text
        data = text.encode()
        if len(data) > self.max_length:
            raise Unsupported(f"an observation of {len(data)} bytes", "observation", "raise max_length")
        out = np.zeros(self.max_length, np.uint8)
        out[: len(data)] = np.frombuffer(data, np.uint8)
        return out


def _check_options(options: Mapping[str, Any], factory: Factory) -> None:
    for key in options:
        if key not in _OPTIONS:
            raise InvalidArgument(f"unknown reset option {key!r}", factory.name, f"known: {', '.join(_OPTIONS)}")


def _draw_task(factory: Factory, seed: int, split: str | None, options: Mapping[str, Any]) -> str:
    """The task of an episode: named by the options, or drawn from the split by the episode's seed."""
    if "task" in options:
        return str(options["task"])
    split = options.get("split", split) or factory.splits[0]
    if "index" in options:
        return factory.task_id(split, options["index"])
    return factory.task_id(split, _core.draw(seed, split, factory.task_count(split)))


def _episode_seed(seed: int | None, generator: np.random.Generator) -> int:
    return int(generator.integers(1 << 63)) if seed is None else seed


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """A mode, its value ("SameStep") or its name in any case ("same_step")."""
    if isinstance(mode, str) and mode.upper() in AutoresetMode.__members__:
        return AutoresetMode[mode.upper()]
    return AutoresetMode(mode)


class LodestepEnv(gymnasium.Env[Any, Any]):
    """One environment. `reset(options={"task": id})` (or split and index) chooses the episode; without, the
    seed draws a task. `info` has task, seed, steps, admissible_actions, state_key, state_hash, valid, won."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        name: str,
        data: str | os.PathLike[str] = "",
        *,
        split: str | None = None,
        max_steps: int | None = None,
        observation: str = "text",
        actions: str = "text",
        max_length: int = 16384,
        max_actions: int = 64,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        factory = _open(name, data, settings, observation, render_mode)
        self._form = _Form(factory, observation, actions, max_length, max_actions)
        self._form.check_render_mode(render_mode)
        self.metadata = {**type(self).metadata, "render_modes": self._form.render_modes}
        self.render_mode = render_mode
        self.action_space = self._form.action_space
        self.observation_space = self._form.observation_space
        self.split = split
        #: The environment itself, for snapshots, forks, gold actions and the like.
        self.core = factory.make(factory.default_max_steps if max_steps is None else max_steps)
        self._pending: dict[str, Any] = {}

    def next_episode(self, *, seed: int | None = None, **options: Any) -> None:
        """Chooses the episode of the next reset, also of one that a vector wrapper makes by itself."""
        _check_options(options, self.core.factory)
        self._pending = {**options, "seed": seed}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        _check_options(options or {}, self.core.factory)
        chosen, self._pending = {**self._pending, **(options or {})}, {}
        own_seed = chosen.pop("seed", None)
        episode = _episode_seed(own_seed if seed is None else seed, self.np_random)
        task = _draw_task(self.core.factory, episode, self.split, chosen)
        return self._see(self.core.reset(task, seed=episode))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        admissible = [] if self._form.actions == "text" else self.core.admissible_actions()
        step = self.core.step(self._form.action(action, admissible))
        observation, info = self._see(step)
        return observation, step.reward, step.terminated, step.truncated, info

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        step = self.core.observe()
        return step.observation if self.render_mode == "ansi" else np.array(step.image)

    def _see(self, step: _core.Step) -> tuple[Any, dict[str, Any]]:
        task = self.core.task
        info = {
            "task": task.id,
            "seed": task.seed,
            "steps": self.core.steps,
            "admissible_actions": self.core.admissible_actions(),
            "state_key": self.core.state_keys().exact,
            "state_hash": self.core.state_hash(),
            "valid": step.valid,
            "won": step.outcome == "success",
        }
        return self._form.see(step.observation, step.image), info


class LodestepVectorEnv(VectorEnv[Any, Any, Any]):
    """Many environments stepped together by native threads. Member i of `reset(seed=s)` plays what a single
    environment seeded s + i plays. All three autoreset modes; `infos["autoreset"]` marks the steps of
    NEXT_STEP mode that only reset: they are no transition and belong in no batch."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        name: str,
        data: str | os.PathLike[str] = "",
        *,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        split: str | None = None,
        max_steps: int | None = None,
        observation: str = "text",
        actions: str = "text",
        max_length: int = 16384,
        max_actions: int = 64,
        threads: int = 0,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        factory = _open(name, data, settings, observation, render_mode)
        self._form = _Form(factory, observation, actions, max_length, max_actions)
        self._form.check_render_mode(render_mode)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {
            **type(self).metadata,
            "render_modes": self._form.render_modes,
            "autoreset_mode": self.autoreset_mode,
        }
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.single_action_space = self._form.action_space
        self.single_observation_space = self._form.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.split = split
        budget = factory.default_max_steps if max_steps is None else max_steps
        #: The episodes themselves.
        self.core = Batch(factory, num_envs, budget, threads)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._pending: dict[int, dict[str, Any]] = {}
        self._ended = np.zeros(num_envs, np.bool_)

    def next_episode(self, member: int, *, seed: int | None = None, **options: Any) -> None:
        """Chooses the episode of a member's next reset, automatic or not; used once."""
        _check_options(options, self.core.factory)
        if not 0 <= member < self.num_envs:
            raise InvalidArgument(f"there is no member {member}", self.core.factory.name, f"0..{self.num_envs - 1}")
        self._pending[member] = {**options, "seed": seed}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        mask = np.ones(self.num_envs, np.bool_) if mask is None else self._check_mask(mask)
        seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)] if not isinstance(
            seed, Sequence
        ) else list(seed)
        if len(seeds) != self.num_envs:
            raise InvalidArgument(f"{len(seeds)} seeds for {self.num_envs} environments", self.core.factory.name)
        self._start(mask, seeds, options)
        infos: dict[str, Any] = {}
        for i, info in self._infos(np.flatnonzero(mask)):
            infos = self._add_info(infos, info, i)
        return self._observations(), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if len(actions) != self.num_envs:
            raise InvalidArgument(f"{len(actions)} actions for {self.num_envs} environments", self.core.factory.name)
        resetting = self._ended.copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and resetting.any():
            member = int(np.flatnonzero(resetting)[0])
            raise gymnasium.error.ResetNeeded(
                f"environment {member} has ended; reset it with options={{'reset_mask': ...}} first"
            )
        if resetting.any():
            self._start(resetting, [None] * self.num_envs, {})
        admissible = None if self._form.actions == "text" else self.core.admissible_actions()
        words: list[str | None] = [
            None if resetting[i] else self._form.action(action, admissible[i] if admissible else ())
            for i, action in enumerate(actions)
        ]
        self.core.step(words)
        rewards = np.where(resetting, 0.0, self.core.rewards)
        terminated, truncated = self.core.terminated.copy(), self.core.truncated.copy()
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            last = self._observations()
            for i, info in self._infos(np.flatnonzero(ended)):
                infos = self._add_info(infos, {"final_obs": last[i], "final_info": info}, i)
            self._start(ended, [None] * self.num_envs, {})
        else:
            self._ended = ended
        for i, info in self._infos(range(self.num_envs)):
            if resetting[i]:
                info["autoreset"] = True
            infos = self._add_info(infos, info, i)
        return self._observations(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return tuple(self.core.observations)
        return tuple(np.array(self.core.images))

    def _check_mask(self, mask: Any) -> np.ndarray:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise InvalidArgument(
                f"reset_mask must be a numpy bool array of shape ({self.num_envs},) with a True in it",
                self.core.factory.name,
            )
        return mask

    def _start(self, mask: np.ndarray, seeds: Sequence[int | None], options: Mapping[str, Any]) -> None:
        _check_options(options, self.core.factory)
        tasks, episodes = [""] * self.num_envs, [0] * self.num_envs
        for i in map(int, np.flatnonzero(mask)):
            chosen = {**self._pending.pop(i, {}), **options}
            own_seed = chosen.pop("seed", None)
            generator = self._generators[i]
            if seeds[i] is not None or generator is None:
                generator, _ = seeding.np_random(seeds[i])
                self._generators[i] = generator
            episodes[i] = _episode_seed(own_seed if seeds[i] is None else seeds[i], generator)
            tasks[i] = _draw_task(self.core.factory, episodes[i], self.split, chosen)
        self.core.reset(tasks, episodes, mask)
        self._ended[mask] = False

    def _observations(self) -> Any:
        images = self.core.images
        seen = [
            self._form.see(text, None if images is None else images[i])
            for i, text in enumerate(self.core.observations)
        ]
        return tuple(seen) if self._form.observation == "text" else np.stack(seen)

    def _infos(self, members: Any) -> Any:
        admissible, keys = self.core.admissible_actions(), self.core.state_keys()
        hashes = self.core.state_hashes()
        for i in map(int, members):
            task = self.core.task(i)
            yield i, {
                "task": task.id,
                "seed": task.seed,
                "steps": int(self.core.steps[i]),
                "admissible_actions": admissible[i],
                "state_key": keys[i].exact,
                "state_hash": hashes[i],
                "valid": bool(self.core.valid[i]),
                "won": bool(self.core.success[i]),
            }


class SokobanBoards(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Sokoban for fast learners: planes (4, rows, columns) of walls, targets, boxes and player, actions 0 (nothing) to
    4 (up, down, left, right), stepped in place by native threads. `tasks` are ids of the environment's task lists;
    `seed` orders them. Member i of a reset plays task `infos["task_index"][i]` of `self.tasks`."""

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        tasks: Sequence[str] | None = None,
        data: str | os.PathLike[str] = "",
        *,
        num_envs: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        split: str | None = None,
        max_tasks: int = 1024,
        max_steps: int = 120,
        rewards: str = "gym",
        copy: bool = True,
        threads: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__()
        factory = open_environment("sokoban", data, **settings)
        if tasks is None:
            listed = split or factory.splits[0]
            tasks = [factory.task_id(listed, i) for i in range(min(max_tasks, factory.task_count(listed)))]
        self.tasks = tuple(tasks)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = None
        self.num_envs = num_envs
        self.copy = copy
        env, levels = factory.make(), []
        for task in self.tasks:
            env.reset(task, seed=0)
            levels.append(env.state_keys().exact.split(":", 1)[1])  # the position itself, rows joined by '/'
        self.core = _core.Boards(levels, num_envs, max_steps, self.autoreset_mode.name.lower(), rewards, threads)
        shape = self.core.planes.shape[1:]
        self.single_observation_space = gymnasium.spaces.Box(0, 1, shape, np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(5)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._order = np.random.default_rng(0)
        self._ended = np.zeros(num_envs, np.bool_)

    def _next_levels(self, members: np.ndarray) -> None:
        """Each member's next reset draws its level from this environment's own stream."""
        for member, level in zip(members, self._order.integers(len(self.tasks), size=len(members))):
            self.core.set_next(int(member), int(level))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self._order = np.random.default_rng(seed)
        mask = (options or {}).get("reset_mask")
        if mask is None:
            self._next_levels(np.arange(self.num_envs))
            self.core.reset()
            self._ended[:] = False
        else:
            members = np.flatnonzero(mask)
            for member, level in zip(members, self._order.integers(len(self.tasks), size=len(members))):
                self.core.reset_board(int(member), int(level))
            self._ended[members] = False
        self._next_levels(np.arange(self.num_envs))
        return self._seen(), {"task_index": self._levels()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        resetting = self._ended.copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and resetting.any():
            member = int(np.flatnonzero(resetting)[0])
            raise gymnasium.error.ResetNeeded(f"board {member} has ended; reset it first")
        self.core.step(np.ascontiguousarray(actions, np.uint8))
        terminated = self.core.terminated.astype(np.bool_)
        truncated = self.core.truncated.astype(np.bool_)
        ended = terminated | truncated
        infos: dict[str, Any] = {"task_index": self._levels()}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._next_levels(np.flatnonzero(ended))
            if ended.any():
                final = np.full(self.num_envs, None, object)
                for member in map(int, np.flatnonzero(ended)):
                    final[member] = self.core.final_planes[member].copy()
                infos.update(final_obs=final, _final_obs=ended.copy())
        else:
            self._next_levels(np.flatnonzero(resetting))
            infos["autoreset"] = resetting
            self._ended = ended
        return self._seen(), self.core.rewards.astype(np.float64), terminated, truncated, infos

    def _levels(self) -> np.ndarray:
        return np.array([self.core.level_of(i) for i in range(self.num_envs)])

    def _seen(self) -> np.ndarray:
        return self.core.planes.copy() if self.copy else self.core.planes


def _register() -> None:
    boards = "lodestep/SokobanBoards-v0"
    if boards not in registry and any(row["name"] == "sokoban" for row in environments()):
        register(id=boards, vector_entry_point="lodestep.gym:SokobanBoards")
    for row in environments():
        name = env_id(row["name"])
        if name not in registry:
            register(
                id=name,
                entry_point="lodestep.gym:LodestepEnv",
                vector_entry_point="lodestep.gym:LodestepVectorEnv",
                kwargs={"name": row["name"]},
            )


_register()
