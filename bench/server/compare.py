#!/usr/bin/env python3
"""The same load on `lodestep serve` (Sokoban text) and on the OpenEnv server from PyPI with an environment that does
nothing, one after the other in one run: compare.py LODESTEP BENCH_SERVER_LOAD [PYTHON-WITH-OPENENV]"""
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e" / "server"))
from serving import Server  # noqa: E402

PEER = '''
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Word(Action):
    command: str


class Said(Observation):
    text: str


class Nothing(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.count = 0

    def reset(self, seed=None, episode_id=None, **_):
        return Said(text="x" * 120, done=False, reward=0.0)

    def step(self, action, timeout_s=None, **_):
        self.count += 1
        return Said(text="x" * 120, done=False, reward=0.0)

    @property
    def state(self):
        return State(episode_id="e", step_count=self.count)


app = create_app(Nothing, Word, Said, env_name="nothing", max_concurrent_envs=1000)
'''
STEP = '{"type":"step","data":{"command":"up"}}'


def load(program, port, pid, sessions):
    done = subprocess.run([program, str(port), "/ws", str(sessions), "3", str(pid), STEP], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def show(name, sessions, figures):
    print(f"{name:10} {sessions:4} sessions  {figures['steps_per_second']:9.0f} steps/s  {figures['server_cpu_us']:7.1f} us of server CPU a step  "
          f"p50 {figures['p50_ms']:7.2f} ms  p99 {figures['p99_ms']:7.2f} ms", flush=True)


def wait_for(port):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the peer did not start")


def main():
    lodestep, program = sys.argv[1:3]
    python = sys.argv[3] if len(sys.argv) > 3 else sys.executable
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "peer.py").write_text(PEER, encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        peer = subprocess.Popen([python, "-m", "uvicorn", "peer:app", "--port", str(port), "--log-level", "error"], cwd=folder)
        try:
            wait_for(port)
            for sessions in (1, 16, 128):
                rows.append(("OpenEnv", sessions, load(program, port, peer.pid, sessions)))
                show(*rows[-1])
        finally:
            peer.terminate()
            peer.wait()
    with Server(lodestep, "--env", "sokoban", "--max-steps", "0", "--log-level", "warning") as server:
        for sessions in (1, 16, 128):
            rows.append(("lodestep", sessions, load(program, server.port, server.process.pid, sessions)))
            show(*rows[-1])
    for sessions in (1, 16, 128):
        theirs, ours = [next(f for n, s, f in rows if n == name and s == sessions) for name in ("OpenEnv", "lodestep")]
        print(f"{sessions:4} sessions: {ours['steps_per_second'] / theirs['steps_per_second']:.1f} times the steps, "
              f"{theirs['server_cpu_us'] / ours['server_cpu_us']:.1f} times less CPU a step")


if __name__ == "__main__":
    main()
