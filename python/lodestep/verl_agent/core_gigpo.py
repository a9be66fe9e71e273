"""Drop-in for verl-agent's `gigpo.core_gigpo`: the same names, arguments and shapes, computed by the core.

    from lodestep.verl_agent import core_gigpo

Tensors give tensors, numpy arrays give numpy arrays; torch is not needed for the latter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lodestep.verl_agent import _rows
from lodestep.verl_agent._rows import to_hashable

__all__ = ["compute_gigpo_outcome_advantage", "compute_step_discounted_returns", "to_hashable"]


def compute_step_discounted_returns(batch: Any, gamma: float) -> Any:
    """Discounted return of each row within its trajectory, shape (rows,)."""
    columns, states = _rows.trajectory_columns(batch)
    columns["task"] = np.zeros_like(columns["task"])  # a trajectory is one, whatever its task
    columns["state"] = states.column([""] * len(columns["t"]))
    credit = _rows.estimate("gigpo", columns, states, {"gamma": gamma, "penalty_coef": 0})
    return _rows.like(credit["step_return"], batch.batch["input_ids"])


def compute_gigpo_outcome_advantage(
    token_level_rewards: Any,
    step_rewards: Any,
    response_mask: Any,
    anchor_obs: Any,
    index: Any,
    traj_index: Any,
    epsilon: float = 1e-6,
    step_advantage_w: float = 1.0,
    mode: str = "mean_norm",
    enable_similarity: bool = False,
    similarity_thresh: float = 0.95,
) -> tuple[Any, Any]:
    """GiGPO advantages (advantages, returns), both (rows, tokens).

    token_level_rewards and response_mask are (rows, tokens), step_rewards, anchor_obs, index (task uid) and
    traj_index (rows,).
    """
    settings = {
        "eps": epsilon,
        "step_w": step_advantage_w,
        "mode": _rows.check_mode(mode),
        "similarity": enable_similarity,
        "similarity_threshold": similarity_thresh,
    }
    return _rows.outcome_advantage(
        "gigpo", token_level_rewards, step_rewards, response_mask, anchor_obs, index, traj_index, settings
    )
