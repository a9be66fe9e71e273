#!/usr/bin/env python3
"""GRPO with TRL on Sokoban rooms: the dataset names the tasks, the environment is a tool of the model.

    python examples/trl_grpo.py MODEL          # needs trl, transformers and torch
"""

from __future__ import annotations

import sys

import lodestep
from lodestep import trl as lodestep_trl


def rows(count: int) -> list[dict]:
    """One row per task; TRL repeats a row for the members of its group, so they share task and seed."""
    factory = lodestep.open_environment("sokoban")
    prompt = [{"role": "user", "content": "Push every box onto a target. Use the tool `act`: up, down, left or right."}]
    return [{"prompt": prompt, "task": task, "seed": 0} for task in lodestep.tasks(factory, "train")[:count]]


def main(model: str) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    trainer = GRPOTrainer(
        model=model,
        args=GRPOConfig(output_dir="sokoban-grpo", num_generations=8, max_steps=100),
        train_dataset=Dataset.from_list(rows(512)),
        environment_factory=lodestep_trl.environment_factory("sokoban", max_steps=15),
    )
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1])
