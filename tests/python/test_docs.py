"""The code of docs/python.md runs, block after block, as a reader would type it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pandas", "pyarrow", "gymnasium"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    assert len(BLOCKS) > 8
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
