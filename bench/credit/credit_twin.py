#!/usr/bin/env python3
"""Lodestep's graphgpo beside a plain Python program of the same algorithm, on one batch, in one run.

    bench_credit --write 16 8 50 600 > steps.jsonl
    credit_twin.py build/bin/lodestep steps.jsonl

The twin keeps the shape of the released trainer's code: a dictionary per task, one search per task, and a scan
over all rows for every row that it looks up. It prints both times and the largest difference of advantages.
"""
import heapq
import json
import statistics
import subprocess
import sys
import time


def distances(edges, goal):
    back = {}
    for a, b in edges:
        back.setdefault(b, []).append(a)
    best = {goal: 0.0}
    heap = [(0.0, goal)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > best[node]:
            continue
        for before in back.get(node, ()):
            if d + 1 < best.get(before, float("inf")):
                best[before] = d + 1
                heapq.heappush(heap, (d + 1, before))
    nodes = {n for e in edges for n in e} | {goal}
    far = max(best.values()) + 1
    return {n: best.get(n, far) for n in nodes}


def normalised(values):
    if len(values) == 1:
        return [0.0]
    if min(values) == max(values):
        return [0.0] * len(values)
    mean = statistics.fmean(values)
    std = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    return [(v - mean) / (std + 1e-6) for v in values]


def graphgpo(rows, gamma):
    tasks = []
    for row in rows:
        if row["task"] not in tasks:
            tasks.append(row["task"])
    step_return = [0.0] * len(rows)
    for task in tasks:
        own = [r for r in rows if r["task"] == task]
        distance = distances([(r["state"], r["next_state"]) for r in own], "success")
        for episode in {r["episode"] for r in own}:
            for row in own:
                if row["episode"] != episode:
                    continue
                # Looking a row up is a scan over the batch, once per row.
                index = [i for i, r in enumerate(rows) if r["task"] == task and r["episode"] == episode and r["t"] == row["t"]][0]
                step_return[index] = 10 * gamma ** distance[row["next_state"]]
    groups, by_task = {}, {}
    for i, row in enumerate(rows):
        groups.setdefault((row["task"], row["state"]), []).append(i)
        by_task.setdefault(row["task"], []).append(i)
    total = [0.0] * len(rows)
    for members in groups.values():
        for i, a in zip(members, normalised([step_return[i] for i in members])):
            total[i] += a
    for members in by_task.values():
        for i, a in zip(members, normalised([rows[i]["episode_reward"] for i in members])):
            total[i] += a
    return total


def main():
    program, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    start = time.perf_counter()
    twin = graphgpo(rows, 0.1)
    twin_seconds = time.perf_counter() - start
    start = time.perf_counter()
    out = subprocess.run([program, "credit", "--estimator", "graphgpo", "--in", path, "--out", "-"], check=True,
                         capture_output=True).stdout
    seconds = time.perf_counter() - start
    worst = max(abs(json.loads(line)["advantage"] - a) for line, a in zip(out.splitlines(), twin))
    print(f"{len(rows)} rows: Python twin {twin_seconds:.2f} s without reading, lodestep credit {seconds:.3f} s with "
          f"start, reading and writing: {twin_seconds / seconds:.0f} times; largest difference {worst:.1e}")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
