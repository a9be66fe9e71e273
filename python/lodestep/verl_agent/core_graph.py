"""Drop-in for verl-agent's `recipe.GraphGPO.core_graph`: the functions that training uses.

    from lodestep.verl_agent import core_graph
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lodestep.verl_agent import _rows
from lodestep.verl_agent._rows import to_hashable

__all__ = ["ComplexGraph", "compute_graph_path_returns", "compute_graphgpo_outcome_advantage", "to_hashable"]


class ComplexGraph:
    """The trainer's name for a task's graph. Here it only remembers how states are compared: graph and distances come with
    the returns."""

    def __init__(self, enable_similarity: bool = False, similarity_thresh: float = 0.95) -> None:
        self.enable_similarity = enable_similarity
        self.similarity_thresh = similarity_thresh

    @classmethod
    def from_data(cls, data: Any, enable_similarity: bool = False, similarity_thresh: float = 0.95) -> dict[Any, ComplexGraph]:
        """One graph for each task uid of the batch."""
        return {uid: cls(enable_similarity, similarity_thresh) for uid in dict.fromkeys(data.non_tensor_batch["uid"])}

    @staticmethod
    def Calculate_all_shortest_path(Gs: Mapping[Any, ComplexGraph]) -> None:  # noqa: N802, N803 - the trainer's names
        """Nothing to do yet."""


def compute_graph_path_returns(
    batch: Any,
    Gs: Mapping[Any, Any] | None,  # noqa: N803 - the trainer's name
    gamma: float,
    normalize_distance: bool,
    enable_similarity: bool | None = None,
    similarity_thresh: float | None = None,
) -> Any:
    """Return of each row by its distance to success, shape (rows,).

    The graphs are those of the batch, one per task. `Gs`, from ComplexGraph.from_data or None, says whether states are
    merged by similarity, if the arguments do not.
    """
    asked = next((graph for graph in (Gs or {}).values() if isinstance(graph, ComplexGraph)), ComplexGraph())
    enable_similarity = asked.enable_similarity if enable_similarity is None else enable_similarity
    similarity_thresh = asked.similarity_thresh if similarity_thresh is None else similarity_thresh
    rows = batch.non_tensor_batch
    columns, states = _rows.trajectory_columns(batch)
    # Row by row first the anchor, then the next state: the order in which states meet their matcher.
    both: list[Any] = [None] * (2 * len(rows["anchor_obs"]))
    both[0::2], both[1::2] = list(rows["anchor_obs"]), list(rows["next_obs"])
    numbered = states.column(both)
    columns["state"], columns["next_state"] = map(np.ascontiguousarray, (numbered[0::2], numbered[1::2]))
    settings = {
        "gamma": gamma,
        "normalize_distance": normalize_distance,
        "similarity": enable_similarity,
        "similarity_threshold": similarity_thresh,
        "penalty_coef": 0,
    }
    columns["episode_reward"] = np.zeros(len(numbered) // 2)  # success is named by its text
    credit = _rows.estimate("graphgpo", columns, states, settings)
    return _rows.like(credit["step_return"], batch.batch["input_ids"])


def compute_graphgpo_outcome_advantage(
    token_level_rewards: Any,
    step_rewards: Any,
    response_mask: Any,
    anchor_obs: Any,
    index: Any,
    traj_index: Any,
    epsilon: float = 1e-6,
    step_advantage_w: float = 1.0,
    episode_advantage_w: float = 1.0,
    mode: str = "mean_std_norm",
) -> tuple[Any, Any]:
    """GraphGPO advantages (advantages, returns), both (rows, tokens); arguments as for GiGPO."""
    settings = {
        "eps": epsilon,
        "step_w": step_advantage_w,
        "episode_w": episode_advantage_w,
        "mode": _rows.check_mode(mode),
    }
    # Given step returns, GraphGPO compares them exactly as GiGPO does.
    return _rows.outcome_advantage(
        "gigpo", token_level_rewards, step_rewards, response_mask, anchor_obs, index, traj_index, settings
    )
