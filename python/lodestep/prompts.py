"""Prompts for language models and how their answers are read: the formatter of the `openai:` policy.

    prompter = lodestep.prompts.Prompter("alfworld")
    text = prompter.prompt(task, observation, actions, history)
    action, valid = prompter.answer("<think>...</think><action>go to desk 1</action>")
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from pathlib import Path

from lodestep import _core
from lodestep.errors import NotFound

__all__ = ["LATER_TURNS", "Prompter", "read_templates"]

#: The line between the words of the first turn and those of later turns in a template file.
LATER_TURNS = "=== later turns ==="

#: Where verl-agent keeps an environment's words, and the names of its two texts there.
_THEIRS = {
    "alfworld": ("alfworld.py", "ALFWORLD_TEMPLATE_NO_HIS", "ALFWORLD_TEMPLATE"),
    "webshop": ("webshop.py", "WEBSHOP_TEMPLATE_NO_HIS", "WEBSHOP_TEMPLATE"),
    "sokoban": ("sokoban.py", "SOKOBAN_TEMPLATE_NO_HIS", "SOKOBAN_TEMPLATE"),
}


def read_templates(folder: str | os.PathLike[str], env: str) -> tuple[str, str]:
    """Template text and its place, from `ENV.txt` in the folder or from verl-agent's own file there
    (agent_system/environments/prompts/ENV.py, which is read and not run)."""
    own = Path(folder) / f"{env}.txt"
    if own.exists():
        return own.read_text(encoding="utf-8"), str(own)
    if env in _THEIRS:
        name, first, later = _THEIRS[env]
        for file in (Path(folder) / name, Path(folder) / "agent_system" / "environments" / "prompts" / name):
            if file.exists():
                texts = _constants(file)
                for wanted in (first, later):
                    if wanted not in texts:
                        raise NotFound(f"there is no text {wanted}", str(file), "give verl-agent's prompt files")
                return f"{texts[first]}\n{LATER_TURNS}\n{texts[later]}", str(file)
    raise NotFound(f"there are no prompt templates for {env}", os.fspath(folder), f"expected {env}.txt or {env}.py")


def _constants(file: Path) -> dict[str, str]:
    """The texts that a Python file assigns to names at its top level."""
    texts = {}
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            if isinstance(statement.value.value, str):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        texts[target.id] = statement.value.value
    return texts


class Prompter:
    """One environment's words and rules for prompts and answers."""

    def __init__(
        self,
        env: str,
        *,
        prompt_templates: str | os.PathLike[str] | None = None,
        history_length: int | None = None,
    ) -> None:
        words, where = (None, "") if prompt_templates is None else read_templates(prompt_templates, env)
        self.env = env
        self._core = _core.Prompter(env, words, where, history_length)

    @property
    def history_length(self) -> int:
        """Past turns that a prompt shows."""
        return self._core.history_length

    def prompt(
        self, task: str, observation: str, actions: Sequence[str], history: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The user message for a turn; `history` is all (observation, action) of the episode so far."""
        return self._core.prompt(task, observation, list(actions), list(history))

    def answer(self, reply: str) -> tuple[str, bool]:
        """The action that a reply means, and whether the reply keeps to the form asked for."""
        # A reply cut inside a character can hold half of a surrogate pair.
        return self._core.answer(reply.encode("utf-8", "replace") if re.search("[\ud800-\udfff]", reply) else reply)
