"""`python -m lodestep WORDS...` is the program `lodestep WORDS...`, run in this process.

`python -m lodestep demo` plays the main job: groups of parallel episodes, every step recorded, credit
attached, a summary printed. Words after `demo` go to `lodestep rollout sokoban`.
"""

from __future__ import annotations

import os
import sys
import tempfile

from lodestep import _core


def main() -> int:
    words = sys.argv[1:]
    if words[:1] != ["demo"]:
        return _core.run_program(words)
    words = ["rollout", "sokoban", *words[1:]]
    if not any(word.split("=")[0] in ("--out", "--resume", "--help") for word in words):
        words += ["--out", os.path.join(tempfile.mkdtemp(prefix="lodestep-demo-"), "run.db")]
    return _core.run_program(words)


if __name__ == "__main__":
    sys.exit(main())
