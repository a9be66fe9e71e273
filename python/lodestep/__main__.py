"""`python -m lodestep WORDS...` is the program `lodestep WORDS...`, run in this process.

`python -m lodestep demo` plays the main job on a small scale: groups of parallel episodes, every step
recorded, credit attached, a summary printed.
"""

from __future__ import annotations

import sys

from lodestep import _core

DEMO = ["rollout", "sokoban", "--groups", "4", "--group-size", "8", "--seed", "1"]


def main() -> int:
    words = sys.argv[1:]
    return _core.run_program(DEMO + words[1:] if words[:1] == ["demo"] else words)


if __name__ == "__main__":
    sys.exit(main())
