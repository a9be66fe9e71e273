"""What a language model is shown of each environment, as verl-agent's managers show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["goal_of", "shown_actions", "shown_observation"]


def goal_of(details: Mapping[str, Any]) -> str:
    """The task in words, "" where the observation says it all."""
    return str(details.get("goal") or details.get("instruction_text") or "")


def shown_actions(details: Mapping[str, Any], admissible: Sequence[str]) -> list[str]:
    """The actions to offer: a shop page's forms, else the admissible actions."""
    page = details.get("available_actions")
    if not isinstance(page, Mapping):
        return list(admissible)
    search = ["search[<your query>]"] if page["has_search_bar"] else []
    return search + [f"click[{clickable}]" for clickable in page["clickables"]]


def shown_observation(observation: str, goal: str) -> str:
    """A shop page in plain text without the part that repeats the instruction, each piece in quotes; every other
    observation as it is."""
    pieces = observation.split(" [SEP] ")
    if len(pieces) == 1 or goal not in pieces:
        return observation
    return " [SEP] ".join(f"'{piece}'" for piece in pieces[pieces.index(goal) + 1 :])
