"""For verl-agent: environment managers with its interface, and its credit functions computed by the core.

    envs, val_envs = lodestep.verl_agent.make_envs(config)
    from lodestep.verl_agent import core_gigpo, core_graph, core_hgpo
"""

from lodestep.verl_agent.managers import ANCHORS, RECIPES, EnvironmentManager, make_envs
from lodestep.verl_agent.vectors import build_alfworld_envs, build_sokoban_envs, build_webshop_envs

__all__ = [
    "ANCHORS",
    "RECIPES",
    "EnvironmentManager",
    "build_alfworld_envs",
    "build_sokoban_envs",
    "build_webshop_envs",
    "make_envs",
]
