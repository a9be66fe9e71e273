"""Rollouts on a local Ray cluster of several raylets: the bytes of one process, with an actor killed on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")

import lodestep  # noqa: E402
import lodestep.ray  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def same(a: lodestep.Recording, b: lodestep.Recording) -> bool:
    def equal(x, y) -> bool:
        return np.array_equal(x, y, equal_nan=x.dtype.kind == "f") if isinstance(x, np.ndarray) else x == y

    pairs = [(a.steps(), b.steps()), (a.episodes(), b.episodes())]
    return all(x.keys() == y.keys() and all(equal(x[k], y[k]) for k in x) for x, y in pairs)


def test_any_number_of_actors_gives_the_bytes_of_one_process(cluster, tmp_path: Path) -> None:
    # More groups than tasks: a task that comes twice must meet other chance the second time.
    wanted = {"groups": 14, "group_size": 3, "max_steps": 6, "seed": 3}
    alone = lodestep.rollout("dummy", **wanted)
    for actors in (None, 1, 3):
        run = lodestep.ray.rollout("dummy", actors=actors, **wanted)
        assert same(alone, run)
        assert run.info == alone.info
    stored = lodestep.ray.rollout("dummy", actors=2, out=tmp_path / "run.db", **wanted)
    assert same(alone, stored) and same(alone, lodestep.open(tmp_path / "run.db"))
    credit = [lodestep.credit.compute(run, "graphgpo").advantage.tolist() for run in (alone, stored)]
    assert credit[0] == credit[1]


def test_settings_data_and_policies_travel(cluster) -> None:
    if "sokoban" not in [row["name"] for row in lodestep.environments()]:
        pytest.skip("sokoban is not registered in this build")
    wanted = {"groups": 5, "group_size": 2, "policy": "mixed:0.4", "seed": 4, "split": "valid", "rewards": "sparse", "size": "7x6"}
    run = lodestep.ray.rollout("sokoban", actors=2, groups_per_call=1, **wanted)
    assert same(run, lodestep.rollout("sokoban", **wanted))
    with pytest.raises(lodestep.InvalidArgument, match="known"):
        lodestep.ray.rollout("sokoban", sizes="7x6")


def test_a_killed_actor_is_replaced_and_its_groups_are_played_again(cluster, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    wanted = {"groups": 8, "group_size": 2, "max_steps": 4, "seed": 1}

    def deadly(turn: lodestep.Turn) -> str:
        try:
            mark.open("x").close()
        except FileExistsError:
            return turn.admissible[turn.below(len(turn.admissible))]
        os.kill(os.getpid(), signal.SIGKILL)  # the first turn of the whole run takes its process down
        return ""

    def harmless(turn: lodestep.Turn) -> str:
        return turn.admissible[turn.below(len(turn.admissible))]

    run = lodestep.ray.rollout("dummy", actors=2, policy=deadly, **wanted)
    assert mark.exists()
    assert same(run, lodestep.rollout("dummy", policy=harmless, **wanted))


def test_too_many_lost_actors_and_raising_policies_end_the_run(cluster) -> None:
    def fatal(turn: lodestep.Turn) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    with pytest.raises(lodestep.Unavailable, match="2 actors were lost"):
        lodestep.ray.rollout("dummy", actors=1, policy=fatal, restarts=1, groups=1)

    def broken(turn: lodestep.Turn) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        lodestep.ray.rollout("dummy", actors=1, policy=broken, groups=1)
