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
from lodestep.errors import NotFound, Unsupported

__all__ = ["LATER_TURNS", "Prompter", "read_image_template", "read_templates"]

#: The line between the words of the first turn and those of later turns in a template file.
LATER_TURNS = "=== later turns ==="

#: What a model that sees a board as an image is told; it cannot be shown past ones.
IMAGE_WORDS = {
    "sokoban": "You are solving a Sokoban board. The board now: <image>\nYou can walk and push up, down, left or right; boxes "
    "cannot be pulled. All boxes must end on targets.\nThink first, between <think> and </think>: what you see, which "
    "action helps most. Then give exactly one action between <action> and </action>.\n",
}

#: Where verl-agent keeps an environment's words, and the names of its two texts there.
_THEIRS = {
    "alfworld": ("alfworld.py", "ALFWORLD_TEMPLATE_NO_HIS", "ALFWORLD_TEMPLATE"),
    "webshop": ("webshop.py", "WEBSHOP_TEMPLATE_NO_HIS", "WEBSHOP_TEMPLATE"),
    "sokoban": ("sokoban.py", "SOKOBAN_TEMPLATE_NO_HIS", "SOKOBAN_TEMPLATE"),
}


_THEIR_IMAGE_TEXT = {"sokoban": ("sokoban.py", "SOKOBAN_VISUAL_TEMPLATE")}


def _their_file(folder: str | os.PathLike[str], name: str) -> Path | None:
    places = (Path(folder) / name, Path(folder) / "agent_system" / "environments" / "prompts" / name)
    return next((file for file in places if file.exists()), None)


def read_image_template(folder: str | os.PathLike[str], env: str) -> str:
    """The text of prompts with an image, from `ENV-image.txt` in the folder or verl-agent's own file; it has no places to
    fill in but `<image>`, which the trainer replaces."""
    own = Path(folder) / f"{env}-image.txt"
    if own.exists():
        return own.read_text(encoding="utf-8")
    if env in _THEIR_IMAGE_TEXT:
        name, wanted = _THEIR_IMAGE_TEXT[env]
        file = _their_file(folder, name)
        if file is not None:
            texts = _constants(file)
            if wanted not in texts:
                raise NotFound(f"there is no text {wanted}", str(file), "give verl-agent's prompt files")
            return texts[wanted]
    raise NotFound(
        f"there is no image prompt template for {env}", os.fspath(folder), f"expected {env}-image.txt or {env}.py"
    )


def read_templates(folder: str | os.PathLike[str], env: str) -> tuple[str, str]:
    """Template text and its place, from `ENV.txt` in the folder or from verl-agent's own file there
    (agent_system/environments/prompts/ENV.py, which is read and not run)."""
    own = Path(folder) / f"{env}.txt"
    if own.exists():
        return own.read_text(encoding="utf-8"), str(own)
    if env in _THEIRS:
        name, first, later = _THEIRS[env]
        file = _their_file(folder, name)
        if file is not None:
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
        image: bool = False,
    ) -> None:
        """`image`: for a model that sees the observation as an image; its prompt is the same at every turn."""
        words, where = (None, "") if prompt_templates is None else read_templates(prompt_templates, env)
        self.env = env
        self._image_words: str | None = None
        if image and prompt_templates is not None:
            self._image_words = read_image_template(prompt_templates, env)
        elif image:
            if env not in IMAGE_WORDS:
                raise Unsupported("there are no prompts with images here", env, f"known: {', '.join(IMAGE_WORDS)}")
            self._image_words = IMAGE_WORDS[env]
        self._core = _core.Prompter(env, words, where, history_length)

    @property
    def history_length(self) -> int:
        """Past turns that a prompt shows."""
        return self._core.history_length

    def prompt(
        self, task: str, observation: str, actions: Sequence[str], history: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The user message for a turn; `history` is all (observation, action) of the episode so far."""
        if self._image_words is not None:
            return self._image_words
        return self._core.prompt(task, observation, list(actions), list(history))

    def answer(self, reply: str) -> tuple[str, bool]:
        """The action that a reply means, and whether the reply keeps to the form asked for."""
        # A reply cut inside a character can hold half of a surrogate pair.
        return self._core.answer(reply.encode("utf-8", "replace") if re.search("[\ud800-\udfff]", reply) else reply)
