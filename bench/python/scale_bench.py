#!/usr/bin/env python3
"""Memory of an idle episode and time of a step, per registered environment: the figures behind docs/scale.md.

    python bench/python/scale_bench.py [--episodes 10000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import lodestep


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def playable(factory: lodestep.Factory, task: str) -> bool:
    try:
        factory.make().reset(task, seed=0)
    except lodestep.Unsupported:
        return False
    return True


def measure(name: str, count: int) -> None:
    factory = lodestep.open_environment(name)
    ids = [task for task in lodestep.tasks(factory)[:96] if playable(factory, task)][:64]
    tasks = [ids[i % len(ids)] for i in range(count)]
    warm = lodestep.Batch(factory, 64, 0, 1)
    warm.reset((ids * 64)[:64], [0] * 64)
    before = resident()
    batch = lodestep.Batch(factory, count, 0, 1)
    batch.reset(tasks, [0] * count)
    each = (resident() - before) / count
    actions = [(choices or ["x"])[0] for choices in batch.admissible_actions()]
    begun = time.perf_counter()
    batch.step(actions)
    step = (time.perf_counter() - begun) / count
    begun = time.perf_counter()
    batch.state_keys()
    keys = (time.perf_counter() - begun) / count
    print(f"{name:12} {each:14,.0f} {step * 1e6:18.2f} {(step + keys) * 1e6:17.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--env", help="one environment, in this process")
    args = parser.parse_args()
    if args.env:
        measure(args.env, args.episodes)
        return
    print(f"{'environment':12} {'bytes/episode':>14} {'us/step, 1 thread':>18} {'us/step and keys':>17}", flush=True)
    for row in lodestep.environments():  # a process each: memory that one gave back would hide what the next takes
        words = [sys.executable, __file__, "--episodes", str(args.episodes), "--env", row["name"]]
        subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
