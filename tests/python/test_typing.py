"""The package keeps its types: mypy --strict on its sources, with the stub of the native module."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import lodestep


def test_mypy_strict(tmp_path: Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    package = Path(lodestep.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    config = Path(__file__).resolve().parents[2] / "pyproject.toml"
    words = ["--config-file", str(config), "--no-error-summary", "--cache-dir", "/dev/null", "-p", "lodestep"]
    # Among installed packages mypy finds ours by itself, and would take the others there for our own modules.
    installed = package.parent.name == "site-packages"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *words], capture_output=True, text=True, cwd=tmp_path if installed else package.parent
    )
    assert run.returncode == 0, run.stdout + run.stderr
