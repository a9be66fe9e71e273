"""Lodestep: text-agent environments run natively, and credit that knows which step helped.

    env = lodestep.make("sokoban")                      # one environment
    batch = lodestep.make_batch("sokoban", 128)         # many, in lockstep
    run = lodestep.rollout("sokoban", policy="random")  # groups of episodes, every step recorded
"""

from lodestep import credit, matchers
from lodestep.environments import (
    Batch,
    Environment,
    Factory,
    StateKeys,
    Step,
    Task,
    TaskList,
    environments,
    make,
    make_batch,
    open_environment,
    tasks,
)
from lodestep.errors import BadData, Error, InternalError, InvalidArgument, NotFound, Unavailable, Unsupported
from lodestep.matchers import match
from lodestep.recordings import Recording, Turn, open, rollout

__version__ = "0.1.0"

__all__ = [
    "BadData",
    "Batch",
    "Environment",
    "Error",
    "Factory",
    "InternalError",
    "InvalidArgument",
    "NotFound",
    "Recording",
    "StateKeys",
    "Step",
    "Task",
    "TaskList",
    "Turn",
    "Unavailable",
    "Unsupported",
    "credit",
    "environments",
    "make",
    "make_batch",
    "match",
    "matchers",
    "open",
    "open_environment",
    "rollout",
    "tasks",
]
