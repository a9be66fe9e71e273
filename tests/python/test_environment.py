"""In-process environments: the laws as a Python user sees them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import lodestep


def view(env: lodestep.Environment, step: lodestep.Step) -> tuple:
    keys = env.state_keys()
    return (
        step.observation,
        step.reward,
        step.outcome,
        step.valid,
        keys.exact,
        keys.relevant,
        keys.stage,
        env.state_hash(),
        tuple(env.admissible_actions()),
    )


def play(env: lodestep.Environment, seed: int, steps: int = 12) -> list[tuple]:
    views = [view(env, env.reset(seed=seed))]
    for t in range(steps):
        actions = env.admissible_actions()
        views.append(view(env, env.step(actions[(7 * t + seed) % len(actions)] if actions else "nothing")))
    return views


def test_same_seed_same_task_same_bytes(factory: lodestep.Factory) -> None:
    env = factory.make()
    assert play(env, 77) == play(env, 77) == play(factory.make(), 77)
    assert env.task.seed == 77 and env.task.env == factory.name


def test_unseeded_resets_report_their_seed(factory: lodestep.Factory) -> None:
    env = factory.make()
    seeds = set()
    for _ in range(5):
        first = env.reset().observation
        task = env.task
        seeds.add(task.seed)
        assert factory.make().reset(task.id, seed=task.seed).observation == first
        assert factory.make().reset(seed=task.seed).observation == first
    assert len(seeds) == 5


def test_neighbouring_seeds_do_not_share_tasks_in_a_row() -> None:
    factory = lodestep.open_environment("dummy")
    env = factory.make()

    def drawn(base: int) -> list[str]:
        ids = []
        for worker in range(16):
            env.reset(seed=base * 1000 + worker)
            ids.append(env.task.id)
        return ids

    assert drawn(5) != drawn(6) and drawn(5)[1:] != drawn(6)[:-1]


def test_tasks_by_id_and_by_index(factory: lodestep.Factory) -> None:
    for split in factory.splits:
        ids = lodestep.tasks(factory, split)
        assert len(ids) == factory.task_count(split) > 0
        env = factory.make()
        env.reset(split=split, index=len(ids) - 1, seed=3)
        assert env.task.id == ids[-1] == ids[len(ids) - 1]
        with pytest.raises(IndexError):
            ids[len(ids)]
    with pytest.raises(lodestep.InvalidArgument, match="one or the other"):
        factory.make().reset(lodestep.tasks(factory)[0], index=0)


def test_snapshot_and_clone(factory: lodestep.Factory) -> None:
    env = factory.make(max_steps=9)
    env.reset(seed=3)
    env.step((env.admissible_actions() or ["x"])[0])
    saved = env.snapshot()
    twin = factory.make(max_steps=9)
    twin.restore(saved)
    clone = env.clone()
    assert twin.snapshot() == saved == clone.snapshot()
    assert twin.steps == clone.steps == 1 and twin.turns_left == 8
    for _ in range(3):
        action = (env.admissible_actions() or ["x"])[-1]
        assert view(env, env.step(action)) == view(twin, twin.step(action))
    assert clone.snapshot() == saved
    before = twin.snapshot()
    with pytest.raises(lodestep.BadData):
        twin.restore(b"no snapshot")
    assert twin.snapshot() == before


def test_budget_truncates_and_does_not_terminate(factory: lodestep.Factory) -> None:
    env = factory.make(max_steps=2)
    env.reset(seed=1)
    assert not env.step("no such action").done
    last = env.step("no such action")
    assert last.truncated and not last.terminated and last.done
    assert last.outcome == "running" and not last.valid
    hash_at_end = env.state_hash()
    after = env.step((env.admissible_actions() or ["x"])[0])
    assert after.reward == 0 and env.state_hash() == hash_at_end and env.steps == 2


def test_gold_actions_reach_success(factory: lodestep.Factory) -> None:
    env = factory.make()
    step = env.reset(lodestep.tasks(factory)[0], seed=0)
    for _ in range(200):
        action = env.gold_action()
        if step.done or action is None:
            break
        step = env.step(action)
    assert step.outcome == "success"
    assert isinstance(env.details(), dict)


def test_any_action_text(factory: lodestep.Factory) -> None:
    env = factory.make()
    env.reset(seed=0)
    for action in ["", " ", "\x00", "\u200b", "推", "a" * 100_000, b"\xff\xfe", b""]:
        assert not env.step(action).valid
    with pytest.raises(UnicodeEncodeError):
        env.step("\ud800")
    with pytest.raises(TypeError, match="an action is text"):
        env.step(3)  # type: ignore[arg-type]


def test_errors_say_the_words_of_the_command_line(env_name: str) -> None:
    factory = lodestep.open_environment(env_name)
    with pytest.raises(lodestep.NotFound) as caught:
        factory.task_count("nowhere")
    program = subprocess.run(
        [sys.executable, "-m", "lodestep", "tasks", env_name, "--split", "nowhere"], capture_output=True, text=True
    )
    assert program.returncode == 2
    assert program.stderr.splitlines()[0] == "lodestep: error: " + str(caught.value).splitlines()[0]
    assert caught.value.code == "not_found" and caught.value.hint


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(lodestep.NotFound, match="did you mean 'dummy'"):
        lodestep.make("dumy")
    with pytest.raises(lodestep.InvalidArgument, match="length"):
        lodestep.make("dummy", lenght=9)
    with pytest.raises(lodestep.InvalidArgument, match="call reset"):
        lodestep.make("dummy").step("right")
    with pytest.raises(lodestep.NotFound):
        lodestep.make("dummy").reset("10")


SCRIPT = """
import hashlib, lodestep
digest = hashlib.sha256()
for row in lodestep.environments():
    env = lodestep.make(row["name"])
    step = env.reset(seed=5)
    for t in range(50):
        actions = env.admissible_actions()
        digest.update(repr((step.observation, actions, env.details(), env.state_keys().exact)).encode())
        step = env.step(actions[t * 3 % len(actions)] if actions else "x")
