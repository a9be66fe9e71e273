#!/usr/bin/env python3
"""Sokoban side by side: Lodestep's bench_sokoban, EnvPool's Jumanji Sokoban and gym-sokoban, in one run on one machine.

  sokoban_bench.py --bench build/bin/bench_sokoban --levels unfiltered-test-000.txt \\
      --envpool-python ENVPOOL_VENV/bin/python --gym-python GYM_VENV/bin/python

The peers live in virtual environments of their own (pip install envpool gymnasium; pip install gym==0.26.2
gym-sokoban==0.0.6 "numpy<2"). A peer without interpreter is left out, and said to be. Actions are drawn beforehand. Our single-threaded figures
are by processor time; a peer gets the better of processor time and the clock on the wall, over at least
--seconds seconds after one second of warm-up.
"""
import argparse
import json
import subprocess
import sys

ENVPOOL = r"""
import json, sys, time
import numpy as np, envpool
seconds, results = float(sys.argv[1]), []
for boards, threads in ((1, 1), (64, 1), (64, 2), (1024, 1), (1024, 2), (16384, 2)):
    env = envpool.make_gymnasium("Sokoban-v0", num_envs=boards, num_threads=threads)
    actions = np.random.RandomState(0).randint(0, 4, size=(64, boards)).astype(np.int32)
    env.reset()
    start, cpu, steps, t, warm = time.perf_counter(), time.process_time(), 0, 0, True
    while True:
        env.step(actions[t % 64]); t += 1; steps += boards
        now = time.perf_counter()
        if warm and now - start > 1:
            start, cpu, steps, warm = now, time.process_time(), 0, False
        elif not warm and now - start > seconds:
            break
    speed = steps / min(now - start, time.process_time() - cpu) * 120 / 121  # its reset frames are no steps
    results.append({"name": f"EnvPool Jumanji Sokoban, {boards} boards, {threads} threads", "value": speed / 1e6, "unit": "M/s"})
    env.close()
print(json.dumps(results))
"""

GYM = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
if not hasattr(np, "bool8"): np.bool8 = np.bool_
from gym_sokoban.envs import SokobanEnv
from gym_sokoban.envs.room_utils import generate_room
seconds, results = float(sys.argv[1]), []
np.random.seed(0)
import random
random.seed(0)
for mode in ("tiny_rgb_array", "rgb_array"):
    env = SokobanEnv(dim_room=(6, 6), max_steps=120, num_boxes=1, num_gen_steps=20)
    actions = np.random.RandomState(0).randint(1, 5, size=4096)
    start, cpu, steps = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - start < seconds:
        done = env.step(int(actions[steps % 4096]), observation_mode=mode)[2]
        steps += 1
        if done: env.reset(render_mode=mode)
    results.append({"name": f"gym-sokoban 6x6, {mode}", "value": steps / (time.process_time() - cpu) / 1e6, "unit": "M/s"})
times = []
for seed in range(300):
    random.seed(seed); np.random.seed(seed)
    start = time.process_time()
    try: generate_room((6, 6), num_steps=20, num_boxes=1)
    except (RuntimeError, RuntimeWarning): pass
    times.append(time.process_time() - start)
results.append({"name": "gym-sokoban room 6x6, 1 box, median of 300 seeds", "value": sorted(times)[150] * 1e6, "unit": "us"})
print(json.dumps(results))
"""


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(f"{command[0]} failed:\n{done.stderr[-2000:]}\n")
        return []
    start = max(done.stdout.rfind("\n["), 0)
    return json.loads(done.stdout[start:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bin/bench_sokoban")
    parser.add_argument("--levels", help="Boxoban file; gym-sokoban's 10x10 rooms when left out")
    parser.add_argument("--envpool-python")
    parser.add_argument("--gym-python")
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    ours = last_json([args.bench, "--json"] + ([args.levels] if args.levels else []))
    peers = []
    for name, python, code in (("EnvPool", args.envpool_python, ENVPOOL), ("gym-sokoban", args.gym_python, GYM)):
        if python:
            peers += last_json([python, "-c", code, str(args.seconds)])
        else:
            print(f"{name} left out: no interpreter given")
    for row in ours + peers:
        print(f"{row['name']:<70} {row['value']:14.4f} {row['unit']}")
    best = max((row["value"] for row in peers if row["name"].startswith("EnvPool")), default=None)
    for kind in ("state and reward only", "planes written"):
        rows = [row["value"] for row in ours if row["name"] == f"batch, 1024 boards, 1 thread, {kind}"]
        if best and rows:
            print(f"batch of 1024 on one thread, {kind}: {rows[0] / best:.0f} times EnvPool's best")
    return 0


if __name__ == "__main__":
    sys.exit(main())
