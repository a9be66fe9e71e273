"""The matcher `lexical` against Python's difflib in one run, on 8 episodes of 50 pages of 600 characters.

    python3 bench/canonicalizer/lexical_bench.py build/bin/bench_lexical [--quick]

Prints a line a kind of page: seconds of both, how many times faster, and whether the clusters are equal.
"""

import difflib
import random
import subprocess
import sys
import tempfile
import time

WORDS = "the a of drawer shelf table lamp mug plate open close take put near light room door key box cup".split()
PROSE = WORDS + ["Price: $19.99,", "(2 left)", "Item #43;", "Rated 4.5/5.", "Q&A:", "XL", "Wool,", "7-pack", "Visit!"]


def page(dice, words, size=600):
    text = ""
    while len(text) < size:
        text += dice.choice(words) + " "
    return text[:size]


def noisy(dice, text, share):
    letters = list(text)
    for _ in range(int(len(text) * share)):
        letters[dice.randrange(len(letters))] = dice.choice("abcdefghijklmnopqrstuvwxyz")
    return "".join(letters)


def batch(kind):
    """8 x 50 pages; 120 different states, visited by several episodes."""
    dice = random.Random(7)
    words = PROSE if "prose" in kind else WORDS
    states = [page(dice, words) for _ in range(120)]
    if "alike" in kind:  # hard to tell apart by counts: one page with a tenth of its words exchanged
        base = states[0].split(" ")
        states = [" ".join(dice.choice(words) if dice.random() < 0.1 else word for word in base) for _ in range(120)]
    noise = 0.02 if "noise" in kind else 0
    return [noisy(dice, states[dice.randrange(120)], noise * dice.random()) for _ in range(8 * 50)]


def reference(texts, threshold):
    """First earlier cluster whose first member has a ratio >= threshold; equal texts are looked up."""
    seen, first_members, clusters = {}, [], []
    for text in texts:
        if text not in seen:
            for number, member in enumerate(first_members):
                if difflib.SequenceMatcher(None, text, member).ratio() >= threshold:
                    seen[text] = number
                    break
            else:
                seen[text] = len(first_members)
                first_members.append(text)
        clusters.append(seen[text])
    return clusters


def main():
    program, quick = sys.argv[1], "--quick" in sys.argv
    for kind in ["words", "prose", "words, noise <= 2 %", "prose, noise <= 2 %", "prose, alike"]:
        texts = batch(kind)[: 60 if quick else None]
        start = time.perf_counter()
        clusters = reference(texts, 0.95)
        python = time.perf_counter() - start
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(texts) + "\n")
            file.flush()
            out = subprocess.run([program, file.name, "0.95"], capture_output=True, text=True, check=True).stdout.split()
        equal = clusters == [int(cluster) for cluster in out[3:]]
        print(f"{kind:22} python {python:8.2f} s   lexical {float(out[0]) * 1e3:8.3f} ms   {python / float(out[0]):8.0f} x"
              f"   matches run {out[1]}, avoided {out[2]}   clusters {'equal' if equal else 'DIFFER'}", flush=True)
        if not equal:
            sys.exit(1)


if __name__ == "__main__":
    main()
