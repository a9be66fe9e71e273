#!/usr/bin/env python3
"""Does step credit help learning? A small policy learns Sokoban rooms with the advantages of five estimators.

    python examples/learn_sokoban.py                                 # medium rooms, all methods, 5 seeds
    python examples/learn_sokoban.py --rooms easy --seeds 2 --steps 200000
    python examples/learn_sokoban.py --out learn.json --plot learn.svg

Everything is numpy: an MLP policy with hand-written gradients (a test checks them), rollouts vectorised over
the rooms, advantages from lodestep.credit, and an exact evaluation by dynamic programming on held-out rooms.
Every method gets the same rooms, the same budget of environment steps, and advantages divided by their root
mean square; nothing else differs. The figures hold for these settings and say nothing about language models.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import json
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

import lodestep
from lodestep import credit

ACTIONS = ("up", "down", "left", "right")
#: Estimator and options of each method.
METHODS = {
    "grpo": ("grpo", {}),
    "gigpo": ("gigpo", {"gamma": 0.95, "mode": "mean_norm"}),
    "graphgpo": ("graphgpo", {"gamma": 0.8}),
    "evih": ("evih", {}),
    "evihb": ("evihb", {}),
}


@dataclass(frozen=True)
class Setting:
    """Rooms of one kind: 6x6 with one box, at least `moves` from their solution, played for `turns`."""

    moves: int
    turns: int


SETTINGS = {"medium": Setting(moves=6, turns=20), "easy": Setting(moves=1, turns=15)}


class Rooms:
    """All states of many rooms as one table. Its rows are states, room after room; `success` is the row -1."""

    def __init__(self, split: str, count: int, setting: Setting, taken: set[str]) -> None:
        factory = lodestep.open_environment("sokoban", rewards="sparse", distance=True)
        self.start: list[int] = []
        next_state: list[list[int]] = []
        boards: list[str] = []
        stages: list[str] = []
        boxes: list[str] = []
        for task in lodestep.tasks(factory, split):
            env = factory.make()
            env.reset(task, seed=0)
            first = env.state_keys()
            distance = env.details()["distance_to_goal"]
            if first.exact in taken or distance is None or distance < setting.moves:
                continue
            taken.add(first.exact)  # distinct by content, across the splits too
            self.start.append(len(next_state))
            rows = {first.exact: len(next_state)}
            todo = [env]
            next_state.append([])
            while todo:  # breadth first, by clones of the environment itself
                here = todo.pop(0)
                keys = here.state_keys()
                boards.append(here.observe().observation)
                stages.append(keys.stage)
                boxes.append(keys.relevant)
                row = rows[keys.exact]
                for action in ACTIONS:
                    there = here.clone()
                    if there.step(action).outcome == "success":
                        next_state[row].append(-1)
                        continue
                    key = there.state_keys().exact
                    if key not in rows:
                        rows[key] = len(next_state)
                        next_state.append([])
                        todo.append(there)
                    next_state[row].append(rows[key])
            if len(self.start) == count:
                break
        else:
            raise SystemExit(f"split {split!r} has only {len(self.start)} such rooms, wanted {count}")
        self.next_state = np.array(next_state, np.int32)
        self.planes = np.stack([planes(board) for board in boards])
        # Key levels for evihb, coarse to fine: one for all, distance of the box, places of the box, state.
        self.keys = [numbered(["" for _ in boards]), numbered(stages), numbered(boxes)]

    def __len__(self) -> int:
        return len(self.start)


def planes(board: str) -> np.ndarray:
    """Wall, target, player and box of the inner 4 x 4 cells, 64 numbers."""
    cells = [[cell.strip() for cell in line.split("\t")][1:5] for line in board.split("\n")[1:5]]
    marks = ("#",), ("O", "√", "S"), ("P", "S"), ("X", "√")
    return np.array([[cell in mark for row in cells for cell in row] for mark in marks], np.float32).ravel()


def numbered(names: list[str]) -> np.ndarray:
    of: dict[str, int] = {}
    return np.array([of.setdefault(name, len(of)) for name in names], np.int32)


class Policy:
    """64-128-128-4, ReLU, softmax; `gradient` is that of the clipped objective with an entropy bonus."""

    def __init__(self, rng: np.random.Generator, dtype: type = np.float32) -> None:
        sizes = (64, 128, 128, 4)
        self.weights = []
        for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
            scale = 0.01 if i == 2 else np.sqrt(2 / n)
            self.weights += [(rng.standard_normal((n, m)) * scale).astype(dtype), np.zeros(m, dtype)]

    def log_probabilities(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        w1, b1, w2, b2, w3, b3 = self.weights
        h1 = np.maximum(x @ w1 + b1, 0)
        h2 = np.maximum(h1 @ w2 + b2, 0)
        logits = h2 @ w3 + b3
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), [x, h1, h2]

    def loss(self, x, action, advantage, old, clip: float, entropy: float) -> float:
        logp, _ = self.log_probabilities(x)
        ratio = np.exp(logp[np.arange(len(x)), action] - old)
        gain = np.minimum(ratio * advantage, np.clip(ratio, 1 - clip, 1 + clip) * advantage)
        return float(-gain.mean() + entropy * (np.exp(logp) * logp).sum(axis=1).mean())

    def gradient(self, x, action, advantage, old, clip: float, entropy: float) -> list[np.ndarray]:
        logp, (x, h1, h2) = self.log_probabilities(x)
        p, rows = np.exp(logp), np.arange(len(x))
        ratio = np.exp(logp[rows, action] - old)
        # The minimum has a slope only where the unclipped term is the smaller one.
        free = np.where(advantage >= 0, ratio < 1 + clip, ratio > 1 - clip)
        slope = np.where(free, -advantage * ratio, 0)
        d = -p * slope[:, None]
        d[rows, action] += slope
        d += entropy * p * (logp - (p * logp).sum(axis=1, keepdims=True))
        d /= len(x)
        out = [h2.T @ d, d.sum(axis=0)]
        for h, below, w in ((h2, h1, self.weights[4]), (h1, x, self.weights[2])):
            d = (d @ w.T) * (h > 0)
            out = [below.T @ d, d.sum(axis=0), *out]
        return out


class Adam:
    def __init__(self, weights: list[np.ndarray], rate: float) -> None:
        self.weights, self.rate, self.t = weights, rate, 0
        self.m = [np.zeros_like(w) for w in weights]
        self.v = [np.zeros_like(w) for w in weights]

    def step(self, gradient: list[np.ndarray], clip: float = 1.0) -> None:
        norm = np.sqrt(sum(float((g * g).sum()) for g in gradient))
        scale = min(1.0, clip / (norm + 1e-12))
        self.t += 1
        for w, g, m, v in zip(self.weights, gradient, self.m, self.v):
            g = g * scale
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= self.rate * (m / (1 - 0.9**self.t)) / (np.sqrt(v / (1 - 0.999**self.t)) + 1e-8)


def rollout(rooms: Rooms, starts: np.ndarray, policy: Policy, turns: int, rng: np.random.Generator) -> dict:
    """One episode per start, all in step. Columns with one row per step played, in order of time."""
    state = starts.copy()
    playing = np.arange(len(starts))
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("episode", "t", "state", "next", "action", "old")}
    for t in range(turns):
        logp, _ = policy.log_probabilities(rooms.planes[state[playing]])
        draw = rng.random((len(playing), 1), np.float32)
        action = np.minimum((np.exp(logp).cumsum(axis=1) < draw).sum(axis=1), 3)
        reached = rooms.next_state[state[playing], action]
        row = (playing, np.full(len(playing), t), state[playing], reached, action, logp[np.arange(len(playing)), action])
        for column, values in zip(columns.values(), row):
            column.append(values)
        state[playing] = reached
        playing = playing[reached != -1]
        if len(playing) == 0:
            break
    return {name: np.concatenate(column) for name, column in columns.items()}


def advantages(method: str, rooms: Rooms, steps: dict, group_size: int, turns: int) -> np.ndarray:
    """Credit for the batch, divided by its root mean square."""
    estimator, options = METHODS[method]
    won = steps["next"] == -1
    success = np.isin(steps["episode"], steps["episode"][won])
    goal = len(rooms.next_state)
    columns = {
        "task": steps["episode"] // group_size,
        "episode": steps["episode"],
        "t": steps["t"],
        "state": steps["state"],
        "next_state": np.where(won, goal, steps["next"]),
        "reward": np.where(won, 10.0, 0.0),
        "episode_reward": np.where(success, 10.0, 0.0),
        "turns_left": turns - steps["t"],
        "success": success,
        "done": won,
    }
    keys = None
    if estimator == "evihb":
        keys = [level[steps["state"]] for level in rooms.keys] + [steps["state"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credit.CreditWarning)
        advantage = credit.compute_columns(columns, estimator, keys=keys, **options).advantage
    return advantage / (np.sqrt((advantage**2).mean()) + 1e-8)


def success_probability(rooms: Rooms, policy: Policy, turns: int) -> float:
    """Mean over the rooms of the chance to solve one within the turns: exact, by dynamic programming."""
    probability = np.exp(policy.log_probabilities(rooms.planes)[0]).astype(np.float64)
    value = np.zeros(len(rooms.next_state) + 1)
    value[-1] = 1.0  # the row of success
    for _ in range(turns):
        value[:-1] = (probability * value[rooms.next_state]).sum(axis=1)
    return float(value[rooms.start].mean())


def train(
    method: str, train_rooms: Rooms, held_out: Rooms, setting: Setting, seed: int, budget: int, *,
    tasks: int = 16, group_size: int = 8, rate: float = 3e-3, entropy: float = 0.1, clip: float = 0.2,
) -> list[tuple[int, float, float]]:  # fmt: skip
    """(environment steps, success on train rooms, success on held-out rooms), about 25 times along the way."""
    rng = np.random.default_rng([seed, 1])
    policy = Policy(np.random.default_rng([seed, 0]))
    adam = Adam(policy.weights, rate)
    curve, played, due = [], 0, 0
    while True:
        if played >= due:
            rates = [success_probability(rooms, policy, setting.turns) for rooms in (train_rooms, held_out)]
            curve.append((played, *rates))
            due += budget // 25
        if played >= budget:
            return curve
        chosen = rng.choice(len(train_rooms), tasks, replace=False)
        starts = np.repeat(np.array(train_rooms.start, np.int32)[chosen], group_size)
        steps = rollout(train_rooms, starts, policy, setting.turns, rng)
        played += len(steps["t"])
        advantage = advantages(method, train_rooms, steps, group_size, setting.turns).astype(np.float32)
        x = train_rooms.planes[steps["state"]]
        for part in np.array_split(rng.permutation(len(x)), 4):
            adam.step(
                policy.gradient(x[part], steps["action"][part], advantage[part], steps["old"][part], clip, entropy)
            )


def report(curves: dict[str, list[list[tuple[int, float, float]]]]) -> str:
    """A table: mean and deviation over seeds of the final success, area under the curve, steps to 50 %."""
    lines = [f"{'method':10} {'final train':>16} {'final held out':>16} {'area (train)':>13} {'steps to 50 %':>14}"]
    for method, runs in curves.items():
        final = np.array([[run[-1][1], run[-1][2]] for run in runs])
        area = np.mean([np.mean([point[1] for point in run]) for run in runs])
        half = [next((point[0] for point in run if point[1] >= 0.5), None) for run in runs]
        reached = [steps for steps in half if steps is not None]
        when = f"{np.median(reached):,.0f}" if len(reached) == len(runs) else f"{len(reached)} of {len(runs)} runs"
        spread = final.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(2)
        cells = [f"{m:.3f} +- {s:.3f}" for m, s in zip(final.mean(axis=0), spread)]
        lines.append(f"{method:10} {cells[0]:>16} {cells[1]:>16} {area:>13.3f} {when:>14}")
    return "\n".join(lines)


def plot(curves: dict[str, list[list[tuple[int, float, float]]]], title: str) -> str:
    """An SVG of success on the train rooms against environment steps; bands are one deviation over seeds."""
    width, height, left, top = 720, 420, 60, 40
    most = max(run[-1][0] for runs in curves.values() for run in runs)
    grid = np.linspace(0, most, 60)

    def at(x: float, y: float) -> str:
        return f"{left + x / most * (width - left - 130):.1f},{top + (1 - y) * (height - top - 50):.1f}"

    colors = ("#7f7f7f", "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/><text x="{left}" y="20">{title}</text>',
    ]
    for tick in np.linspace(0, 1, 6):
        out.append(f'<polyline points="{at(0, tick)} {at(most, tick)}" stroke="#ddd"/>')
        x, y = at(0, tick).split(",")
        out.append(f'<text x="{float(x) - 8}" y="{y}" text-anchor="end">{tick:.1f}</text>')
    for tick in np.linspace(0, most, 6):
        x, y = at(tick, 0).split(",")
        out.append(f'<text x="{x}" y="{float(y) + 18}" text-anchor="middle">{tick / 1000:.0f}k</text>')
    out.append(f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">environment steps</text>')
    for i, (color, (method, runs)) in enumerate(zip(colors, curves.items())):
        values = np.array([np.interp(grid, [p[0] for p in run], [p[1] for p in run]) for run in runs])
        mean, spread = values.mean(axis=0), values.std(axis=0)
        upper = [at(x, min(y, 1)) for x, y in zip(grid, mean + spread)]
        lower = [at(x, max(y, 0)) for x, y in zip(grid, mean - spread)]
        out.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" opacity="0.15"/>')
        line = " ".join(at(x, y) for x, y in zip(grid, mean))
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out.append(f'<text x="{width - 120}" y="{60 + 20 * i}" fill="{color}">{method}</text>')
    return "\n".join([*out, "</svg>"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooms", choices=SETTINGS, default="medium")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=500_000, help="environment steps of each run")
    parser.add_argument("--train-rooms", type=int, default=512)
    parser.add_argument("--held-out", type=int, default=128)
    parser.add_argument("--entropy", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--out", help="write the curves as JSON")
    parser.add_argument("--plot", help="write the curves as SVG")
    args = parser.parse_args()
    setting = SETTINGS[args.rooms]
    methods = args.methods.split(",")
    for method in methods:
        if method not in METHODS:
            parser.error(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    taken: set[str] = set()
    train_rooms = Rooms("train", args.train_rooms, setting, taken)
    held_out = Rooms("test", args.held_out, setting, taken)
    uniform = success_probability(train_rooms, Policy(np.random.default_rng(0)), setting.turns)
    print(
        f"{args.rooms} rooms: {len(train_rooms)} to train, {len(held_out)} held out, {setting.turns} turns; "
        f"an untrained policy wins {100 * uniform:.1f} %", file=sys.stderr,
    )  # fmt: skip
    curves: dict[str, list[list[tuple[int, float, float]]]] = {}
    for method in methods:
        for seed in range(args.seeds):
            begun = time.time()
            run = train(
                method, train_rooms, held_out, setting, seed, args.steps, entropy=args.entropy, rate=args.rate
            )
            curves.setdefault(method, []).append(run)
            print(
                f"{method} seed {seed}: train {run[-1][1]:.3f}, held out {run[-1][2]:.3f} "
                f"({time.time() - begun:.1f} s)", file=sys.stderr,
            )  # fmt: skip
    print(report(curves))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump({"settings": vars(args), "curves": curves}, file)
    if args.plot:
        with open(args.plot, "w", encoding="utf-8") as file:
            file.write(plot(curves, f"{args.rooms} rooms, {args.seeds} seeds"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
