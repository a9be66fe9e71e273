#!/usr/bin/env python3
"""The original WebShop beside ours: the same walks over the same 1,000 products, in one run.

    python3 bench/webshop/compare.py --original CHECKOUT --program lodestep --catalogue shop.db

CHECKOUT is a checkout of the original that works (github.com/princeton-nlp/WebShop with its packages, index and data); the catalogue is an import of
the same data files. Prints steps a second, start and memory of both, and their ratios; exits with 77 and the reason when the original is not there.
A walk searches the goal's instruction, opens the first product, reads its description and buys; both play the same actions.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def walks(options):
    """The actions of each walk: the first product found comes from our program."""
    words = [options.program, "play", "webshop", "--jsonl", "--data", options.catalogue, "--set", "variant=upstream"]
    out = []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as play:
        def ask(**line):
            play.stdin.write(json.dumps(line) + "\n")
            play.stdin.flush()
            return json.loads(play.stdout.readline())

        for number in range(options.goals):
            search = f"search[{ask(op='reset', task=f'session/{number}')['info']['instruction_text']}]"
            clickables = ask(op="step", action=search)["info"]["available_actions"]["clickables"]
            if len(clickables) > 2:
                out.append([search, f"click[{clickables[2]}]", "click[description]", "click[< prev]", "click[buy now]"])
    return out


def play_ours(options, todo):
    """Seconds of start and of all walks, and peak memory in MB, of one program that plays them all."""
    lines = []
    for number, actions in enumerate(todo):
        lines.append({"op": "reset", "task": f"session/{number}"})
        lines += [{"op": "step", "action": action} for action in actions]
    words = [options.program, "play", "webshop", "--jsonl", "--data", options.catalogue, "--set", "variant=upstream"]
    begin = time.perf_counter()
    subprocess.run(words, input=json.dumps(lines[0]) + "\n", stdout=subprocess.DEVNULL, text=True, check=True)
    start = time.perf_counter() - begin
    with tempfile.TemporaryFile("w+") as asked:
        asked.write("".join(json.dumps(line) + "\n" for line in lines))
        asked.seek(0)
        begin = time.perf_counter()
        child = subprocess.Popen(words, stdin=asked, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return start, time.perf_counter() - begin - start, usage.ru_maxrss / 1024


ORIGINAL = """
import json, resource, sys, time
begin = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import gym
from web_agent_site.envs import WebAgentTextEnv
env = WebAgentTextEnv(observation_mode='text_rich', num_products=int(sys.argv[2]), human_goals=False)
start = time.perf_counter() - begin
todo = json.load(sys.stdin)
begin = time.perf_counter()
for number, actions in enumerate(todo):
    env.reset(number)
    for action in actions:
        env.step(action)
print(json.dumps([start, time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", required=True, help="checkout of the original")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the original's packages")
    parser.add_argument("--program", default="lodestep")
    parser.add_argument("--catalogue", required=True, help="our import of the same files")
    parser.add_argument("--products", type=int, default=1000)
    parser.add_argument("--goals", type=int, default=50)
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.original, "web_agent_site")):
        skip(f"no checkout of the original in {options.original} (there is no web_agent_site)")
    if not os.path.isfile(options.catalogue):
        parser.error(f"there is no catalogue {options.catalogue}")
    todo = walks(options)
    done = subprocess.run([options.python, "-c", ORIGINAL, options.original, str(options.products)], input=json.dumps(todo),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip("the original does not run: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    steps = sum(map(len, todo))
    theirs = json.loads(done.stdout.splitlines()[-1])
    ours = play_ours(options, todo)
    for name, (start, seconds, memory) in (("original", theirs), ("lodestep play --jsonl", ours)):
        print(f"{name}: start {start:.2f} s, {steps / seconds:.0f} steps/s, {memory:.0f} MB")
    print(f"ratio: {theirs[1] / ours[1]:.0f} times the steps a second, JSON lines over a pipe included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
