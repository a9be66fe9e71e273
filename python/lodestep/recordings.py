"""Group rollouts and recordings.

    run = lodestep.rollout("sokoban", groups=16, group_size=8, policy="mixed:0.5", seed=0, out="run.db")
    run = lodestep.open("run.db")                 # the same, from the file
    run.steps()["reward"]                         # columns: numpy arrays and lists of text
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from lodestep import _core
from lodestep._core import Factory, Turn
from lodestep.environments import open_environment, random_seed

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Recording", "Turn", "open", "rollout"]


class Recording:
    """Every step of a run, in memory."""

    def __init__(
        self, core: _core.Recording, seconds: dict[str, float] | None = None, path: str | None = None
    ) -> None:
        self._core = core
        #: The file it is stored in, if any.
        self.path = path
        #: Seconds spent by policy, stepping, keys and recording, summed over threads; empty for a file.
        self.seconds = seconds or {}

    @property
    def info(self) -> dict[str, str]:
        """How the run was made: environment, policy, seed and so on."""
        return self._core.info

    def steps(self) -> dict[str, Any]:
        """Columns with one entry per step, in (group, member, t) order.

        The situation before the action (`observation`, `admissible`, `key_exact`, `key_relevant`,
        `key_stage`, `state_hash`, `distance`), the `action`, `valid`, `reward`, and the situation that the
        action reached (the same names with `next_`).
        """
        return self._core.steps()

    def episodes(self) -> dict[str, Any]:
        """Columns with one entry per episode."""
        return self._core.episodes()

    def estimates(self) -> list[dict[str, Any]]:
        """The stored credit: name, estimator, matcher, settings and columns of each, one entry per step."""
        return _core.estimates(self._core)

    def add_credit(
        self,
        estimator: str = "graphgpo",
        *,
        preset: str = "",
        matcher: str = "exact",
        matcher_settings: Mapping[str, Any] | None = None,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        """Computes credit and keeps it with the recording, in its file too; one of the same name is replaced."""
        plan = _core.CreditPlan(estimator, preset, settings, matcher, dict(matcher_settings or {}), threads)
        _core.credit_of_recording(plan, self._core, self.path, True)

    def _credit(self, plan: _core.CreditPlan) -> tuple[dict[str, Any]]:
        return (_core.credit_of_recording(plan, self._core, None, False),)

    def to_pandas(self) -> pandas.DataFrame:
        """All steps with the outcome of their episode and the stored credit."""
        from lodestep import tables

        return tables.to_pandas(tables.steps_with_credit(self))

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table; numbers that are not known are null."""
        from lodestep import tables

        return tables.to_arrow(tables.steps_with_credit(self))

    def summary(self) -> dict[str, Any]:
        """What the run came to: success rate with its interval, returns, lengths, node reuse and so on."""
        return cast("dict[str, Any]", _core.summary(self._core))

    def __str__(self) -> str:
        return _core.summary_text(self._core)

    def __repr__(self) -> str:
        return f"<lodestep.Recording {self.info}>"


def open(path: str | os.PathLike[str]) -> Recording:  # noqa: A001 - lodestep.open reads well
    """Reads a recording, also one whose writer was killed."""
    return Recording(_core.read_recording(os.fspath(path)), path=os.fspath(path))


def run_info(
    factory: Factory,
    policy: str | Callable[[Turn], str | None],
    seed: int,
    group_size: int,
    max_steps: int,
    tasks: Sequence[str],
) -> dict[str, str]:
    """What is written into a recording about how it was made."""
    return {
        "env": factory.name,
        "env_version": str(factory.version),
        "data_digest": factory.data_digest,
        "policy": policy if isinstance(policy, str) else f"python:{getattr(policy, '__qualname__', 'policy')}",
        "seed": str(seed),
        "group_size": str(group_size),
        "max_steps": str(max_steps),
        "tasks": "\n".join(tasks),
    }


def rollout(
    env: str | Factory,
    *,
    data: str | os.PathLike[str] = "",
    tasks: Sequence[str] | None = None,
    groups: int = 16,
    split: str | None = None,
    group_size: int = 8,
    max_steps: int | None = None,
    policy: str | Callable[[Turn], str | None] = "mixed:0.5",
    seed: int | None = 0,
    threads: int = 0,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Recording:
    """Plays groups of parallel episodes and records every step.

    `policy` is a name as for `lodestep rollout` ("random", "gold", "mixed:E", "script:FILE") or a function
    from a Turn to the action (None ends that episode). Results do not depend on the number of threads;
    0 means one per core, or one for a policy written in Python. `seed=None` draws one (see `info`).
    """
    factory = open_environment(env, data, **settings) if isinstance(env, str) else env
    run_seed = random_seed() if seed is None else seed
    first = factory.splits[0] if split is None else split
    chosen = list(tasks) if tasks is not None else _core.draw_tasks(factory, first, groups, run_seed)
    budget = factory.default_max_steps if max_steps is None else max_steps
    named = isinstance(policy, str)
    if threads == 0:
        threads = (os.cpu_count() or 1) if named else 1
    info = run_info(factory, policy, run_seed, group_size, budget, chosen)
    plan = _core.RolloutPlan(chosen, group_size, budget, run_seed, threads)
    path = None if out is None else os.fspath(out)
    core, seconds = _core.rollout(factory, plan, policy, info, path)
    return Recording(core, seconds, path)
