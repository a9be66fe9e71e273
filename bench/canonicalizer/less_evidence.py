#!/usr/bin/env python3
"""What `robust` does with less evidence than it likes: recorded WebShop episodes under dense advertisements, with
fields left out, with each group alone, and with a frozen model of other episodes.

    python3 bench/canonicalizer/less_evidence.py build/bin/lodestep
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(tempfile.mkdtemp())
NOISE = ["--set", "ads=0.6", "--set", "max_ads=3"]


def steps(name, *words):
    for command in (["rollout", "webshop", "--estimator", "grpo", "--out", f"{name}.db", *words],
                    ["export", f"{name}.db", "--format", "jsonl", "--out", f"{name}.jsonl"]):
        subprocess.run([PROGRAM, *command], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def pages(seed):
    """Noisy pages; the truth is the clean page of the same step, played again without noise."""
    clean, noisy = steps(f"clean{seed}", "--seed", seed), steps(f"noisy{seed}", "--seed", seed, *NOISE)
    rows = []
    for before, after in zip(clean, noisy, strict=True):
        assert before["action"] == after["action"]
        rows.append({"group": str(after["group"]), "episode": str(after["member"]), "t": after["t"], "text": after["observation"],
                     "actions": after["admissible"], "action": after["action"],
                     "truth": "\n".join([before["observation"], *before["admissible"]])})
    return rows


def match(rows, *words):
    done = subprocess.run([PROGRAM, "match", "--in", "-", "--json", "--matcher", "robust", *words], cwd=FOLDER, check=True,
                          input="".join(json.dumps(row) + "\n" for row in rows), capture_output=True, text=True)
    return json.loads(done.stdout)["agreement"]


def show(name, agreement):
    pooled = agreement["pooled"]
    print(f"| {name} | {100 * pooled['false_merge_rate']:.2f} | {100 * pooled['pairwise_recall']:.2f} |", flush=True)


def without(rows, *fields):
    return [{name: value for name, value in row.items() if name not in fields} for row in rows]


def each_alone(rows, *words):
    """Pairs of all groups, each group matched by itself."""
    joined = same = both = 0.0
    for group in sorted({row["group"] for row in rows}):
        mine = [row for row in rows if row["group"] == group]
        pooled = match(mine, *words)["pooled"]
        pairs = sum(n * (n - 1) // 2 for n in collections.Counter(row["truth"] for row in mine).values())
        same += pairs
        both += pairs * pooled["pairwise_recall"]
        joined += pairs * pooled["pairwise_recall"] / pooled["pairwise_precision"] if pooled["pairwise_precision"] else 0
    return {"pooled": {"false_merge_rate": 1 - both / joined, "pairwise_recall": both / same}}


ROWS, OTHERS = pages("0"), pages("1")
print("| evidence | false merges, % | recall, % |\n| --- | --- | --- |")
show("all fields, 16 groups", match(ROWS))
show("without the action taken", match(without(ROWS, "action")))
show("without admissible actions", match(without(ROWS, "actions")))
show("without both", match(without(ROWS, "action", "actions")))
show("`witness=first`", match(ROWS, "--set", "witness=first"))
show("each group alone", each_alone(ROWS))
show("each group alone, `witness=relaxed`", each_alone(ROWS, "--set", "witness=relaxed"))
match(OTHERS, "--model", "noise.model")
show("`scope=frozen`, model of 16 other groups", match(ROWS, "--model", "noise.model", "--set", "scope=frozen"))
show("each group alone, `scope=frozen`", each_alone(ROWS, "--model", "noise.model", "--set", "scope=frozen"))
