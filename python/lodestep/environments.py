"""Environments in this process, by name.

    env = lodestep.make("sokoban", max_steps=15)
    step = env.reset(seed=7)
    while not step.done:
        step = env.step(my_policy(step.observation, env.admissible_actions()))
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any, overload

from lodestep import _core
from lodestep._core import Batch, Environment, Factory, StateKeys, Step, Task
from lodestep.errors import InvalidArgument

__all__ = [
    "Batch",
    "Environment",
    "Factory",
    "StateKeys",
    "Step",
    "Task",
    "TaskList",
    "environments",
    "make",
    "make_batch",
    "open_environment",
    "tasks",
]


def environments() -> list[dict[str, Any]]:
    """The registered environments: name, summary, data, default_max_steps and options of each."""
    return _core.environment_types()


def open_environment(
    name: str,
    data: str | os.PathLike[str] = "",
    *,
    require_version: str | None = None,
    require_digest: str | None = None,
    **settings: Any,
) -> Factory:
    """Opens an environment's data once, to be shared by all episodes that are made from it.

    `data` is what `--data` takes on the command line (empty: the built-in default), `settings` are the
    environment's options. Unknown names are refused with the known ones listed. `require_version` and
    `require_digest` are what `factory.version` and `factory.data_digest` must be, so that scores stay comparable.
    """
    factory = _core.open_environment(name, os.fspath(data), settings)
    for what, required, found in (
        ("version", require_version, str(factory.version)),
        ("data digest", require_digest, factory.data_digest),
    ):
        if required is not None and str(required) != found:
            raise InvalidArgument(f"{what} {required} is required and this is {found}", name, "scores would not compare")
    return factory


def make(name: str, data: str | os.PathLike[str] = "", *, max_steps: int = 0, **settings: Any) -> Environment:
    """One environment. `max_steps` is its step budget; 0 means none."""
    return open_environment(name, data, **settings).make(max_steps)


def make_batch(
    name: str,
    size: int,
    data: str | os.PathLike[str] = "",
    *,
    max_steps: int = 0,
    threads: int = 0,
    **settings: Any,
) -> Batch:
    """`size` episodes that are stepped together by native threads, with numpy views of what they show."""
    return Batch(open_environment(name, data, **settings), size, max_steps, threads)


class TaskList(Sequence[str]):
    """The task ids of one split, in their fixed order; made on demand."""

    def __init__(self, factory: Factory, split: str) -> None:
        self._factory = factory
        self.split = split
        self._count = factory.task_count(split)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._factory.task_id(self.split, i) for i in range(*index.indices(self._count))]
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(f"task {index} of {self._count}")
        return self._factory.task_id(self.split, position)


def tasks(factory: Factory, split: str | None = None) -> TaskList:
    """The task ids of a split (by default the first one of `factory.splits`)."""
    return TaskList(factory, factory.splits[0] if split is None else split)


def random_seed() -> int:
    """A seed for those who gave none; report it, so that the run can be made again."""
    return secrets.randbits(63)