print(digest.hexdigest())
"""


def test_digest_does_not_depend_on_the_process_or_pythons_hash_seed() -> None:
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C"}
        run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True)
        digests.add(run.stdout.strip())
    assert len(digests) == 1


def test_threads_on_own_environments_give_the_bytes_of_one_thread(factory: lodestep.Factory) -> None:
    expected = [play(factory.make(), seed) for seed in range(6)]
    got: list = [None] * 6

    def work(seed: int) -> None:
        got[seed] = play(factory.make(), seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == expected


def test_one_environment_from_many_threads_stays_whole() -> None:
    env = lodestep.make("dummy", length=100)
    env.reset("0")
    threads = [threading.Thread(target=lambda: [env.step("wait") for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert env.steps == 800


def test_a_version_or_digest_can_be_required(factory: lodestep.Factory) -> None:
    """B11: data or rules that are not the ones asked for are refused, with both named."""
    name = factory.name
    same = lodestep.open_environment(name, require_version=str(factory.version), require_digest=factory.data_digest)
    assert same.data_digest == factory.data_digest
    with pytest.raises(lodestep.InvalidArgument, match=rf"data digest abc is required and this is {factory.data_digest}"):
        lodestep.make(name, require_digest="abc")
    with pytest.raises(lodestep.InvalidArgument, match="version 99"):
        lodestep.rollout(name, require_version="99")


def test_missing_data_are_named_at_once(env_name: str) -> None:
    """B9: an empty folder is no environment with zero tasks."""
    with pytest.raises(lodestep.Error, match="nowhere"):
        lodestep.make(env_name, "nowhere/at/all")


def test_construction_starts_no_episode(factory: lodestep.Factory) -> None:
    assert factory.make().steps == 0
    with pytest.raises(lodestep.InvalidArgument, match="no episode has begun"):
        factory.make().observe()


def test_batch_equals_single_environments(factory: lodestep.Factory) -> None:
    ids = lodestep.tasks(factory)
    chosen = [ids[i * len(ids) // 6] for i in range(6)]
    seeds = list(range(6))
    batch = lodestep.Batch(factory, 6, max_steps=5, threads=3)
    singles = [factory.make(max_steps=5) for _ in range(6)]
    batch.reset(chosen, seeds)
    steps = [env.reset(task, seed=seed) for env, task, seed in zip(singles, chosen, seeds, strict=True)]
    assert batch.observations == [step.observation for step in steps]
    rewards = batch.rewards
    for t in range(6):
        assert batch.admissible_actions() == [env.admissible_actions() for env in singles]
        actions = [a[(t + i) % len(a)] if a else "x" for i, a in enumerate(batch.admissible_actions())]
        batch.step(actions)
        steps = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        assert batch.observations == [step.observation for step in steps]
        assert rewards.tolist() == [step.reward for step in steps]  # the view follows the batch
        assert batch.terminated.tolist() == [step.terminated for step in steps]
        assert batch.truncated.tolist() == [step.truncated for step in steps]
        assert batch.valid.tolist() == [step.valid for step in steps]
        assert batch.steps.tolist() == [env.steps for env in singles]
        assert batch.state_hashes() == [env.state_hash() for env in singles]
    assert rewards.dtype == np.float64 and batch.valid.dtype == np.bool_
    assert not rewards.flags.writeable
    del batch
    assert rewards.shape == (6,)  # the view keeps the memory alive


def test_batch_masks_none_and_refusals(factory: lodestep.Factory) -> None:
    task = lodestep.tasks(factory)[0]
    batch = lodestep.Batch(factory, 3)
    with pytest.raises(lodestep.InvalidArgument, match="no episode has begun"):
        batch.step(["x"] * 3)
    batch.reset([task] * 3, [0] * 3)
    start = batch.state_hashes()
    action = (batch.admissible_actions()[0] or ["x"])[0]
    batch.step([None, action, None])
    assert batch.steps.tolist() == [0, 1, 0]
    batch.reset([task] * 3, [0] * 3, mask=np.array([False, True, False]))
    assert batch.steps.tolist() == [0, 0, 0] and batch.state_hashes() == start
    with pytest.raises(lodestep.NotFound):
        batch.reset([task, task, "no such task"], [0] * 3)
    assert batch.state_hashes() == start  # a bad task changes nothing
    with pytest.raises(lodestep.InvalidArgument, match="2 actions for 3 episodes"):
        batch.step(["x"] * 2)
    batch.step([action] * 3)
    batch.restore(0, batch.snapshot(1))
    assert batch.state_hashes()[0] == batch.state_hashes()[1]
    with pytest.raises(lodestep.InvalidArgument, match="no member 3"):
        batch.snapshot(3)
    with pytest.raises(lodestep.InvalidArgument):
        lodestep.Batch(factory, 0)


def test_the_digest_of_a_fixed_walk_is_the_same_through_every_door(factory: lodestep.Factory) -> None:
    """A11: the way of running does not change the episode."""
    walks = [play(factory.make(), 11), play(factory.make(max_steps=1000), 11)]
    assert len({hashlib.sha256(repr(walk).encode()).hexdigest() for walk in walks}) == 1
