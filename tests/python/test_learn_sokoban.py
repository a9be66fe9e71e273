"""The learning demonstration: gradients against finite differences, evaluation against simulation, a short run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import lodestep

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "learn_sokoban.py"
NAMES = [row["name"] for row in lodestep.environments()]
pytestmark = pytest.mark.skipif("sokoban" not in NAMES, reason="sokoban is not registered in this build")


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("learn_sokoban", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules["learn_sokoban"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rooms(demo):
    return demo.Rooms("train", 12, demo.Setting(moves=2, turns=10), set())


def test_gradient(demo) -> None:
    rng = np.random.default_rng(0)
    policy = demo.Policy(rng, np.float64)
    for weight in policy.weights:
        weight += 0.1 * rng.standard_normal(weight.shape)
    x = rng.standard_normal((40, 64))
    action = rng.integers(4, size=40)
    advantage = rng.standard_normal(40)
    old = policy.log_probabilities(x)[0][np.arange(40), action] + 0.3 * rng.standard_normal(40)
    arguments = (x, action, advantage, old, 0.2, 0.1)
    for weight, gradient in zip(policy.weights, policy.gradient(*arguments)):
        for _ in range(12):
            at = tuple(rng.integers(n) for n in weight.shape)
            kept = weight[at]
            weight[at] = kept + 1e-6
            above = policy.loss(*arguments)
            weight[at] = kept - 1e-6
            below = policy.loss(*arguments)
            weight[at] = kept
            assert gradient[at] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-8)


def test_the_table_plays_like_the_environment(demo, rooms) -> None:
    rng = np.random.default_rng(1)
    factory = lodestep.open_environment("sokoban", rewards="sparse", distance=True)
    env = factory.make()
    checked = 0
    for task in lodestep.tasks(factory):
        first = env.reset(task, seed=0).observation
        starts = [s for s in rooms.start if np.array_equal(rooms.planes[s], demo.planes(first))]
        if not starts:
            continue
        state, checked = starts[0], checked + 1
        for _ in range(30):
            action = int(rng.integers(4))
            step, state = env.step(demo.ACTIONS[action]), rooms.next_state[state, action]
            assert (state == -1) == (step.outcome == "success")
            if state == -1:
                break
            assert np.array_equal(rooms.planes[state], demo.planes(step.observation))
        if checked == len(rooms):
            break
    assert checked == len(rooms)


def test_the_exact_evaluation_agrees_with_simulation(demo, rooms) -> None:
    policy = demo.Policy(np.random.default_rng(0))
    exact = demo.success_probability(rooms, policy, 10)
    starts = np.repeat(np.array(rooms.start, np.int32), 2000)
    steps = demo.rollout(rooms, starts, policy, 10, np.random.default_rng(5))
    assert (steps["next"] == -1).sum() / len(starts) == pytest.approx(exact, abs=0.01)


def test_a_short_run_learns(demo) -> None:
    known = {row["name"] for row in lodestep.credit.estimators()}
    setting = demo.Setting(moves=1, turns=10)
    taken: set[str] = set()
    train, held_out = demo.Rooms("train", 24, setting, taken), demo.Rooms("test", 8, setting, taken)
    curves = {}
    for method, (estimator, _) in demo.METHODS.items():
        if estimator in known:
            run = demo.train(method, train, held_out, setting, 0, 20_000)
            assert run[-1][1] > run[0][1] + 0.05, method
            curves[method] = [run]
    assert all(method in demo.report(curves) for method in curves)
    assert demo.plot(curves, "t").startswith("<svg")
