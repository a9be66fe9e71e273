"""Steps as columns of numbers: the same credit, and the same refusals, as through the core's reader of JSON lines."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import lodestep
from lodestep import _steps, credit

ESTIMATORS = [row["name"] for row in credit.estimators()]


def unusual(*_: Any) -> None:
    raise _steps.Unusual


def outcome(steps: Any, estimator: str, **settings: Any) -> Any:
    """Everything a user sees of a credit or of its refusal."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            got = credit.compute(steps, estimator, **settings)
        except (lodestep.Error, TypeError, ValueError) as error:
            return type(error), str(error)
    columns = {name: (str(column.dtype), column.tobytes()) for name, column in got.columns().items()}
    return columns, got.summary, got.notes, got.graphs, [str(warning.message) for warning in told]


def both_ways(monkeypatch: pytest.MonkeyPatch, steps: Any, estimator: str, **settings: Any) -> tuple[Any, Any]:
    quick = outcome(steps, estimator, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(_steps, "read", unusual)
        return quick, outcome(steps, estimator, **settings)


def some_steps(rng: random.Random) -> list[dict[str, Any]]:
    """A batch with fields left out here and there, in a mixed order."""
    grids, long = rng.random() < 0.3, "x" * rng.choice((1, 700))
    extras = [name for name in ("next_state", "valid", "tokens", "action", "turns_left", "cost", "keys") if rng.random() < 0.5]
    known, given = rng.random() < 0.7, rng.random() < 0.3

    def state() -> Any:
        n = rng.randrange(5)
        return rng.choice(([1, n, 2], (1, n, 2), np.array([[1, n], [2, 0]])[:, :1].repeat(2, 1))) if grids else f"{long}{n}"

    steps: list[dict[str, Any]] = []
    for task in rng.sample(["a", "b", 1, 2], rng.randint(1, 3)):
        for episode in range(rng.randint(1, 4)):
            length, won = rng.randint(1, 5), rng.random() < 0.5
            for t in range(length):
                last = t == length - 1
                row: dict[str, Any] = {"task": task, "episode": rng.choice((episode, episode)), "t": t, "state": state()}
                if "next_state" in extras:
                    row["next_state"] = rng.choice(("success" if last and won else state(), state(), None))
                if known or not last:
                    row["reward"] = float(10 * won) if last else rng.choice((0, -0.1, np.float32(0.25)))
                elif last:
                    row["reward"] = None
                if given:
                    row["episode_reward"] = float(won)
                if last:
                    row.update(success=won, done=won, truncated=not won)
                for name, value in (
                    ("valid", rng.random() < 0.8), ("tokens", rng.randint(0, 9)), ("action", rng.choice(("up", None, "down"))),
                    ("turns_left", 9 - t), ("cost", rng.choice((1, 0.5))), ("keys", [f"k{rng.randrange(2)}", f"f{rng.randrange(4)}"]),
                ):  # fmt: skip
                    if name in extras and (name == "keys" or rng.random() < 0.9):
                        row[name] = value
                steps.append(row)
    rng.shuffle(steps)
    return steps


def test_both_readers_give_the_same_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    credited = 0
    for seed in range(150):
        rng = random.Random(seed)
        steps = some_steps(rng)
        estimator = ESTIMATORS[seed % len(ESTIMATORS)]
        quick, careful = both_ways(monkeypatch, steps, estimator)
        assert quick == careful, (seed, estimator)
        credited += len(quick) > 2
    assert credited > 60


def test_the_quick_reader_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lodestep._core, "credit_json_lines", None)
    for seed in range(20):
        _steps.read(some_steps(random.Random(seed)), False)


GOOD = {"task": "a", "episode": 0, "t": 0, "state": "x", "reward": 0.0}


@pytest.mark.parametrize(
    "change",
    [
        {"t": -1}, {"t": True}, {"t": 1.0}, {"t": 2**31}, {"task": 1.5}, {"task": None}, {"episode": True}, {"state": None},
        {"state": 3}, {"state": [1, "a"]}, {"state": [[1], [2]]}, {"state": [True, 1]}, {"state": np.array([0.5])},
        {"reward": "1"}, {"reward": float("inf")}, {"reward": True}, {"valid": 1}, {"valid": None}, {"tokens": -1},
        {"tokens": 1.0}, {"keys": []}, {"keys": "abc"}, {"keys": [1]}, {"action": 1.5}, {"cost": None}, {"cost": -1},
        {"next_state": 4}, {"answer_logprob": [1]}, {"answer_logprob": [1, "b"]}, {"answer_logprob": [-1, -2]},
        {"rewrad": 1}, {"next_value": float("nan")}, {"episode_reward": 3}, {"infrastructure_failure": True}, {"active": False},
        {"state_hash": "abc"}, {"energy": 1e200},
    ],
)  # fmt: skip
def test_odd_fields_are_met_alike(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    steps = [GOOD, {**GOOD, "t": 1, "reward": 1.0, **change}, {**GOOD, "episode": 1}]
    for estimator in ("grpo", "graphgpo"):
        quick, careful = both_ways(monkeypatch, steps, estimator)
        assert quick == careful
    left_out = [{name: value for name, value in GOOD.items() if name != next(iter(change))}, *steps[2:]]
    quick, careful = both_ways(monkeypatch, left_out, "grpo")
    assert quick == careful


def test_second_rows_and_other_rewards_of_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in ([GOOD, GOOD], [{**GOOD, "episode_reward": 1}, {**GOOD, "t": 1, "episode_reward": 2}]):
        quick, careful = both_ways(monkeypatch, steps, "grpo")
        assert quick == careful and quick[0] is lodestep.BadData and "step 2" in quick[1]


def test_tables_with_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    for seed in range(12):
        steps = [{k: v for k, v in row.items() if k != "keys"} for row in some_steps(random.Random(seed))]
        if any(not isinstance(row["state"], str) for row in steps):
            continue
        for row in steps:
            row["task"] = str(row["task"])
            if "reward" in row and row["reward"] is not None:
                row["reward"] = float(row["reward"])
        names = dict.fromkeys(name for row in steps for name in row)
        frame = pandas.DataFrame(steps)
        table = pyarrow.table({name: [row.get(name) for row in steps] for name in names})
        for handed in (frame, table):
            quick, careful = both_ways(monkeypatch, handed, "graphgpo")
            assert quick == careful
