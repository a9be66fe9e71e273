#!/usr/bin/env python3
"""`lodestep webshop ...` and `play webshop` from outside: golden rankings, purchases, goals, episodes; exit statuses."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
SHARED = pathlib.Path(os.environ.get("LODESTEP_SHARED", "../shared"))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="lodestep-webshop-"))


def run(*words, status=0, stdin=""):
    done = subprocess.run([PROGRAM, *words], capture_output=True, encoding="utf-8", input=stdin, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def golden(name):
    packed = SHARED / "golden" / "webshop" / f"{name}.jsonl.zst"
    text = subprocess.run(["zstd", "-dcq", str(packed)], capture_output=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def settings(config):
    words = []
    for name in ("variant", "seed", "human_goals", "show_attrs"):
        words += ["--set", f"{name}={str(config[name]).lower()}"]
    return words + (["--set", f"num_products={config['num_products']}"] if config["num_products"] is not None else [])


def check_rankings(shop):
    for case in golden("rankings")[::6]:
        if "error" in case:
            assert "1024" in run("webshop", "search", shop, case["query"], status=2).stderr
            continue
        hits = json.loads(run("webshop", "search", shop, case["query"], "--json").stdout)
        assert [hit["asin"] for hit in hits] == case["asins"], case["id"]
        assert [hit["score"] for hit in hits] == [float(score) for score in case["raw"]], case["id"]


def check_rewards(shop):
    cases = golden("rewards")
    asked = "".join(json.dumps({k: v for k, v in case.items() if k not in ("reward", "info")}) + "\n" for case in cases)
    answers = [json.loads(line) for line in run("webshop", "score", shop, "--in", "-", stdin=asked).stdout.splitlines()]
    assert answers == [{"reward": case["reward"], "info": case["info"]} for case in cases]


def check_goals(shop):
    lines = golden("goals")
    for config in (line for line in lines if line["type"] == "config"):
        goals = json.loads(run("webshop", "goals", shop, "--no-best", "--json", *settings(config)).stdout)
        assert len(goals) == config["n_goals"]
        for case in (line for line in lines if line["type"] == "goal" and line["config"] == config["id"]):
            goal = goals[case["i"]]
            for field in ("i", "asin", "instruction_text", "attributes", "price_upper", "goal_options", "weight"):
                assert json.dumps(goal[field]) == json.dumps(case[field]), (config["id"], case["i"], field)


def check_episodes(shop):
    configs = {line["id"]: line for line in golden("goals") if line["type"] == "config"}
    for case in golden("episodes")[::9]:
        if case["config"] not in configs:
            continue
        words = ["--set", "after_done=continue", "--set", f"rng_seed={case['rng_seed']}", *settings(configs[case["config"]])]
        session = case["session"]
        task = "random" if session is None else f"name:{session}" if isinstance(session, str) else str(session)
        asked = [{"op": "reset", "task": f"session/{task}"}] + [{"op": "step", "action": step["a"]} for step in case["steps"]]
        done = run("play", "webshop", "--jsonl", "--data", shop, *words, stdin="".join(json.dumps(one) + "\n" for one in asked))
        for answer, expected in zip(map(json.loads, done.stdout.splitlines()), [case["start"], *case["steps"]], strict=True):
            assert answer["observation"] == expected["rich"], (case["id"], expected.get("a"))
            assert answer["info"]["available_actions"] == {"has_search_bar": expected["bar"], "clickables": expected["click"]}
            if "r" in expected:
                assert (answer["reward"], answer["done"]) == (expected["r"], expected["done"]), (case["id"], expected["a"])
                assert answer["valid"] == isinstance(expected["r"], float)


def check_errors(shop):
    assert "did you mean 'search'" in run("webshop", "serch", status=2).stderr
    assert "known options" in run("webshop", "goals", shop, "--set", "varient=verl", status=2).stderr
    assert "--range" in run("webshop", "goals", shop, "--range", "9:1", status=2).stderr
    assert "line 2" in run("webshop", "score", shop, "--in", "-", stdin="\n{}\n", status=2).stderr
    assert "no catalogue file" in run("webshop", "search", str(FOLDER / "none.db"), "mug", status=2).stderr


def main():
    if not (SHARED / "golden" / "webshop").is_dir():
        print(f"skipped: {SHARED}/golden/webshop is not there (set LODESTEP_SHARED)")
        return 77
    data = SHARED / "data" / "webshop" / "synth_1000"
    shop = str(FOLDER / "shop.db")
    report = json.loads(run("webshop", "import", "--products", str(data / "items_shuffle.json.zst"),
                            "--attributes", str(data / "items_ins.json.zst"),
                            "--human-instructions", str(data / "items_human_ins.json.zst"),
                            "--nouns", str(SHARED / "golden" / "webshop" / "nouns.jsonl.zst"), "--out", shop, "--json").stdout)
    assert (report["records"], report["products"], report["tagged"]) == (1006, 1000, 1000)
    for check in (check_rankings, check_rewards, check_goals, check_episodes, check_errors):
        check(shop)
    print("webshop commands: golden rankings, rewards, goals and episodes are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
