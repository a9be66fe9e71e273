#!/usr/bin/env python3
"""What deploy/ starts is what the program understands: usage: deploy.py PROGRAM"""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def options_of(words):
    return [word for word in words if word.startswith("--")]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    known = set(re.findall(r"--[a-z-]+", subprocess.run([program, "serve", "--help"], capture_output=True, text=True, check=True).stdout))
    unit = (ROOT / "deploy" / "lodestep.service").read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1)
    assert set(options_of(shlex.split(command))) <= known, command
    docker = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", docker, re.M):
        assert set(options_of(json.loads(line))) <= known, line
    for source in re.findall(r"^COPY (?!--from)(\S+) ", docker, re.M):
        assert (ROOT / source).exists(), source
    # The libraries that the image's second stage gets are enough, and hold no second C library.
    listed = subprocess.run(["sh", "-c", "ldd " + shlex.quote(program) + " | " + re.search(r"\| (awk '.*?') \|", docker).group(1)],
                            capture_output=True, text=True, check=True).stdout.split()
    assert listed and all(pathlib.Path(path).exists() for path in listed) and not any(re.search(r"/lib[cm]\.so", path) for path in listed), listed
    if shutil.which("systemd-analyze") is None:
        print("    (no systemd-analyze: the unit is not verified)")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "lodestep.service"
        file.write_text(unit.replace("/usr/local/bin/lodestep", program), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True)
        assert done.returncode == 0 and "lodestep.service:" not in done.stderr, done.stderr


if __name__ == "__main__":
    main()
