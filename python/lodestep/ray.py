"""Group rollouts on a Ray cluster: the bytes of one process, on many machines.

    ray.init("auto")
    run = lodestep.ray.rollout("alfworld", groups=1024, group_size=8, policy=my_policy, out="run.db")

One actor per node plays whole groups on all of the node's cores. Chance depends on (seed, task, member, turn) alone, so
neither the number of actors nor a lost one changes the result: lost actors are restarted and their unfinished
groups played again.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from lodestep import _core
from lodestep.environments import open_environment, random_seed
from lodestep.errors import Unavailable
from lodestep.recordings import Recording, Turn, run_info

__all__ = ["rollout"]


class _Pool:
    """Lives on one node; opens the environment's data once and plays groups of it."""

    def __init__(self, env: str, data: str, settings: dict[str, Any], threads: int) -> None:
        self._factory = open_environment(env, data, **settings)
        self._threads = threads

    def play(self, plan: tuple[list[str], int, int, int], groups: list[int], policy: Any) -> bytes:
        """The recording of these groups of the run, as the bytes of its file."""
        tasks, group_size, max_steps, seed = plan
        threads = (os.cpu_count() or 1) if self._threads == 0 else self._threads
        if not isinstance(policy, str) and self._threads == 0:
            threads = 1
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "part.db")
            core = _core.RolloutPlan(tasks, group_size, max_steps, seed, threads)
            _core.rollout(self._factory, core, policy, {"env": self._factory.name}, path, groups)
            # All transactions are in the main file once the writer has gone.
            with open(path, "rb") as file:
                return file.read()


def _actor_options(actors: int | None) -> list[dict[str, Any]]:
    """How to start each actor: one per node that is alive, or as many as asked for, spread out."""
    if actors is not None:
        return [{"scheduling_strategy": "SPREAD", "num_cpus": 0}] * actors
    nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
    return [
        {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True), "num_cpus": 0} for node in nodes
    ]


def rollout(
    env: str,
    *,
    data: str | os.PathLike[str] = "",
    tasks: Sequence[str] | None = None,
    groups: int = 16,
    split: str | None = None,
    group_size: int = 8,
    max_steps: int | None = None,
    policy: str | Callable[[Turn], str | None] = "mixed:0.5",
    seed: int | None = 0,
    actors: int | None = None,
    threads: int = 0,
    groups_per_call: int | None = None,
    restarts: int = 10,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Recording:
    """As lodestep.rollout, on the cluster that ray is connected to.

    `actors` is their number (default: one per node), `threads` those of each (0: all of its node's cores).
    `groups_per_call` groups are handed to an actor at a time (default: about four rounds); this is what is played
    again when an actor is lost. More than `restarts` lost actors end the run.
    """
    factory = open_environment(env, data, **settings)
    run_seed = random_seed() if seed is None else seed
    first = factory.splits[0] if split is None else split
    chosen = list(tasks) if tasks is not None else _core.draw_tasks(factory, first, groups, run_seed)
    budget = factory.default_max_steps if max_steps is None else max_steps
    plan = ray.put((chosen, group_size, budget, run_seed))
    info = run_info(factory, policy, run_seed, group_size, budget, chosen)

    options = _actor_options(actors)
    size = groups_per_call or max(1, -(-len(chosen) // (4 * len(options))))
    waiting = deque(list(range(at, min(at + size, len(chosen)))) for at in range(0, len(chosen), size))
    pool = ray.remote(_Pool)

    def start(how: dict[str, Any]) -> Any:
        return pool.options(**how).remote(env, os.fspath(data), settings, threads)

    idle = [(start(how), how) for how in options]
    busy: dict[Any, tuple[Any, dict[str, Any], list[int]]] = {}
    parts: list[_core.Recording] = []
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        while waiting or busy:
            while waiting and idle:
                actor, how = idle.pop()
                part = waiting.popleft()
                busy[actor.play.remote(plan, part, policy)] = (actor, how, part)
            done, _ = ray.wait(list(busy), num_returns=1)
            actor, how, part = busy.pop(done[0])
            try:
                content = ray.get(done[0])
            except RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except RayActorError as error:
                lost += 1
                if lost > restarts:
                    raise Unavailable(f"{lost} actors were lost", "ray", "raise restarts or look at the nodes") from error
                waiting.appendleft(part)  # played again from its beginning
                idle.append((start(how), how))
                continue
            idle.append((actor, how))
            path = os.path.join(folder, f"{len(parts)}.db")
            with open(path, "wb") as file:
                file.write(content)
            parts.append(_core.read_recording(path))
        for actor, _ in idle:
            ray.kill(actor)
    target = None if out is None else os.fspath(out)
    return Recording(_core.merge_recordings(parts, info, target), path=target)
