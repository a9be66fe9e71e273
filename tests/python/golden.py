"""Golden data of the original programs, where it is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(os.environ.get("LODESTEP_SHARED") or Path(__file__).resolve().parents[2] / ".." / "shared")


def path(name: str) -> Path:
    found = ROOT / "golden" / name
    if not found.exists():
        pytest.skip(f"golden data {name} is not here; LODESTEP_SHARED names its folder")
    return found


def data(name: str) -> Path:
    found = ROOT / "data" / name
    if not found.exists():
        pytest.skip(f"the data {name} are not here; LODESTEP_SHARED names their folder")
    return found


def text(name: str) -> str:
    file = path(name)
    if file.suffix != ".zst":
        return file.read_text(encoding="utf-8")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow reads .zst")
    with pyarrow.input_stream(str(file), compression="zstd") as stream:
        return stream.read().decode()


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads(text(name))["cases"]


def lines(name: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, text(name).splitlines())
