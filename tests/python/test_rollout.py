"""Group rollouts in this process and the recordings they make."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import lodestep

NAMES = [row["name"] for row in lodestep.environments()]


def columns_equal(a: dict, b: dict) -> bool:
    def equal(x, y) -> bool:
        return np.array_equal(x, y, equal_nan=x.dtype.kind == "f") if isinstance(x, np.ndarray) else x == y

    return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)


def test_threads_and_files_change_nothing(factory: lodestep.Factory, tmp_path: Path) -> None:
    def run(**keywords):
        return lodestep.rollout(factory, groups=3, group_size=4, max_steps=8, seed=5, **keywords)

    one = run(threads=1)
    four = run(threads=4)
    stored = run(threads=2, out=tmp_path / "run.db")
    again = lodestep.open(tmp_path / "run.db")
    for other in (four, stored, again):
        assert columns_equal(one.steps(), other.steps())
        assert columns_equal(one.episodes(), other.episodes())
    assert again.info["env"] == factory.name and again.info["seed"] == "5"
    with pytest.raises(lodestep.InvalidArgument, match="exists already"):
        run(out=tmp_path / "run.db")


def test_members_of_a_group_start_alike_and_groups_are_tasks(factory: lodestep.Factory) -> None:
    steps = lodestep.rollout(factory, groups=3, group_size=4, max_steps=5).steps()
    first = steps["t"] == 0
    for group in range(3):
        rows = np.flatnonzero(first & (steps["group"] == group))
        assert len(rows) == 4
        assert len({steps["key_exact"][row] for row in rows}) == 1
        assert len({steps["task"][row] for row in rows}) == 1


def test_next_columns_are_the_next_rows(factory: lodestep.Factory) -> None:
    steps = lodestep.rollout(factory, groups=2, group_size=3, max_steps=6).steps()
    for row in range(len(steps["t"]) - 1):
        if steps["t"][row + 1] == steps["t"][row] + 1:
            assert steps["next_state_hash"][row] == steps["state_hash"][row + 1]
            assert steps["next_observation"][row] == steps["observation"][row + 1]


def test_python_policy_sees_the_turn(factory: lodestep.Factory) -> None:
    def policy(turn: lodestep.Turn) -> str:
        assert turn.t == len(turn.history()) and turn.keys.exact
        assert 0 <= turn.random() < 1
        return turn.admissible[turn.below(len(turn.admissible))] if turn.admissible else "x"

    one = lodestep.rollout(factory, groups=2, group_size=3, max_steps=5, policy=policy)
    four = lodestep.rollout(factory, groups=2, group_size=3, max_steps=5, policy=policy, threads=4)
    assert columns_equal(one.steps(), four.steps())
    assert set(one.steps()["action"]) > {one.steps()["action"][0]} or len(set(one.steps()["action"])) == 1


def test_a_policy_that_stops_ends_its_episode() -> None:
    run = lodestep.rollout("dummy", groups=1, group_size=2, policy=lambda turn: "left" if turn.t == 0 else None)
    assert run.episodes()["steps"].tolist() == [1, 1]
    assert run.episodes()["failure"] == ["the policy stopped"] * 2


def test_a_policy_that_raises_stops_the_run_with_its_exception() -> None:
    def policy(turn: lodestep.Turn) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lodestep.rollout("dummy", policy=policy, threads=3)


def test_a_kept_turn_is_refused() -> None:
    kept = []

    def policy(turn: lodestep.Turn) -> str:
        kept.append(turn)
        return "right"

    lodestep.rollout("dummy", groups=1, group_size=1, policy=policy)
    with pytest.raises(lodestep.InvalidArgument, match="this turn is over"):
        _ = kept[0].observation


def test_tasks_by_id_and_unknown_ones() -> None:
    run = lodestep.rollout("dummy", tasks=["3", "7"], group_size=2, policy="gold")
    assert run.episodes()["task"] == ["3", "3", "7", "7"]
    assert run.episodes()["outcome"] == ["success"] * 4
    with pytest.raises(lodestep.NotFound, match="no task 'x'"):
        lodestep.rollout("dummy", tasks=["x"])
    with pytest.raises(lodestep.Error, match="golld|gold"):
        lodestep.rollout("dummy", policy="golld")


def test_other_python_threads_run_while_the_core_steps() -> None:
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    lodestep.rollout("dummy", groups=400, group_size=16, max_steps=50, policy="random", length=100)
    over.set()
    thread.join()
    assert ticks > 3


def test_the_program_in_this_process() -> None:
    run = subprocess.run([sys.executable, "-m", "lodestep", "tasks", "dummy"], capture_output=True, text=True)
    assert run.stdout.split() == [str(i) for i in range(10)]
    run = subprocess.run([sys.executable, "-m", "lodestep", "--version"], capture_output=True, text=True)
    assert lodestep.__version__ in run.stdout


@pytest.mark.skipif("sokoban" not in NAMES, reason="sokoban is not registered in this build")
def test_the_demo_runs_the_main_job(tmp_path: Path) -> None:
    words = ["demo", "--groups", "2", "--group-size", "3", "--out", str(tmp_path / "demo.db")]
    run = subprocess.run([sys.executable, "-m", "lodestep", *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "2 x 3 episodes of sokoban" in run.stdout
    assert len(lodestep.open(tmp_path / "demo.db").episodes()["member"]) == 6
