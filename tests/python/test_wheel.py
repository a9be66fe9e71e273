"""What is installed needs nothing of the system but the C library and the C++ runtime, and carries the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lodestep
from lodestep import _core

PACKAGE = Path(lodestep.__file__).parent
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s))\.so.*")


@pytest.mark.parametrize("file", [Path(_core.__file__), PACKAGE / "bin" / "lodestep"], ids=["module", "program"])
def test_no_library_of_the_system_is_needed(file: Path) -> None:
    if shutil.which("ldd") is None:
        pytest.skip("there is no ldd")
    needed = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
    outside = []
    for line in needed.splitlines():
        name, _, place = line.strip().partition(" => ")
        if not SYSTEM.fullmatch(Path(name.split(" ")[0]).name) and not place.startswith(str(PACKAGE)):
            outside.append(line.strip())
    assert not outside


def test_the_program_and_the_module_say_the_same() -> None:
    program = [str(PACKAGE / "bin" / "lodestep"), "--version"]
    module = [sys.executable, "-m", "lodestep", "--version"]
    told = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in (program, module)]
    assert told[0] == told[1] == f"lodestep {lodestep.__version__}\n"
