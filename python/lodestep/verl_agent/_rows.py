"""Rows as verl-agent's trainer hands them over: tensors or arrays in, the same kind out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lodestep import _core

SUCCESS = "success"  # the text that names the goal in this trainer


def as_array(values: Any) -> np.ndarray:
    """A tensor or array as an array, without a copy where that is possible."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    values = values.detach().cpu()
    return np.asarray((values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy())


def numbers(values: Any) -> np.ndarray:
    """A tensor or array as float64."""
    return np.ascontiguousarray(as_array(values), np.float64)


def like(values: np.ndarray, *models: Any) -> Any:
    """As a tensor on the models' device, or as an array if no model is a tensor; float64 if one of them is, else float32."""
    double = any(str(getattr(model, "dtype", "")).endswith("float64") for model in models)
    values = np.ascontiguousarray(values, np.float64 if double else np.float32)
    for model in models:
        if hasattr(model, "detach"):
            import torch

            return torch.as_tensor(values, device=model.device)
    return values


def to_hashable(x: Any) -> Any:
    """The key by which observations are compared: equal keys are one state."""
    if isinstance(x, (str, int, float, bool)):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, np.ndarray):
        return tuple(x.ravel().tolist())
    if isinstance(x, (list, tuple)):
        return tuple(map(to_hashable, x))
    if isinstance(x, dict):
        return tuple(sorted((k, to_hashable(v)) for k, v in x.items()))
    raise TypeError(f"an observation cannot be a {type(x).__name__}")


def _are_images(values: Any) -> bool:
    """Arrays of bytes and nothing else: their bytes say as much as a tuple of thousands of numbers."""
    return len(values) > 0 and all(isinstance(value, np.ndarray) and value.dtype == np.uint8 for value in values)


class Numbering:
    """Dense numbers for keys, by first appearance."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def column(self, values: Any) -> np.ndarray:
        listed = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)
        if _are_images(listed):
            keys = list(map(bytes, listed))
        else:
            plain = set(map(type, listed)) <= {str, int, float, bool}
            keys = listed if plain else list(map(to_hashable, listed))
        for key in dict.fromkeys(keys):
            self.of.setdefault(key, len(self.of))
        return np.fromiter(map(self.of.__getitem__, keys), np.int32, len(keys))

    def as_json(self) -> list[str]:
        """Each state as one JSON value. States that are neither text nor whole numbers in a row are named by
        their number: nothing compares them but equality."""
        out = []
        for key, number in self.of.items():
            plain = isinstance(key, str) or (
                isinstance(key, tuple) and bool(key) and all(type(part) is int for part in key)
            )
            out.append(json.dumps(key if plain else {"state": number}, ensure_ascii=False))
        return out


def turns(trajectories: np.ndarray) -> np.ndarray:
    """The step number of each row: its place among the rows of its trajectory, which are in time order."""
    order = np.argsort(trajectories, kind="stable")
    ordered = trajectories[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    starts = np.flatnonzero(first)
    out = np.empty(len(trajectories), np.int32)
    out[order] = np.arange(len(trajectories)) - np.repeat(starts, np.diff(np.r_[starts, len(trajectories)]))
    return out


def check_mode(mode: str) -> str:
    if mode not in ("mean_norm", "mean_std_norm"):
        raise ValueError(f"unknown mode {mode!r}: mean_norm or mean_std_norm")
    return mode


def check_active(active: Any) -> None:
    if not np.asarray(active, bool).all():
        raise ValueError("a row that was played after its episode's end is in the batch: drop inactive rows first")


def estimate(
    estimator: str, columns: dict[str, np.ndarray], states: Numbering, settings: dict[str, Any]
) -> dict[str, Any]:
    """Asks the core. Warnings are left to the trainer's own statistics."""
    plan = _core.CreditPlan(estimator, "released", settings, "exact", {}, 1)
    goal = states.of.get(SUCCESS, -1)
    texts = states.as_json() if settings.get("similarity") else []  # nothing else looks at them
    credit, _ = _core.credit_columns(plan, columns, texts, goal)
    return credit


def outcome_advantage(
    estimator: str,
    token_level_rewards: Any,
    step_rewards: Any,
    response_mask: Any,
    anchor_obs: Any,
    index: Any,
    traj_index: Any,
    settings: dict[str, Any],
) -> tuple[Any, Any]:
    """Advantages of given step returns, spread over the response tokens: two equal (rows, tokens) results."""
    mask = as_array(response_mask)
    tasks, trajectories, states = Numbering(), Numbering(), Numbering()
    episode = trajectories.column(traj_index)
    columns = {
        "task": tasks.column(index),
        "episode": episode,
        "t": turns(episode),
        "state": states.column(anchor_obs),
        "reward": numbers(step_rewards),  # with gamma 0 a step's return is what it is given
        "episode_reward": as_array(token_level_rewards).sum(axis=-1, dtype=np.float64),
        "tokens": mask.sum(axis=-1).astype(np.int32),
    }
    credit = estimate(estimator, columns, states, {**settings, "gamma": 0, "penalty_coef": 0})
    spread = like(credit["advantage"][:, None] * mask, token_level_rewards, step_rewards)
    return spread, spread


def trajectory_columns(batch: Any) -> tuple[dict[str, np.ndarray], Numbering]:
    """The rows of a trainer's batch; `states` is empty where the batch has no observations."""
    rows = batch.non_tensor_batch
    check_active(rows["active_masks"])
    tasks, trajectories, states = Numbering(), Numbering(), Numbering()
    episode = trajectories.column(rows["traj_uid"])
    columns = {
        "task": tasks.column(rows["uid"]) if "uid" in rows else np.zeros(len(episode), np.int32),
        "episode": episode,
        "t": turns(episode),
        "reward": numbers(rows["rewards"]),
    }
    return columns, states
