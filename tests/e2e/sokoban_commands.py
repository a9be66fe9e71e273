#!/usr/bin/env python3
"""`lodestep sokoban ...` from outside: formats that survive a round trip, solutions that hold, pictures, exit statuses."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="lodestep-sokoban-"))


def run(*words, status=0, stdin=""):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, input=stdin, cwd=FOLDER, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def main():
    # Generated rooms, written in every form and read back.
    run("sokoban", "generate", "--size", "10x10", "--boxes", "3", "--depth", "60", "--count", "20", "--out", "rooms.xsb")
    rows = [one["rows"] for one in json.loads(run("sokoban", "convert", "rooms.xsb", "--to", "json").stdout)]
    assert len(rows) == 20
    for form in ("xsb", "sok", "rle", "json"):
        run("sokoban", "convert", "rooms.xsb", "--to", form, "--out", f"copy.{form}")
        if form != "json":
            again = json.loads(run("sokoban", "convert", f"copy.{form}", "--to", "json").stdout)
            assert [one["rows"] for one in again] == rows, form

    # Solutions are optimal, play to the end, and travel with the level; a wrong one is refused.
    solved = json.loads(run("sokoban", "solve", "--data", "rooms.xsb", "--json").stdout)
    assert all(one["solved"] and one["optimal"] and len(one["solution"]) == one["moves"] for one in solved)
    run("sokoban", "convert", "rooms.xsb", "--to", "sok", "--solve", "--out", "solved.sok")
    kept = json.loads(run("sokoban", "convert", "solved.sok", "--to", "json").stdout)
    assert [len(one["solution"]) for one in kept] == [one["moves"] for one in solved]
    (FOLDER / "wrong.sok").write_text("######\n#@ $.#\n######\nSolution: rl\n")
    error = run("sokoban", "convert", "wrong.sok", status=2).stderr
    assert "the solution is wrong" in error and "level 0, line 1" in error, error

    # What cannot be won says so and is a failure.
    (FOLDER / "lost.xsb").write_text("######\n#$  @#\n#   .#\n######\n")
    assert "cannot be won" in run("sokoban", "solve", "--data", "lost.xsb", status=1).stdout
    large = ["#" * 20] + ["#" + " " * 18 + "#"] * 5 + ["#" * 20]
    large[2] = "# $$$$$  $$$$$     #"
    large[4] = "# .....  .....   @ #"
    (FOLDER / "large.xsb").write_text("\n".join(large) + "\n")
    assert "not found within 5 nodes" in run("sokoban", "solve", "--data", "large.xsb", "--nodes", "5", status=1).stdout

    # Selection by optimal length.
    ids = run("tasks", "sokoban", "--data", "rooms.xsb", "--min-moves", "10").stdout.split()
    assert ids == [f"rooms.xsb#{n}" for n, one in enumerate(solved) if one["moves"] >= 10]

    # Pictures.
    moves = solved[0]["solution"]
    run("sokoban", "render", "rooms.xsb#0", "--data", "rooms.xsb", "--moves", moves, "--out", "sheet.png")
    run("sokoban", "render", "rooms.xsb#0", "--data", "rooms.xsb", "--moves", moves, "--out", "film.gif")
    run("sokoban", "render", "gen/6x6/b1/s17", "--enlarge", "--out", "one.png")
    assert struct.unpack(">II", (FOLDER / "one.png").read_bytes()[16:24]) == (256, 256)
    width, _ = struct.unpack(">II", (FOLDER / "sheet.png").read_bytes()[16:24])
    assert width == min(8, len(moves) + 1) * 168 + 8
    assert (FOLDER / "film.gif").read_bytes().startswith(b"GIF89a")
    run("rollout", "sokoban", "--groups", "1", "--group-size", "2", "--out", "run.db")
    run("sokoban", "render", "--run", "run.db", "--episode", "1", "--out", "episode.gif")
    assert (FOLDER / "episode.gif").exists()

    # Wrong usage: status 2, one clear line.
    for words in (["sokoban", "solv"], ["sokoban", "generate", "--size", "6"], ["sokoban", "render", "gen/6x6/b1/s1", "--out", "x.bmp"],
                  ["sokoban", "solve"], ["sokoban", "convert", "missing.txt"], ["sokoban", "solve", "gen/6x6/b1/x"],
                  ["sokoban", "generate", "--generator", "gym", "--depth", "30"]):
        error = run(*words, status=2).stderr
        assert error.startswith("lodestep: error: "), (words, error)
    assert "did you mean 'solve'" in run("sokoban", "solv", status=2).stderr


if __name__ == "__main__":
    main()
