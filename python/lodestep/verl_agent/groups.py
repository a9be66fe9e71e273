"""Groups of members that start alike, as the managers and the environments inside them draw and start them."""

from __future__ import annotations

from collections.abc import Sequence

from lodestep import _core
from lodestep.environments import Batch, Factory
from lodestep.errors import InvalidArgument

__all__ = ["VectorEnvs", "draw_tasks", "start_groups"]


class VectorEnvs(Batch):
    """Episodes in lockstep, under the name by which the trainer asks for their commands."""

    @property
    def get_admissible_commands(self) -> list[list[str]]:
        return self.admissible_actions()


def draw_tasks(factory: Factory, split: str, groups: int, seed: int, number: int) -> list[str]:
    """The tasks of reset `number`. Every reset has its own draw; seeds that are neighbours share nothing."""
    return _core.draw_tasks(factory, split, groups, _core.draw(seed, f"reset {number}", 1 << 62))


def start_groups(envs: Batch, tasks: Sequence[str], group_size: int, seed: int, number: int) -> None:
    """Starts `group_size` members on each task, and checks that they start in the same state."""
    seeds = [
        _core.draw(seed, f"episode {number} {group}", 1 << 62) for group in range(len(tasks)) for _ in range(group_size)
    ]
    envs.reset([task for task in tasks for _ in range(group_size)], seeds)
    starts = envs.state_hashes()
    for group, task in enumerate(tasks):
        if len(set(starts[group * group_size : (group + 1) * group_size])) > 1:
            raise InvalidArgument("the members of a group start in different states", task)
