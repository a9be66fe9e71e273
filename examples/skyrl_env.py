#!/usr/bin/env python3
"""A SkyRL-gym trajectory on a Sokoban room, with fixed replies in the place of a model.

    python examples/skyrl_env.py               # needs skyrl-gym
"""

from __future__ import annotations

import skyrl_gym
from skyrl_gym.envs import register

REPLIES = [f"<think>I try it.</think><action>{word}</action>" for word in ("up", "left", "down", "right")]


def main() -> None:
    register(id="lodestep", entry_point="lodestep.skyrl:LodestepTextEnv")
    env = skyrl_gym.make("lodestep", env_config={"env": "sokoban", "max_turns": 4}, extras={"seed": 7})
    messages, _ = env.init([])
    print(messages[-1]["content"])
    for reply in REPLIES:
        answer = env.step(reply)
        print(reply, "->", answer["reward"], answer["done"], answer["metadata"]["action_valid"])
        if answer["done"]:
            break
    print(env.get_metrics())
    env.close()


if __name__ == "__main__":
    main()
