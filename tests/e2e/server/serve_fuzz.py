#!/usr/bin/env python3
"""Damaged bytes on the sockets of `lodestep serve`: usage: serve_fuzz.py PROGRAM. The server never dies, never answers with
an error of its own, and serves the next client. LODESTEP_FUZZ multiplies the rounds; run it with a program built with
sanitizers to find what a client cannot see."""
import json
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import KEY, Raw, Server, ask  # noqa: E402

ROUNDS = 300 * int(os.environ.get("LODESTEP_FUZZ", "1"))
UPGRADE = f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
REQUESTS = [b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{\"seed\":7}", UPGRADE,
            b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8;a=b\r\n{\"env\":\"\r\n7\r\ndummy\"}\r\n0\r\nX: y\r\n\r\n",
            b"POST /step HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 31\r\n\r\n{\"action\":{\"command\":\"right\"}}\n ", b"POST /agentgym/dummy/create HTTP/1.0\r\n\r\n"]
PIECES = [b"\r\n", b"\n", b"\0", b":", b" ", b"HTTP/1.1", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"ffffffff\r\n", b"\xff\xfe", b"%2e%2e", b"Host: y\r\n", b"x" * 5000]


def frame(dice):
    payload = dice.choice([b'{"type":"reset"}', b'{"type":"step","data":{"command":"right"}}', b'{"type":"state"}', b"\xff", b"", b"\x03\xe8", os.urandom(dice.randrange(200))])
    first = dice.choice([0x81, 0x81, 0x81, 0x01, 0x80, 0x89, 0x8A, 0x88, 0x82, dice.randrange(256)])
    size = len(payload)
    head = bytes([first, 0x80 | size]) if size < 126 else bytes([first, 0xFE]) + size.to_bytes(2, "big")
    key = os.urandom(4)
    return head + key + bytes(b ^ key[i % 4] for i, b in enumerate(payload))


def damaged(data, dice):
    data = bytearray(data)
    for _ in range(dice.randrange(4)):
        at = dice.randrange(len(data) + 1)
        how = dice.randrange(3)
        if how == 0:
            data[at:at] = dice.choice(PIECES)
        elif how == 1:
            del data[at:at + dice.randrange(8)]
        elif at < len(data):
            data[at] = dice.randrange(256)
    return bytes(data)


def main():
    dice = random.Random(20)
    with Server(sys.argv[1], "--env", "dummy", "--max-sessions", "5000") as server:
        open_ones = []
        for round in range(ROUNDS):
            if round % 3 == 0:
                data = UPGRADE + b"".join(frame(dice) for _ in range(dice.randrange(6)))
                data = damaged(data, dice) if dice.random() < 0.3 else data
            else:
                data = b"".join(damaged(dice.choice(REQUESTS), dice) for _ in range(dice.randrange(1, 4)))
            raw = Raw(server.port, timeout=0.05)
            try:
                at = 0
                while at < len(data):  # in pieces
                    size = dice.choice([1, 7, 100, 100000])
                    raw.send(data[at:at + size])
                    at += size
                while raw.more():
                    pass
            except (TimeoutError, ConnectionError):
                pass
            for line in raw.buffer.split(b"\r\n"):
                assert not line.startswith(b"HTTP/1.1 50") or line[9:12] in (b"501", b"503", b"505"), (data, line)
            open_ones.append(raw)
            if len(open_ones) > 50:
                open_ones.pop(0).close()
        assert ask(server.port, "GET", "/health") == (200, {"status": "healthy"})
        log = server.logged()
        assert not any(json.loads(line)["level"] == "error" for line in log.splitlines() if line.startswith("{")), log
        assert server.stop() == 143, log


if __name__ == "__main__":
    main()
