"""Drop-in for verl-agent's `recipe.hgpo.core_hgpo`: the same names, arguments and shapes.

    from lodestep.verl_agent import core_hgpo
"""

from __future__ import annotations

from typing import Any

from lodestep.verl_agent import _rows
from lodestep.verl_agent.core_gigpo import compute_step_discounted_returns

__all__ = ["compute_hgpo_outcome_advantage", "compute_step_discounted_returns"]


def compute_hgpo_outcome_advantage(
    token_level_rewards: Any,
    step_rewards: Any,
    response_mask: Any,
    anchor_obs: Any,
    index: Any,
    traj_index: Any,
    history_length: int,
    epsilon: float = 1e-6,
    mode: str = "mean_std_norm",
    length_weight_alpha: float = 1.0,
    base_group: bool = False,
) -> tuple[Any, Any]:
    """HGPO advantages (advantages, returns), both (rows, tokens); arguments as for GiGPO."""
    settings = {
        "eps": epsilon,
        "mode": _rows.check_mode(mode),
        "history_length": history_length,
        "alpha": length_weight_alpha,
        "base_group": base_group,
    }
    return _rows.outcome_advantage(
        "hgpo", token_level_rewards, step_rewards, response_mask, anchor_obs, index, traj_index, settings
    )
