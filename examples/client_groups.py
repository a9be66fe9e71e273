#!/usr/bin/env python3
"""Groups of episodes on a running server, and the credit of every step.

    lodestep serve --env sokoban &
    python examples/client_groups.py http://127.0.0.1:8000     # needs httpx and websockets
"""

from __future__ import annotations

import random
import sys

from lodestep.client import Client


def main(url: str) -> None:
    dice = random.Random(0)
    with Client(url) as client, client.groups("sokoban", count=4, seed=1, group_size=8, max_steps=15) as groups:
        result = groups.first
        while not all(result.dones):
            result = groups.step([dice.choice(actions or ["up"]) for actions in result.available_actions])
        rows = groups.advantages("graphgpo")["advantages"]
        print(f"{len(rows)} steps; the most helpful: {max(rows, key=lambda row: row['advantage'])}")


if __name__ == "__main__":
    main(sys.argv[1])
