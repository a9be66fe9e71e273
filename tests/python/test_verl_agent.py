"""verl-agent's environment managers: interface, groups, prompts, anchors, success."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import golden
import numpy as np
import pytest

import lodestep
from lodestep.prompts import LATER_TURNS, Prompter, read_templates
from lodestep.verl_agent import (
    ANCHORS,
    EnvironmentManager,
    build_alfworld_envs,
    build_sokoban_envs,
    build_webshop_envs,
    core_gigpo,
    make_envs,
)
from lodestep.verl_agent.views import goal_of, shown_actions, shown_observation

NAMES = [row["name"] for row in lodestep.environments()]
needs_sokoban = pytest.mark.skipif("sokoban" not in NAMES, reason="sokoban is not registered in this build")


def reply(action: str) -> str:
    return f"<think>so</think><action>{action}</action>"


def manager(factory: lodestep.Factory, **keywords) -> EnvironmentManager:
    return EnvironmentManager(factory, **{"groups": 3, "group_size": 4, "max_steps": 6, **keywords})


def test_the_interface(factory: lodestep.Factory) -> None:
    envs = manager(factory)
    observation, infos = envs.reset(kwargs=None)
    assert set(observation) == {"text", "image", "anchor"}
    assert len(observation["text"]) == len(observation["anchor"]) == len(infos) == 12
    assert all(float(info["won"]) == 0 and "is_action_valid" not in info for info in infos)
    for first in range(0, 12, 4):  # a group shares its task and start
        assert len({info["task"] for info in infos[first : first + 4]}) == 1
        assert len(set(observation["anchor"][first : first + 4])) == 1
    for t in range(8):  # finished members are stepped too
        observation, rewards, dones, infos = envs.step([reply("nonsense")] * 12)
        assert rewards.shape == dones.shape == (12,) and rewards.dtype == np.float32 and dones.dtype == np.bool_
        # The format alone decides, as in verl-agent; Sokoban's reply must hold one of five words.
        assert all(info["is_action_valid"] == (factory.name != "sokoban") for info in infos)
        assert dones.all() == (t >= 5)
    assert not any(info["won"] for info in infos) and all(info["truncated"] for info in infos)
    envs.close()


def test_resets_move_on_and_seeds_decide(factory: lodestep.Factory) -> None:
    def tasks(seed: int) -> list[list[str]]:
        envs = manager(factory, seed=seed, group_size=1)
        return [[info["task"] for info in envs.reset()[1]] for _ in range(3)]

    assert tasks(0) == tasks(0)
    assert tasks(0) != tasks(1)
    assert len({tuple(row) for row in tasks(0)}) > 1
    ids = list(lodestep.tasks(factory)[:3])
    assert [info["task"] for info in manager(factory, group_size=1).reset({"tasks": ids})[1]] == ids


def test_counts_that_do_not_fit_are_told_before_anything_is_played(factory: lodestep.Factory) -> None:
    envs = manager(factory)
    envs.reset()
    with pytest.raises(lodestep.InvalidArgument, match="11 replies for 12 environments"):
        envs.step([reply("x")] * 11)
    assert envs.envs.steps.tolist() == [0] * 12
    with pytest.raises(lodestep.InvalidArgument, match="2 tasks for 3 groups"):
        envs.reset({"tasks": list(lodestep.tasks(factory)[:2])})
    with pytest.raises(lodestep.InvalidArgument, match="known: text"):
        manager(factory, anchor="picture")


def test_a_gold_player_wins_and_success_is_read_at_the_last_active_step(factory: lodestep.Factory) -> None:
    envs = manager(factory, groups=2, group_size=2, max_steps=60)
    envs.reset()
    total_infos, rows, finished = [[] for _ in range(4)], [[] for _ in range(4)], np.zeros(4, bool)
    score = np.zeros(4)
    for _ in range(60):
        gold = envs.envs.gold_actions()
        # member 0 idles: it must not win
        replies = [reply("nonsense" if i == 0 else action or "x") for i, action in enumerate(gold)]
        _, rewards, dones, infos = envs.step(replies)
        score += np.where(finished, 0, rewards)
        for i in range(4):
            total_infos[i].append(infos[i])
            rows[i].append({"active_masks": not finished[i]})
        finished |= dones
        if finished.all():
            break
    found = envs.success_evaluator(total_infos=total_infos, total_batch_list=rows)
    assert found["success_rate"].tolist() == [0, 1, 1, 1]
    assert (score[1:] > score[0]).all()


def test_anchors(factory: lodestep.Factory) -> None:
    texts = [anchor for anchor in ANCHORS if anchor != "image"]
    by_anchor = {a: manager(factory, anchor=a).reset()[0]["anchor"] for a in texts}
    for anchors in by_anchor.values():
        assert all(isinstance(anchor, str) and anchor for anchor in anchors)
    assert by_anchor["text+actions"][0].startswith(by_anchor["text"][0])


def test_history_is_in_the_prompt(factory: lodestep.Factory) -> None:
    envs = manager(factory, history_length=2)
    first, _ = envs.reset()
    assert first["anchor"][0] in first["text"][0] or "\t" in first["anchor"][0]
    for action in ("alpha", "beta", "gamma"):
        observation, _, _, _ = envs.step([reply(action)] * 12)
    shown = observation["text"][0]
    assert "Action 1:" not in shown and "Action 2:" in shown and "Action 3:" in shown
    none = manager(factory, history_length=0)
    none.reset()
    observation, _, _, _ = none.step([reply("alpha")] * 12)
    assert "Action 1:" not in observation["text"][0]


@needs_sokoban
def test_make_envs_reads_the_trainers_configuration() -> None:
    def node(**values):
        return SimpleNamespace(**values)

    mapping = {
        "env": {"env_name": "Sokoban", "seed": 5, "max_steps": 7, "history_length": 1, "rollout": {"n": 3},
                "sokoban": {"dim_room": [7, 6], "num_boxes": 2, "search_depth": 40}},
        "data": {"train_batch_size": 2, "val_batch_size": 5},
    }  # fmt: skip
    objects = node(
        env=node(env_name="sokoban", seed=5, max_steps=7, history_length=1, rollout=node(n=3),
                 sokoban=node(dim_room=[7, 6], num_boxes=2, search_depth=40)),
        data=node(train_batch_size=2, val_batch_size=5),
    )  # fmt: skip
    for config in (mapping, objects):
        envs, val_envs = make_envs(config)
        assert (envs.groups, envs.group_size, envs.seed) == (2, 3, 5)
        assert (val_envs.groups, val_envs.group_size, val_envs.seed) == (5, 1, 1005)
        assert envs.split != val_envs.split
        observation, infos = envs.reset()
        assert infos[0]["task"].startswith("gen/7x6/b2/")
        assert not {info["task"] for info in infos} & {info["task"] for info in val_envs.reset()[1]}
    with pytest.raises(lodestep.NotFound, match="did you mean 'sokoban'"):
        make_envs({**mapping, "env": {"env_name": "sokban"}})


@needs_sokoban
def test_sokoban_replies_are_read_as_in_the_original() -> None:
    prompter = Prompter("sokoban")
    assert prompter.answer("<think>.</think><action>go down then up</action>") == ("up", True)
    assert prompter.answer("<action>left</action>") == ("left", False)
    assert prompter.answer("no tags")[1] is False
    assert prompter.answer("cut \ud83d")[1] is False


def test_household_replies_are_read_as_in_the_original() -> None:
    prompter = Prompter("alfworld")
    for row in golden.lines("alfworld/projection.jsonl"):
        assert prompter.answer(row["reply"]) == (row["action"], bool(row["valid"])), row["reply"]


def test_pages_of_the_shop() -> None:
    details = {"available_actions": {"has_search_bar": True, "clickables": ["search"]}, "instruction_text": "buy it"}
    assert shown_actions(details, ["x"]) == ["search[<your query>]", "click[search]"]
    assert shown_actions({}, ["x"]) == ["x"]
    assert goal_of(details) == "buy it" and goal_of({}) == ""
    page = "WebShop [SEP] Instruction: [SEP] buy it [SEP] Search"
    assert shown_observation(page, "buy it") == "'Search'"
    assert shown_observation("You see a desk.", "buy it") == "You see a desk."


def test_template_files(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "dummy.txt").write_text(f"A {{current_observation}}\n{LATER_TURNS}\nB {{step_count}}")
    prompter = Prompter("dummy", prompt_templates=tmp_path / "own")
    assert prompter.prompt("t", "here", ["a"]) == "A here"
    assert prompter.prompt("t", "here", ["a"], [("o", "a")]) == "B 1"
    theirs = tmp_path / "agent_system" / "environments" / "prompts"
    theirs.mkdir(parents=True)
    (theirs / "sokoban.py").write_text(
        'raise SystemExit("must not be run")\n'
        'SOKOBAN_TEMPLATE_NO_HIS = """\nFirst {current_observation} {{x}}\n"""\nSOKOBAN_TEMPLATE = """\nThen {action_history}\n"""\n'
    )
    prompter = Prompter("sokoban", prompt_templates=tmp_path)
    assert prompter.prompt("", "board", []) == "\nFirst board {x}\n"
    assert prompter.prompt("", "board", [], [("old", "up")]) == "\nThen [Observation 1: 'old', Action 1: 'Up']\n"
    with pytest.raises(lodestep.NotFound, match="webshop.txt or webshop.py"):
        read_templates(tmp_path, "webshop")
    (theirs / "webshop.py").write_text('WEBSHOP_TEMPLATE = "x"\n')
    with pytest.raises(lodestep.NotFound, match="WEBSHOP_TEMPLATE_NO_HIS"):
        read_templates(tmp_path, "webshop")
    (tmp_path / "own" / "dummy.txt").write_text("first\n{nonsense}")
    with pytest.raises(lodestep.Error, match=r"(?s)nonsense.*dummy.txt"):
        Prompter("dummy", prompt_templates=tmp_path / "own")


@needs_sokoban
def test_sokoban_as_images(tmp_path: Path) -> None:
    config = {
        "env": {"env_name": "Sokoban", "max_steps": 5, "rollout": {"n": 2}, "sokoban": {"mode": "rgb_array"}},
        "data": {"train_batch_size": 2, "val_batch_size": 1},
    }
    envs, _ = make_envs(config)
    first, _ = envs.reset()
    assert first["image"].shape == (4, 96, 96, 3) and first["image"].dtype == np.uint8
    assert np.array_equal(first["anchor"], first["image"])  # the raw image names the state
    assert np.array_equal(first["image"][0], first["image"][1]) and not np.array_equal(first["image"][0], first["image"][2])
    assert all("<image>" in text and "[Observation" not in text for text in first["text"])
    before = first["image"].copy()
    move = envs.envs.gold_actions()[0]
    second, _, _, infos = envs.step([reply(move), reply("still"), reply("still"), reply("still")])
    assert np.array_equal(first["image"], before)  # what was handed out stays as it was
    assert not np.array_equal(second["image"][0], before[0]) and np.array_equal(second["image"][1], before[1])
    assert [info["action_is_effective"] for info in infos] == [True, False, False, False]
    assert second["text"] == first["text"]
    # The pictures are states: the moved member stands alone, the two of the second group together.
    ones = np.ones((4, 1))
    advantages, _ = core_gigpo.compute_gigpo_outcome_advantage(
        ones, np.array([1.0, 2.0, 3.0, 5.0]), ones, second["anchor"], np.array([0, 0, 1, 1]), np.arange(4)
    )
    assert advantages[:, 0].tolist() == [0, 0, -1, 1]
    exact, _ = make_envs(config, anchor="exact")
    assert isinstance(exact.reset()[0]["anchor"][0], str)
    theirs = tmp_path / "sokoban.py"
    theirs.write_text('SOKOBAN_VISUAL_TEMPLATE = """\nSee <image> {as it is}\n"""\nSOKOBAN_TEMPLATE = "a"\nSOKOBAN_TEMPLATE_NO_HIS = "b"\n')
    templated, _ = make_envs(config, prompt_templates=tmp_path)
    assert templated.reset()[0]["text"] == ["\nSee <image> {as it is}\n"] * 4
    theirs.write_text('SOKOBAN_TEMPLATE = "a"\nSOKOBAN_TEMPLATE_NO_HIS = "b"\n')
    with pytest.raises(lodestep.NotFound, match="SOKOBAN_VISUAL_TEMPLATE"):
        make_envs(config, prompt_templates=tmp_path)
    config["env"]["sokoban"]["mode"] = "list"
    with pytest.raises(lodestep.InvalidArgument, match="tiny_rgb_array, rgb_array"):
        make_envs(config)
    with pytest.raises(lodestep.Unsupported, match="image='rgb'"):
        manager(lodestep.open_environment("sokoban"), image=True).reset()
    with pytest.raises(lodestep.Unsupported, match="no prompts with images"):
        manager(lodestep.open_environment("dummy"), image=True)


@pytest.mark.skipif("alfworld" not in NAMES, reason="alfworld is not registered in this build")
def test_the_graphgpo_recipe_is_chosen_by_the_estimator() -> None:
    config = {
        "algorithm": {"adv_estimator": "graphgpo"},
        "env": {"env_name": "alfworld/AlfredTWEnv", "rollout": {"n": 2}},
        "data": {"train_batch_size": 1, "val_batch_size": 1},
    }
    envs, val_envs = make_envs(config)
    observation, infos = envs.reset()
    assert " Location: middle of a room. Items in hand (status): nothing. " in observation["text"][0]
    assert infos[0]["obs_location"] == "middle of a room" and infos[0]["obs_holding"] == "nothing"
    assert infos[0]["items_info"] == {} and infos[0]["item_location"] == {}
    assert observation["anchor"][0].endswith(",".join(sorted(infos[0]["admissible_commands"])))
    assert envs.envs.get_admissible_commands[0] == infos[0]["admissible_commands"]
    assert val_envs.split == "valid_seen"
    config["env"]["alfworld"] = {"eval_dataset": "eval_out_of_distribution"}
    stock, val_envs = make_envs(config, recipe="stock")
    assert "Items in hand" not in stock.reset()[0]["text"][0] and val_envs.split == "valid_unseen"
    with pytest.raises(lodestep.InvalidArgument, match="stock, graphgpo"):
        make_envs(config, recipe="grpo")


@pytest.mark.skipif("webshop" not in NAMES, reason="webshop is not registered in this build")
def test_webshop_as_either_manager_shows_it() -> None:
    config = {
        "env": {"env_name": "Webshop", "rollout": {"n": 2}},
        "data": {"train_batch_size": 2, "val_batch_size": 3},
    }
    stock, val_envs = make_envs(config)
    observation, infos = stock.reset()
    assert set(infos[0]["available_actions"]) == {"has_search_bar", "clickables"} and infos[0]["task_score"] == 0.0
    assert observation["anchor"][0] == "'Search'"
    assert stock.split == "train" and val_envs.split != "train"
    rich, _ = make_envs(config, recipe="graphgpo")
    assert "[button] Search [button_]" in rich.reset()[0]["anchor"][0]


def groups_start_alike(texts: list, group_n: int) -> bool:
    return all(np.array_equal(texts[i], texts[i - i % group_n]) for i in range(len(texts)))


@pytest.mark.skipif("alfworld" not in NAMES, reason="alfworld is not registered in this build")
def test_the_environments_inside_an_alfworld_manager() -> None:
    envs = build_alfworld_envs("config.yaml", seed=3, env_num=2, group_n=3, resources_per_worker={"num_cpus": 0.1})
    texts, images, infos = envs.reset()
    assert images is None and len(texts) == len(infos) == envs.num_processes == 6 and groups_start_alike(texts, 3)
    assert all("Your task is to: " in text for text in texts)
    assert all(info["won"] is False and info["extra.gamefile"] and info["admissible_commands"] for info in infos)
    rewards, dones = [], []
    for _ in range(60):
        gold = [action or "look" for action in envs.core.gold_actions()]
        texts, images, rewards, dones, infos = envs.step(gold)
        assert rewards == [10.0 * info["won"] for info in infos] and dones == [info["won"] for info in infos]
        assert not any("Items in hand" in text for text in texts)
        if all(dones):
            break
    assert all(dones)
    # What was carried is told as the GraphGPO recipe's manager reads it.
    for info in infos:
        for item, place in info["item_location"].items():
            assert set(place) == {"old_location", "new_location"} and isinstance(item, str)
        for marks in info["items_info"].values():
            assert list(marks) == ["heated", "cooled", "cleaned", "sliced"] and any(marks.values())
    assert any(info["item_location"] for info in infos)
    assert envs.get_admissible_commands == [info["admissible_commands"] for info in infos]
    again = build_alfworld_envs(seed=3, env_num=2, group_n=3)
    assert [i["extra.gamefile"] for i in again.reset()[2]] == [i["extra.gamefile"] for i in infos]
    assert "valid_seen" in build_alfworld_envs(is_train=False).reset()[2][0]["extra.gamefile"]
    with pytest.raises(lodestep.InvalidArgument, match="1 actions for 6"):
        envs.step(["look"])


@pytest.mark.skipif("webshop" not in NAMES, reason="webshop is not registered in this build")
def test_the_environments_inside_a_webshop_manager() -> None:
    envs = build_webshop_envs(seed=7, env_num=3, group_n=2, env_kwargs={"observation_mode": "text", "file_path": "x"})
    texts, infos = envs.reset()
    assert groups_start_alike(texts, 2) and all(text.split(" [SEP] ")[1] == "Instruction:" for text in texts)
    assert all(set(info) == {"won", "task_score", "available_actions"} for info in infos)
    # The goals are those that numpy's old generator draws for the original.
    drawn = np.random.RandomState(7).choice(envs.goal_idxs, size=3, replace=False)
    assert [envs.core.task(i).id for i in range(6)] == [f"session/{goal}" for goal in np.repeat(drawn, 2)]
    held_out = build_webshop_envs(seed=1007, env_num=3, is_train=False)
    held_out.reset()
    assert all(int(held_out.core.task(i).id.split("/")[1]) < 500 for i in range(3))
    for _ in range(15):
        texts, rewards, dones, infos = envs.step([action or "x" for action in envs.core.gold_actions()])
        assert all(reward == (10.0 if info["won"] else 0.0) for reward, info, done in zip(rewards, infos, dones) if not done)
        if all(dones):
            break
    assert all(info["won"] and info["task_score"] == 1.0 for info in infos) and max(rewards) == 10.0
    with pytest.raises(lodestep.InvalidArgument, match="500 goals for 501 groups"):
        build_webshop_envs(env_num=501, is_train=False)


@needs_sokoban
def test_the_environments_inside_a_sokoban_manager() -> None:
    kwargs = {"dim_room": (7, 6), "num_boxes": 2, "max_steps": 4, "search_depth": 30}
    envs = build_sokoban_envs(0, 2, 3, "tiny_rgb_array", True, kwargs, {"num_cpus": 0.1})
    texts, infos = envs.reset()
    assert envs.mode == "tiny_rgb_array" and groups_start_alike(texts, 3) and infos == [{"won": False}] * 6
    assert envs.render() == texts and len(texts[0].splitlines()) == 7
    texts, rewards, dones, infos = envs.step([0, 1, 2, 3, 4, np.int64(0)])
    assert rewards[0] == rewards[5] == -0.1 and not any(dones)
    assert infos[0] == {"action_is_effective": False, "won": False}
    for _ in range(3):
        *_, dones, infos = envs.step([0] * 6)
    assert all(dones) and not any(info["won"] for info in infos)
    with pytest.raises(lodestep.InvalidArgument, match="actions are 0 to 4"):
        envs.step([5] * 6)
    with pytest.raises(lodestep.InvalidArgument, match="known: tiny_rgb_array"):
        envs.render("rgb_array")
    pictures = build_sokoban_envs(env_num=2, mode="rgb_array")
    images, _ = pictures.reset()
    assert images[0].shape == (96, 96, 3) and len(pictures.render("tiny_rgb_array")) == 2
