#!/usr/bin/env python3
"""Replays the recorded traces of both Sokoban originals through `lodestep play sokoban --jsonl`: rewards, done
flags and states must be equal. Needs the shared golden data; ends with 77 (skipped) without it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CELLS = dict(zip("0123456", "# .*$@+"))  # codes of the originals to XSB
SYMBOLS = "#_O√XPS"                      # codes in the text rendering


def states(observation):
    return "".join(str(SYMBOLS.index(c)) for c in observation if c in SYMBOLS)


def replay(program, folder, actions, trace):
    rows, columns = trace.get("dim", [6, 6])
    start = trace["start"]
    level = pathlib.Path(folder, "level.xsb")
    level.write_text("\n".join("".join(CELLS[c] for c in start[r * columns:(r + 1) * columns]) for r in range(rows)) + "\n")
    requests = [{"op": "reset", "task": "level.xsb#0"}] + [{"op": "step", "action": str(a)} for a in trace["actions"]]
    done = subprocess.run(
        [program, "play", "sokoban", "--data", str(level), "--jsonl", "--set", f"actions={actions}", "--set",
         "after_done=continue", "--max-steps", str(trace["max_steps"])],
        input="\n".join(map(json.dumps, requests)), capture_output=True, text=True, encoding="utf-8", check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()][1:]
    return {"rewards": [r["reward"] for r in replies], "done": [int(r["done"]) for r in replies],
            "states": [states(r["observation"]) for r in replies]}


def main():
    shared = pathlib.Path(os.environ.get("LODESTEP_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
    golden = shared / "golden/sokoban/sokoban.json"
    if not golden.exists():
        print(f"skipped: {golden} is not there")
        return 77
    data = json.loads(golden.read_text(encoding="utf-8"))
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for actions, name in (("verl", "fork_traces"), ("gym", "gym_sokoban_traces")):
            for number, trace in enumerate(data[name]):
                total += 1
                for field, values in replay(sys.argv[1], folder, actions, trace).items():
                    if values != trace[field]:
                        wrong += 1
                        print(f"{name}[{number}].{field} differs")
    print(f"{total} traces, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
