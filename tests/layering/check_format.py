#!/usr/bin/env python3
"""Every C++ file of the repository looks as .clang-format says; skips where clang-format is not installed."""
import shutil
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
if shutil.which("clang-format") is None:
    print("skipped: clang-format is not installed")
    sys.exit(77)
rooms = ("base", "envs", "canonicalizer", "graph", "harness", "python", "tests", "bench")
files = [str(f) for room in rooms for f in sorted((root / room).rglob("*")) if f.suffix in (".cc", ".h")]
run = subprocess.run(["clang-format", "--dry-run", "--Werror", "--style=file", *files], cwd=root, capture_output=True, text=True)
if run.returncode:
    print(run.stderr[:4000])
    print("run: clang-format -i on the files named above")
sys.exit(1 if run.returncode else 0)
