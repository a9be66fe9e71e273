"""The package keeps its types: mypy --strict on its sources, with the stub of the native module."""

from __future__ import annotations

import importlib.util
import shutil
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
    # Of installed packages mypy reports nothing, so it gets a copy.
    shutil.copytree(package, tmp_path / "lodestep", ignore=shutil.ignore_patterns("lib", "bin", "*.so", "__pycache__"))
    config = Path(__file__).resolve().parents[2] / "pyproject.toml"
    words = ["--config-file", str(config), "--no-error-summary", "--cache-dir", "/dev/null", "-p", "lodestep"]
    run = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
