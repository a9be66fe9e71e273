"""Every prompt, text and state key of verl-agent's managers, byte for byte, through ours. The trainer's templates are put
together from its recorded prompts each time: they are not ours to keep."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import golden
import pytest

import lodestep
from lodestep.verl_agent import EnvironmentManager, make_envs


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def between(text: str, begin: str, end: str) -> str:
    at = text.index(begin) + len(begin)
    return text[at : text.index(end, at)]


def as_their_file(folder: Path, env: str, first: str, later: str) -> Path:
    prompts = folder / "agent_system" / "environments" / "prompts"
    prompts.mkdir(parents=True)
    name = env.upper()
    (prompts / f"{env}.py").write_text(f"{name}_TEMPLATE_NO_HIS = {first!r}\n{name}_TEMPLATE = {later!r}\n")
    return folder


def alfworld_templates(episodes: list[dict[str, Any]]) -> tuple[str, str]:
    steps = next(e["steps"] for e in episodes if "prompt" in e["steps"][0] and "prompt" in e["steps"][3])
    task = between(steps[0]["text"], "Your task is to: ", " Location: ")
    first, later = steps[0]["prompt"], steps[3]["prompt"]
    first = replaced(
        first, (between(first, "situation are: [", "].\n"), "{admissible_actions}"), (steps[0]["text"], "{current_observation}")
    )
    later = replaced(
        later,
        (between(later, "situation are: [", "].\n"), "{admissible_actions}"),
        (between(later, "you took: ", "\nYou are now"), "{action_history}"),
        (steps[3]["text"], "{current_observation}"),
        (task, "{task_description}"),
        ("taken 3 step", "taken {step_count} step"),
        ("most recent 2 ", "most recent {history_length} "),
        ("at step 4 ", "at step {current_step} "),
    )
    assert sha256(first).startswith("2ef46eb62d286d84") and sha256(later).startswith("44fa5495bee5bfac")
    return first, later


def test_alfworld_prompts_texts_and_anchors_of_the_graphgpo_recipe(tmp_path: Path) -> None:
    episodes = list(golden.lines("alfworld/graphgpo.jsonl.zst"))
    factory = lodestep.open_environment(
        "alfworld", golden.data("alfworld/json_2.1.1.tar.zst"), observation="located", refused="skip"
    )
    folder = as_their_file(tmp_path, "alfworld", *alfworld_templates(episodes))
    envs = EnvironmentManager(
        factory, groups=len(episodes), max_steps=1000, prompt_templates=folder, anchor="text+actions"
    )
    tasks = [f"{episode['split']}/{episode['game'].removesuffix('/game.tw-pddl')}" for episode in episodes]
    observation, infos = envs.reset({"tasks": tasks})
    seen = 0
    for t in range(max(len(episode["steps"]) for episode in episodes)):
        for i, episode in enumerate(episodes):
            if t >= len(episode["steps"]):
                continue
            step = episode["steps"][t]
            assert envs.envs.observations[i] == step["text"]
            place = between(step["text"], " Location: ", ". Items in hand (status): ")
            assert infos[i]["obs_location"] == place
            held = infos[i]["obs_holding"]
            assert f"Items in hand (status): {held}" in step["text"]
            if "anchor_sha256" in step:
                assert sha256(observation["anchor"][i]) == step["anchor_sha256"]
                assert sha256(observation["text"][i]) == step["prompt_sha256"], observation["text"][i]
                seen += 1
            assert observation["text"][i] == step.get("prompt", observation["text"][i])
            assert infos[i]["extra.gamefile"].endswith(episode["game"])
        following = [e["steps"][t + 1]["command"] if t + 1 < len(e["steps"]) else "look" for e in episodes]
        observation, rewards, dones, infos = envs.step([f"<think>so</think><action>{c}</action>" for c in following])
        assert rewards.tolist() == [10.0 * info["won"] if not ended else rewards[i] for i, (info, ended) in enumerate(zip(infos, dones))]
        assert envs.envs.get_admissible_commands == [info["admissible_commands"] for info in infos]
    assert seen > 900


def webshop_templates(lanes: list[dict[str, Any]]) -> tuple[str, str]:
    lane = next(lane for lane in lanes if lane["manager"] == "graphgpo" and lane["history_length"] == 2)
    turn = lane["turns"][0]
    first = replaced(
        lane["prompt"],
        (between(lane["prompt"], "observation is: ", ".\nYour admissible"), "{current_observation}"),
        (between(lane["prompt"], "situation are: \n[\n", "\n].\n"), "{available_actions}"),
        (lane["task"], "{task_description}"),
    )
    later = replaced(
        turn["prompt"],
        (between(turn["prompt"], "you took: ", "\nYou are now"), "{action_history}"),
        (between(turn["prompt"], "observation is: ", ".\nYour admissible"), "{current_observation}"),
        (between(turn["prompt"], "situation are: \n[\n", "\n].\n"), "{available_actions}"),
        (lane["task"], "{task_description}"),
        ("taken 1 step", "taken {step_count} step"),
        ("most recent 1 ", "most recent {history_length} "),
        ("at step 2 ", "at step {current_step} "),
    )
    return first, later


def imported_catalogue(out: Path) -> Path:
    source = golden.data("webshop/synth_1000")
    words = [
        "--products", source / "items_shuffle.json.zst", "--attributes", source / "items_ins.json.zst",
        "--human-instructions", source / "items_human_ins.json.zst", "--nouns", golden.path("webshop/nouns.jsonl.zst"), "--out", out,
    ]  # fmt: skip
    subprocess.run([sys.executable, "-m", "lodestep", "webshop", "import", *map(str, words)], check=True, capture_output=True)
    return out


def test_webshop_prompts_and_anchors_of_both_managers(tmp_path: Path) -> None:
    lanes = list(golden.lines("webshop/prompts.jsonl.zst"))
    folder = as_their_file(tmp_path, "webshop", *webshop_templates(lanes))
    data = imported_catalogue(tmp_path / "catalogue.db")
    # One manager plays all lanes of one kind; a lane is compared until it has ended.
    kinds = defaultdict(list)
    for lane in lanes:
        kinds[lane["seed"], lane["mode"], lane["history_length"]].append(lane)
    seen = 0
    for (seed, mode, history_length), members in kinds.items():
        factory = lodestep.open_environment(
            "webshop", data, variant="verl", scheme="verl", seed=seed, mode=mode
        )
        envs = EnvironmentManager(
            factory, groups=len(members), max_steps=100, history_length=history_length, prompt_templates=folder
        )
        observation, infos = envs.reset({"tasks": [f"session/{lane['session']}" for lane in members]})
        for i, lane in enumerate(members):
            assert observation["text"][i] == lane["prompt"], lane["id"]
            assert observation["anchor"][i] == lane["anchor"]
            assert set(infos[i]["available_actions"]) == {"has_search_bar", "clickables"}
        ended = [False] * len(members)
        for t in range(max(len(lane["turns"]) for lane in members)):
            turns = [lane["turns"][t] if t < len(lane["turns"]) else {"response": ""} for lane in members]
            observation, rewards, dones, infos = envs.step([turn["response"] for turn in turns])
            for i, (lane, turn) in enumerate(zip(members, turns)):
                if ended[i] or "prompt" not in turn:
                    continue
                ended[i] = turn["done"]
                where = (lane["id"], t)
                assert (rewards[i], dones[i], infos[i]["won"]) == (turn["reward"], turn["done"], turn["won"]), where
                assert infos[i]["is_action_valid"] == turn["valid"], where
                assert infos[i]["task_score"] == pytest.approx(turn["task_score"], abs=1e-15), where
                assert observation["anchor"][i] == turn["anchor"], where
                if not ended[i]:  # beside a finished page the original shows actions of the next session
                    assert observation["text"][i] == turn["prompt"], where
                seen += 1
    assert seen > 60


def test_sokoban_images_of_the_original_with_its_tiles() -> None:
    rooms = [room for room in json.loads(golden.text("sokoban/sokoban.json"))["rooms"] if room["ok"]]
    found = importlib.util.find_spec("gym_sokoban")
    if found is None or found.origin is None:
        pytest.skip("gym-sokoban, whose tiles these are, is not installed")
    tiles = Path(found.origin).parent / "envs" / "surface"
    for boxes in (1, 2):
        chosen = [room for room in rooms if room["num_boxes"] == boxes]
        config = {
            "env": {"env_name": "Sokoban", "sokoban": {"mode": "rgb_array", "num_boxes": boxes}},
            "data": {"train_batch_size": len(chosen), "val_batch_size": 1},
        }
        envs, _ = make_envs(config, tiles=tiles)
        observation, _ = envs.reset({"tasks": [f"gen/6x6/b{boxes}/s{room['seed']}" for room in chosen]})
        assert len(chosen) > 80 and observation["image"].shape == (len(chosen), 96, 96, 3)
        for image, text, room in zip(observation["image"], envs.envs.observations, chosen):
            assert hashlib.sha256(image.tobytes()).hexdigest() == room["rgb_sha256"]
            assert sha256(text) == room["text_sha256"]
