#!/usr/bin/env python3
"""The verifiers taskset of Sokoban's test rooms: what a model is asked.

    python examples/verifiers_eval.py          # needs verifiers

An evaluation names the taskset and the environment by their modules:

    eval lodestep.verifiers --taskset.env sokoban --taskset.split test
"""

from __future__ import annotations

from itertools import islice

from lodestep.verifiers import LodestepConfig, LodestepTaskset


def main() -> None:
    taskset = LodestepTaskset(LodestepConfig(id="lodestep.verifiers", env="sokoban", split="test"))
    for task in islice(taskset, 2):
        print(task.data.name, task.data.info)
        print(task.data.prompt)


if __name__ == "__main__":
    main()
