"""Gymnasium: the checkers of both libraries, three autoreset modes, seeds as in single environments."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import sys
import types
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import lodestep  # noqa: E402
import lodestep.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402


def same(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def forms(name: str) -> list[dict]:
    images = "rgb_array" in lodestep.gym.LodestepEnv(name).metadata["render_modes"]
    out = [{}, {"observation": "bytes"}, {"actions": "index"}]
    return [*out, {"observation": "image"}] if images else out


def test_sokoban_draws_itself() -> None:
    env = gymnasium.make("lodestep/Sokoban-v0", render_mode="rgb_array")
    _, info = env.reset(seed=1)
    before = env.render()
    env.step(info["admissible_actions"][0])
    assert before.shape == (96, 96, 3) and not np.array_equal(before, env.render())


def test_every_environment_is_registered_by_its_id(env_name: str) -> None:
    spec = gymnasium.spec(lodestep.gym.env_id(env_name))
    assert spec.vector_entry_point
    assert lodestep.gym.env_id("alfworld") == "lodestep/ALFWorld-v0"
    assert lodestep.gym.env_id("sokoban") == "lodestep/Sokoban-v0"


def test_gymnasium_check_env_is_clean(env_name: str) -> None:
    for form in forms(env_name):
        env = gymnasium.make(lodestep.gym.env_id(env_name), **form).unwrapped
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env)


@functools.cache
def stable_baselines3_check_env():
    """Its checker needs torch only for type names elsewhere; without torch those modules get empty stand-ins."""
    if importlib.util.find_spec("stable_baselines3") is None:
        pytest.skip("stable-baselines3 is not installed")
    stand_ins = () if importlib.util.find_spec("torch") else ("torch", "torch.nn", "torch.nn.functional")
    if stand_ins:
        package = types.ModuleType("stable_baselines3")
        package.__path__ = importlib.util.find_spec("stable_baselines3").submodule_search_locations
        torch, nn, functional = (types.ModuleType(n) for n in stand_ins)
        torch.__getattr__ = nn.__getattr__ = lambda name: type(name, (), {})
        torch.nn, nn.functional = nn, functional
        for module in (package, torch, nn, functional):
            sys.modules.setdefault(module.__name__, module)
        for name in ("utils", "running_mean_std"):
            stub = types.ModuleType(f"stable_baselines3.common.{name}")
            stub.__getattr__ = lambda name: type(name, (), {})
            sys.modules.setdefault(stub.__name__, stub)
    from stable_baselines3.common.env_checker import check_env as check

    for name in stand_ins:  # other libraries must not take them for torch
        sys.modules.pop(name, None)
    return check


def test_stable_baselines3_check_env_is_clean(env_name: str) -> None:
    check = stable_baselines3_check_env()
    for form in forms(env_name):
        if form.get("observation", "text") == "text":
            continue  # the library has no text observations
        env = gymnasium.make(lodestep.gym.env_id(env_name), actions="index", **form).unwrapped
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(env)


def test_seeds_and_options_choose_the_episode(env_name: str) -> None:
    env = gymnasium.make(lodestep.gym.env_id(env_name)).unwrapped
    first, info = env.reset(seed=77)
    again, info_again = env.reset(seed=77)
    assert first == again and info == info_again
    _, other = env.reset()
    assert other["seed"] != info["seed"]
    named, named_info = env.reset(options={"task": info["task"]}, seed=77)
    assert named == first and named_info["task"] == info["task"]
    split = env.core.factory.splits[0]
    _, indexed = env.reset(options={"split": split, "index": 1})
    assert indexed["task"] == env.core.factory.task_id(split, 1)
    with pytest.raises(lodestep.InvalidArgument, match="known: task, split, index"):
        env.reset(options={"taks": "x"})
    env.next_episode(task=info["task"], seed=77)
    assert env.reset()[0] == first
    assert env.reset()[1]["seed"] != 77  # used once


def test_truncated_is_not_terminated(env_name: str) -> None:
    env = gymnasium.make(lodestep.gym.env_id(env_name), max_steps=3).unwrapped
    env.reset(seed=1)
    flags = [env.step("no such action")[2:4] for _ in range(3)]
    assert flags == [(False, False), (False, False), (False, True)]


def test_rendering(env_name: str) -> None:
    name = lodestep.gym.env_id(env_name)
    env = gymnasium.make(name, render_mode="ansi").unwrapped
    text, _ = env.reset(seed=0)
    assert env.render() == text
    if "rgb_array" in env.metadata["render_modes"]:
        env = gymnasium.make(name, render_mode="rgb_array").unwrapped
        env.reset(seed=0)
        assert env.render().dtype == np.uint8 and env.render().shape[2] == 3
        envs = gymnasium.make_vec(name, num_envs=2, render_mode="rgb_array")
        envs.reset(seed=0)
        assert np.array_equal(envs.render()[0], env.render()) and envs.render()[1].shape == env.render().shape
    else:
        with pytest.raises(lodestep.Unsupported, match="ansi"):
            lodestep.gym.LodestepEnv(env_name, render_mode="rgb_array")


def single(env_name: str, **keywords):
    return lambda: lodestep.gym.LodestepEnv(env_name, max_steps=4, **keywords)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_equals_a_row_of_single_environments(env_name: str, mode: AutoresetMode) -> None:
    n = 5
    twin = SyncVectorEnv([single(env_name) for _ in range(n)], autoreset_mode=mode)
    envs = gymnasium.make_vec(
        lodestep.gym.env_id(env_name), num_envs=n, vectorization_mode="vector_entry_point", autoreset_mode=mode,
        max_steps=4, threads=2,
    )  # fmt: skip
    assert envs.metadata["autoreset_mode"] is mode
    assert envs.observation_space == twin.observation_space and envs.action_space == twin.action_space
    got, want = envs.reset(seed=9), twin.reset(seed=9)
    assert same(got, want)
    ended = np.zeros(n, bool)
    for t in range(14):
        actions = [a[(t + i) % len(a)] if a else "x" for i, a in enumerate(want[-1]["admissible_actions"])]
        if mode is AutoresetMode.DISABLED and ended.any():
            with pytest.raises(gymnasium.error.ResetNeeded):
                envs.step(actions)
            got = envs.reset(options={"reset_mask": ended.copy()})
            want = twin.reset(options={"reset_mask": ended.copy()})
            assert same(got, want)
            # a partial reset tells of its members only
            actions = ["x"] * n
        got, want = envs.step(actions), twin.step(tuple(actions))
        infos = {key: value for key, value in got[-1].items() if key not in ("autoreset", "_autoreset")}
        assert same(got[:-1], want[:-1]) and same(infos, want[-1])
        if mode is AutoresetMode.NEXT_STEP:
            marked = got[-1].get("autoreset", np.zeros(n, bool))
            assert np.array_equal(marked, ended)  # the dead step is marked
        ended = got[2] | got[3]
    envs.close()
    envs.close()


def test_the_last_observation_is_delivered_once(env_name: str) -> None:
    envs = lodestep.gym.LodestepVectorEnv(env_name, num_envs=2, max_steps=2, autoreset_mode="same_step")
    envs.reset(seed=0)
    envs.step(["x", "x"])
    observations, _, _, truncated, infos = envs.step(["x", "x"])
    assert truncated.all() and infos["_final_obs"].all()
    alone = lodestep.gym.LodestepEnv(env_name, max_steps=2)
    alone.reset(seed=0)
    alone.step("x")
    assert infos["final_obs"][0] == alone.step("x")[0]
    assert observations[0] == alone.reset()[0]


def test_the_next_episode_of_an_automatic_reset_can_be_chosen(env_name: str) -> None:
    envs = lodestep.gym.LodestepVectorEnv(env_name, num_envs=3, max_steps=1, autoreset_mode="same_step")
    _, infos = envs.reset(seed=0)
    wanted = envs.core.factory.task_id(envs.core.factory.splits[0], 2)
    envs.next_episode(1, task=wanted, seed=5)
    _, _, _, _, infos = envs.step(["x"] * 3)
    assert infos["task"][1] == wanted and infos["seed"][1] == 5
    _, _, _, _, infos = envs.step(["x"] * 3)
    assert infos["seed"][1] != 5
    with pytest.raises(lodestep.InvalidArgument, match="no member 3"):
        envs.next_episode(3)


def test_vector_refusals(env_name: str) -> None:
    envs = lodestep.gym.LodestepVectorEnv(env_name, num_envs=2)
    with pytest.raises(lodestep.InvalidArgument, match="3 seeds for 2"):
        envs.reset(seed=[1, 2, 3])
    for mask in (np.array([False, False]), np.array([1, 0]), [True, False], np.array([True])):
        with pytest.raises(lodestep.InvalidArgument, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.reset(seed=0)
    with pytest.raises(lodestep.InvalidArgument, match="1 actions for 2"):
        envs.step(["x"])


def test_index_actions_and_array_observations(env_name: str) -> None:
    env = lodestep.gym.LodestepEnv(env_name, actions="index", observation="bytes")
    observation, info = env.reset(seed=3)
    text = bytes(observation).rstrip(b"\x00").decode()
    assert text == lodestep.gym.LodestepEnv(env_name).reset(seed=3)[0]
    if info["admissible_actions"]:
        assert env.step(0)[-1]["valid"]
    env.reset(seed=3)
    assert not env.step(63)[-1]["valid"] or len(info["admissible_actions"]) > 63
    with pytest.raises(lodestep.InvalidArgument, match="text, bytes, image"):
        lodestep.gym.LodestepEnv(env_name, observation="pixels")


def test_spaces_survive_pickling() -> None:
    space = lodestep.gym.AnyText(100, ["up", "down"])
    assert pickle.loads(pickle.dumps(space)) == space
    assert space.sample() in ("up", "down") and space.contains("推") and not space.contains("x" * 101)


@pytest.mark.skipif("sokoban" not in [row["name"] for row in lodestep.environments()], reason="sokoban is not registered")
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_boards_play_like_the_environment(mode: str) -> None:
    n = 12
    envs = lodestep.gym.SokobanBoards(num_envs=n, autoreset_mode=mode, max_tasks=40, max_steps=9, threads=3)
    factory = lodestep.open_environment("sokoban", actions="verl")
    marks = ("#",), ("O", "√", "S"), ("X", "√"), ("P", "S")

    def planes(text: str) -> np.ndarray:
        cells = [[cell.strip() for cell in line.rstrip("\t").split("\t")] for line in text.split("\n")]
        return np.array([[[cell in mark for cell in row] for row in cells] for mark in marks], np.uint8)

    observation, infos = envs.reset(seed=4)
    assert observation in envs.observation_space
    twins = [factory.make(9) for _ in range(n)]

    def start(member: int) -> np.ndarray:
        return planes(twins[member].reset(envs.tasks[infos["task_index"][member]], seed=0).observation)

    for i in range(n):
        assert np.array_equal(observation[i], start(i))
    rng = np.random.default_rng(0)
    ended, ends = np.zeros(n, bool), 0
    for _ in range(60):
        actions = rng.integers(0, 5, size=n)
        if mode == "disabled" and ended.any():
            with pytest.raises(gymnasium.error.ResetNeeded):
                envs.step(actions)
            observation, infos = envs.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                assert np.array_equal(observation[i], start(i))
        observation, rewards, terminated, truncated, infos = envs.step(actions)
        for i in range(n):
            if mode == "next_step" and ended[i]:
                assert infos["autoreset"][i] and rewards[i] == 0 and not terminated[i] and not truncated[i]
                assert np.array_equal(observation[i], start(i))
                continue
            step = twins[i].step(str(actions[i]))
            assert (step.terminated, step.truncated) == (terminated[i], truncated[i])
            assert rewards[i] == pytest.approx(step.reward)
            over = mode == "same_step" and step.done
            assert np.array_equal(infos["final_obs"][i] if over else observation[i], planes(step.observation))
            if over:
                assert np.array_equal(observation[i], start(i))
        ended = terminated | truncated
        ends += ended.sum()
    assert ends > n
    with pytest.raises(lodestep.InvalidArgument, match="actions are 0"):
        envs.reset(seed=1)
        envs.step(np.full(n, 5))
    made = gymnasium.make_vec("lodestep/SokobanBoards-v0", num_envs=n, autoreset_mode=mode, max_tasks=40, max_steps=9)
    assert np.array_equal(made.reset(seed=4)[0], lodestep.gym.SokobanBoards(num_envs=n, max_tasks=40).reset(seed=4)[0])
    views = lodestep.gym.SokobanBoards(num_envs=2, copy=False, max_tasks=3)
    first, _ = views.reset(seed=0)
    assert first.base is not None and not first.flags.writeable
