"""The console script `lodestep`: hands over to the native program that lies in the package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(__file__), "bin", "lodestep")
    os.execv(program, ["lodestep", *sys.argv[1:]])
