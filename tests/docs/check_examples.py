#!/usr/bin/env python3
"""Runs the examples of README.md and docs/*.md.

A fenced block marked `console` is a session: lines that start with "$ " are commands (a trailing backslash
goes on in the next line, a here-document up to END belongs to its command), the lines after a command are its output. Each file's blocks run in order in one empty folder with
`lodestep` on the PATH. A command must end with status 0, or with N when the line before the block ends with
"(exit N)". Output is compared where it is shown, with or without what the
command says on standard error; a line "..." stands for any lines, "..." inside a line for
any text. Blocks marked `console no-run` are not run.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sessions(text):
    """Yields (line number, expected status, lines) of every console block."""
    lines = text.splitlines()
    inside, start, block, status = False, 0, [], 0
    for number, line in enumerate(lines, 1):
        if not inside and line.strip() == "```console":
            inside, start, block = True, number, []
            match = re.search(r"\(exit (\d+)\)", lines[number - 2] if number > 1 else "")
            status = int(match.group(1)) if match else 0
        elif inside and line.strip() == "```":
            inside = False
            yield start, status, block
        elif inside:
            block.append(line)


def steps(block):
    """Splits a block into (command, expected output lines)."""
    out = []
    lines = iter(block)
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines, "")
            if command.endswith("<<'END'"):
                for line in lines:
                    command += "\n" + line
                    if line == "END":
                        break
            out.append((command, []))
        elif out:
            out[-1][1].append(line)
    return out


def matches(expected, actual):
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(re.escape(piece) for piece in line.rstrip().split("...")) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), actual) is not None


def check(file, environment):
    failures = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, status, block in sessions(file.read_text(encoding="utf-8")):
            for command, expected in steps(block):
                ran += 1
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True,
                                      text=True, encoding="utf-8", timeout=300, stdin=subprocess.DEVNULL)
                shown = [text if not text or text.endswith("\n") else text + "\n"
                         for text in (done.stdout, done.stdout + done.stderr)]
                output = shown[1]
                wrong_status = done.returncode != status
                wrong_output = any(line.strip() for line in expected) and not any(matches(expected, text) for text in shown)
                if wrong_status or wrong_output:
                    failures += 1
                    print(f"{file.relative_to(ROOT)}:{number}: $ {command}\n  status {done.returncode}, expected {status}\n{output}")
    return ran, failures


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "LODESTEP_ROOT": str(ROOT),
                   "LODESTEP_SHARED": os.environ.get("LODESTEP_SHARED", str(ROOT.parent / "shared"))}
    total = failed = 0
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        ran, failures = check(file, environment)
        total, failed = total + ran, failed + failures
        print(f"{file.relative_to(ROOT)}: {ran} examples, {failures} wrong")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
