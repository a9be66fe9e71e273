#!/usr/bin/env python3
"""Seconds of processor time that step credit takes from Python, beside a plain numpy twin of GiGPO in the same run.

    python bench/python/credit_bench.py [--repeat 5]

Batches are synthetic: 16 x 8 episodes of up to 50 steps with 600-character observations, and 64 x 16. Every line says
what was timed; the last column is the time of the twin divided by ours. The twin's advantages must agree first.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from lodestep import credit
from lodestep.verl_agent import core_gigpo, core_graph

GAMMA = 0.95


def batch(tasks: int, group_size: int, turns: int, characters: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    words = [f"thing{i:04d}" for i in range(997)]
    pages = {
        (task, state): f"room {state} of house {task}: " + " ".join(rng.choice(words, characters // 10))
        for task in range(tasks)
        for state in range(60)
    }
    columns: dict[str, list] = defaultdict(list)
    for task in range(tasks):
        for member in range(group_size):
            won, length = rng.random() < 0.5, int(rng.integers(turns // 2, turns + 1))
            state = 0
            for t in range(length):
                after = int(np.clip(state + rng.integers(-1, 3), 0, 59))
                last = t == length - 1
                columns["task"].append(f"u{task}")
                columns["episode"].append(f"u{task}-{member}")
                columns["t"].append(t)
                columns["state"].append(pages[task, state])
                columns["next_state"].append("success" if last and won else pages[task, after])
                columns["reward"].append(10.0 if last and won else 0.0)
                columns["episode_reward"].append(10.0 if won else 0.0)
                state = after
    return {name: np.array(values, object if isinstance(values[0], str) else None) for name, values in columns.items()}


def twin(rows: dict[str, np.ndarray]) -> np.ndarray:
    """GiGPO in plain Python and numpy, with one pass per question."""
    n = len(rows["t"])
    returns = np.zeros(n)
    carried: dict[str, float] = {}
    for i in range(n - 1, -1, -1):
        carried[rows["episode"][i]] = returns[i] = rows["reward"][i] + GAMMA * carried.get(rows["episode"][i], 0.0)

    def normalised(values: np.ndarray, keys: list, lone_is_zero: bool) -> np.ndarray:
        members = defaultdict(list)
        for i, key in enumerate(keys):
            members[key].append(i)
        out = np.zeros(n)
        for group in members.values():
            x = values[group]
            if len(group) == 1:
                out[group] = 0.0 if lone_is_zero else x / (1 + 1e-6)
            elif (x != x[0]).any():
                out[group] = (x - x.mean()) / (x.std(ddof=1) + 1e-6)
        return out

    steps = normalised(returns, list(zip(rows["task"], rows["state"])), True)
    return steps + normalised(rows["episode_reward"], list(rows["task"]), False)


def searching_twin(rows: dict[str, np.ndarray]) -> np.ndarray:
    """The same as trainers compute it: every question searches all rows again, so time grows with their square."""
    n = len(rows["t"])
    episodes = np.array(rows["episode"], str)
    returns = np.zeros(n)
    for i in range(n):
        later = [k for k in np.where(episodes == episodes[i])[0] if rows["t"][k] >= rows["t"][i]]
        returns[i] = sum(rows["reward"][k] * GAMMA ** (rows["t"][k] - rows["t"][i]) for k in later)
    out = np.zeros(n)
    for task in np.unique(rows["task"]):
        of_task = np.where(rows["task"] == task)[0]
        scores = rows["episode_reward"][of_task]
        if (scores != scores[0]).any():
            out[of_task] = (scores - scores.mean()) / (scores.std(ddof=1) + 1e-6)
        states: list[tuple[str, list[int]]] = []
        for i in of_task:
            group = next((members for state, members in states if state == rows["state"][i]), None)
            if group is None:
                states.append((rows["state"][i], [i]))
            else:
                group.append(i)
        for _, group in states:
            x = returns[group]
            if (x != x[0]).any():
                out[group] += (x - x.mean()) / (x.std(ddof=1) + 1e-6)
    return out


def tables(rows: dict[str, np.ndarray]) -> dict[str, object]:
    """The same batch as libraries that are installed hold it."""
    out: dict[str, object] = {"arrays": rows}
    try:
        import pandas
        import pyarrow
    except ImportError:
        return out
    return {**out, "pandas": pandas.DataFrame(rows), "Arrow": pyarrow.table(rows)}


def seconds(work: Callable[[], object], repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    print(f"{'batch':12} {'rows':>7}  {'what':42} {'seconds':>9} {'twin/ours':>10}")
    for name, shape in {"16 x 8 x 50": (16, 8, 50, 600), "64 x 16 x 50": (64, 16, 50, 600)}.items():
        rows = batch(*shape)
        n, width = len(rows["t"]), 64
        dicts = [dict(zip(rows, map(lambda v: v.item() if hasattr(v, "item") else v, row))) for row in zip(*rows.values())]
        numbers = {key: np.unique(rows[key], return_inverse=True)[1] for key in ("task", "episode")}
        both = np.unique(np.r_[rows["state"], rows["next_state"]], return_inverse=True)[1]
        columns = {
            **numbers, "t": rows["t"], "state": both[:n], "next_state": both[n:], "reward": rows["reward"],
            "episode_reward": rows["episode_reward"],
        }  # fmt: skip
        mask = np.ones((n, width), np.float32)
        scores = np.zeros((n, width), np.float32)
        scores[:, -1] = rows["episode_reward"]
        data = SimpleNamespace(
            batch={"input_ids": mask},
            non_tensor_batch={
                "uid": rows["task"], "traj_uid": rows["episode"], "rewards": rows["reward"], "active_masks": mask[:, 0],
                "anchor_obs": rows["state"], "next_obs": rows["next_state"],
            },
        )  # fmt: skip
        step_rewards = core_gigpo.compute_step_discounted_returns(data, GAMMA)
        want = twin(rows)
        for got in (
            credit.compute(dicts, "gigpo", gamma=GAMMA).advantage,
            credit.compute_columns(columns, "gigpo", gamma=GAMMA).advantage,
        ):
            assert np.allclose(got, want, atol=1e-9), "the twin disagrees"
        if n < 10000:
            assert np.allclose(searching_twin(rows), want, atol=1e-9), "the twins disagree"
        plain = seconds(lambda: twin(rows), repeat)
        lines = {
            "plain numpy twin, gigpo": lambda: twin(rows),
            **({"the same, searching, gigpo": lambda: searching_twin(rows)} if n < 10000 else {}),
            "credit.compute(dicts), gigpo": lambda: credit.compute(dicts, "gigpo", gamma=GAMMA),
            "credit.compute(dicts), graphgpo": lambda: credit.compute(dicts, "graphgpo"),
            **{
                f"credit.compute({kind}), graphgpo": (lambda steps=steps: credit.compute(steps, "graphgpo"))
                for kind, steps in tables(rows).items()
            },
            "credit.compute_columns, gigpo": lambda: credit.compute_columns(columns, "gigpo", gamma=GAMMA),
            "credit.compute_columns, graphgpo": lambda: credit.compute_columns(columns, "graphgpo"),
            "core_gigpo: returns and advantages": lambda: (
                core_gigpo.compute_step_discounted_returns(data, GAMMA),
                core_gigpo.compute_gigpo_outcome_advantage(
                    scores, step_rewards, mask, rows["state"], rows["task"], rows["episode"], mode="mean_std_norm"
                ),
            ),
            "core_graph: returns and advantages": lambda: (
                core_graph.compute_graph_path_returns(data, None, 0.1, False),
                core_graph.compute_graphgpo_outcome_advantage(
                    scores, step_rewards, mask, rows["state"], rows["task"], rows["episode"]
                ),
            ),
        }
        for what, work in lines.items():
            took = plain if work is lines["plain numpy twin, gigpo"] else seconds(work, repeat)
            print(f"{name:12} {n:7}  {what:42} {took:9.4f} {plain / took:10.2f}")


if __name__ == "__main__":
    main()
