#!/usr/bin/env python3
"""The dialects of `lodestep serve`, sentence by sentence, over bare sockets: usage: serve_protocols.py PROGRAM [TEST...]"""
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import KEY, Raw, Server, WebSocket, ask  # noqa: E402

JSON_REFUSED = [b"{", b"[1,]", b"{\"a\":NaN}", b"{\"a\":Infinity}", b"{\"a\":-Infinity}", b"{\"a\":1e400}", b"{\"a\":" + b"9" * 400 + b"}",
                b"{\"a\":\"\xff\"}", b"{\"a\":\"\xed\xa0\x80\"}", b"{\"a\":\"\xc0\xaf\"}", b"{\"a\":\"\\ud800\"}", b"{\"a\":\"\\udc00\"}",
                b"[" * 100000, b"{\"a\":" * 100000, b"{\"a\":" + b"[" * 64 + b"]" * 64 + b"}", b"{\"a\":1} x", b"{'a':1}", b"{\"a\":\"\n\"}"]


def code(reply):
    assert reply["type"] == "error", reply
    return reply["data"]["code"]


def read_result(result, after_step=False):
    assert set(result) <= {"observation", "reward", "done", "metadata"} and {"observation", "reward", "done"} <= set(result), result
    assert isinstance(result["observation"], dict) and result["observation"] and isinstance(result["done"], bool)
    assert isinstance(result["reward"], (int, float)) and not isinstance(result["reward"], bool) if after_step else True
    for place in (result["observation"], result["metadata"]):
        assert isinstance(place["terminated"], bool) and isinstance(place["truncated"], bool)
        assert result["done"] == (place["terminated"] or place["truncated"])
    return result


# ---- every dialect ----

def test_json_that_is_refused_everywhere(s):
    for body in JSON_REFUSED:
        for path, statuses in [("/reset", {422}), ("/step", {422}), ("/dummy/num_tasks", {422}), ("/agentgym/dummy/reset", {422}),
                               ("/agentgym/alfworld/step", {422}), ("/agentgym/webshop/step", {422}), ("/v1/sessions", {400}),
                               ("/v1/groups", {400}), ("/v1/batch/step", {400}), ("/v1/advantages", {400})]:
            begin = time.monotonic()
            status, reply = ask(s.port, "POST", path, body)
            assert status in statuses and isinstance(reply, dict), (path, body[:40], status, reply)
            assert time.monotonic() - begin < 2
        status, reply = ask(s.port, "POST", "/mcp", body)
        assert (status, reply["error"]["code"], reply["id"]) == (200, -32700, None), (body[:40], reply)
    nested = b"{\"a\":" + b"[" * 63 + b"]" * 63 + b"}"
    assert ask(s.port, "POST", "/reset", nested)[0] == 200


def test_unknown_paths_and_methods(s):
    for path in ["/nothing", "/openenv", "/openenv/", "/openenv/none/reset", "/agentgym", "/agentgym/none/create", "/v1", "/v1/nothing",
                 "/web/metadata", "/web/reset", "/%2e%2e/health", "/openenv/%2e%2e/health", "/health%00", "/a\\b", "/%5c", "/%zz", "/\xff"]:
        for method in ["GET", "POST"]:
            status, reply = ask(s.port, method, path)
            assert status == 404 and isinstance(reply, dict), (method, path, status, reply)
    for method, path in [("GET", "/reset"), ("GET", "/step"), ("POST", "/state"), ("POST", "/health"), ("PUT", "/mcp"), ("DELETE", "/schema"), ("BREW", "/health"),
                         ("PATCH", "/v1/sessions"), ("GET", "/agentgym/webshop/create"), ("POST", "/agentgym/webshop/observation"), ("PUT", "/metrics"),
                         ("POST", "/ws"), ("OPTIONS", "/health"), ("TRACE", "/health"), ("GET", "/v1/groups")]:
        status, reply = ask(s.port, method, path)
        assert status == 405 and isinstance(reply, dict), (method, path, status, reply)
    raw = Raw(s.port).send("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert raw.reply(body=False)[0] == 200 and raw.reply()[2] == b'{"status":"healthy"}'
    for path in ["/health", "//health", "/health/", "/health?x=1", "/openenv/sokoban/health", "/openenv/sokoban//health", "http://x/health"]:
        assert ask(s.port, "GET", path) == (200, {"status": "healthy"}), path


def test_more_of_http(s):
    raw = Raw(s.port)
    # Line breaks before a request, header names in any case, many small pieces.
    for piece in ["\r\n", "POST /re", "set HTTP/1.1\r\nhOsT:x\r\n", "cONTENT-lENGTH: 2\r\n\r", "\n{", "}"]:
        raw.send(piece)
        time.sleep(0.02)
    assert raw.reply()[0] == 200
    # Chunks with extensions, upper-case sizes, leading zeros and trailers, the next request right behind.
    body = b'{"seed":1,"note":"' + b"x" * 200 + b'"}'
    chunk = b"%04X;a=b;c=\"d e\"\r\n" % len(body) + body + b"\r\n000;last\r\nX-T: 1\r\nX-U: 2\r\n\r\n"
    raw.send(b"POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunk + b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert raw.reply()[0] == 200
    status, headers, _ = raw.reply()
    assert status == 200 and headers["connection"] == "close" and raw.closed()
    # Replies come in the order of the requests, whatever they cost.
    raw = Raw(s.port)
    raw.send("POST /openenv/sokoban/reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" "GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    replies = [raw.reply()[2] for _ in range(40)]
    assert all((reply == b'{"status":"healthy"}') == (i % 2 == 1) for i, reply in enumerate(replies))
    for request in ["POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                    f"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 62}\r\n\r\n"]:
        raw = Raw(s.port).send(request)
        assert raw.reply()[0] == 413 and raw.closed(), request
    for request in ["POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
                    "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
                    "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
                    "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
                    "POST /reset HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 3\r\n\r\n{}",
                    "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}",
                    "GET /health HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n", "GET /health HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
                    "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n", "GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n",
                    "GET /health\r\n\r\n", "NONSENSE\r\n\r\n", "GET /health HTTX/1.1\r\nHost: x\r\n\r\n", "GET /he alth HTTP/1.1\r\nHost: x\r\n\r\n",
                    "GET /health HTTP/1.1\nHost: x\n\n"]:
        raw = Raw(s.port).send(request)
        status, _, reply = raw.reply()
        assert status == 400 and isinstance(json.loads(reply), dict) and raw.closed(), (request, status)
    for version in ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3"]:
        raw = Raw(s.port).send(f"GET /health {version}\r\nHost: x\r\n\r\n")
        assert raw.reply()[0] in (400, 505) and raw.closed(), version
    # Up to the limits everything is taken.
    assert ask(s.port, "POST", "/reset", b'{"a":"' + b"x" * ((16 << 20) - 8) + b'"}')[0] == 200
    assert ask(s.port, "GET", "/health", headers="X: " + "y" * 60000 + "\r\n")[0] == 200
    assert ask(s.port, "GET", "/health?" + "y" * 8000)[0] == 200


def test_health_and_others_are_answered_while_the_workers_are_busy(s):
    def slow():
        return ask(s.port, "POST", "/v1/groups", {"env": "sokoban", "count": 32, "group_size": 4, "seed": 3, "split": "train"})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(slow) for _ in range(16)]
        for path in ["/health", "/openenv/sokoban/health"] * 10:
            begin = time.monotonic()
            assert ask(s.port, "GET", path)[0] == 200
            assert time.monotonic() - begin < 2
        for job in waiting:
            status, made = job.result()
            assert status == 201, made
            ask(s.port, "DELETE", f"/v1/groups/{made['group_set_id']}")


# ---- OpenEnv ----

def test_openenv_http_routes(s):
    for mount, name in [("", "dummy"), ("/openenv/sokoban", "sokoban"), ("/openenv/alfworld", "alfworld"), ("/openenv/webshop", "webshop")]:
        assert ask(s.port, "GET", f"{mount}/health") == (200, {"status": "healthy"})
        metadata = ask(s.port, "GET", f"{mount}/metadata")[1]
        assert set(metadata) == {"name", "description", "version", "readme_content", "author", "documentation_url"} and metadata["name"] == name
        raw = Raw(s.port).send(f"GET {mount}/schema HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\n\r\n")
        status, headers, body = raw.reply()
        assert status == 200 and "content-encoding" not in headers and len(body) < 1 << 20 and headers["content-type"].startswith("application/json")
        schema = json.loads(body)
        action = schema["action"]
        assert action["title"] == name.capitalize() + "Action" and action["required"] == ["command"] and action["additionalProperties"] is False
        assert action["properties"]["command"] == {"type": "string"} and action["properties"]["metadata"] == {"type": "object"}
        assert {"reward", "done"} <= set(schema["observation"]["properties"])
        openapi = ask(s.port, "GET", f"{mount}/openapi.json")[1]
        assert isinstance(openapi["info"]["version"], str) and {"/reset", "/step", "/state"} <= set(openapi["paths"])
        for body in [None, b"", b"{}", b"null", b'{"seed":0}', b'{"seed":7,"episode_id":"e","whatever":[1,{"a":null}]}']:
            status, result = ask(s.port, "POST", f"{mount}/reset", body)
            assert status == 200, (mount, body, result)
            read_result(result)
        status, result = ask(s.port, "POST", f"{mount}/step", {"action": {"command": "look", "metadata": {"a": 1}}, "timeout_s": 30.5, "request_id": "r", "x": 1})
        assert status == 200
        read_result(result, True)
        state = ask(s.port, "GET", f"{mount}/state")[1]
        assert state["episode_id"] is None and state["step_count"] == 0


def test_openenv_http_refusals(s):
    def refused(path, body):
        status, reply = ask(s.port, "POST", path, body)
        assert status == 422, (path, body, status, reply)
        for item in reply["detail"]:
            assert {"type", "loc", "msg"} <= set(item) and isinstance(item["loc"], list)
        return reply
    assert refused("/step", {}) == {"detail": [{"type": "missing", "loc": ["body", "action"], "msg": "Field required", "input": {}}]}
    for action in [{}, {"command": 3}, {"command": None}, {"command": "x", "y": 1}, {"command": "x", "metadata": 3}, {"command": "x", "metadata": None},
                   "x", None, [], 3, {"Command": "x"}]:
        refused("/step", {"action": action})
    for more in [{"timeout_s": 0}, {"timeout_s": -1}, {"timeout_s": "1"}, {"request_id": "x" * 256}, {"request_id": 7}]:
        refused("/step", {"action": {"command": "x"}, **more})
    for body in [{"seed": -1}, {"seed": 1.5}, {"seed": "1"}, {"seed": True}, {"seed": []}, {"seed": -2**63}, {"episode_id": 7}, {"episode_id": "x" * 256}, [], "x", 3]:
        refused("/reset", body)
    assert ask(s.port, "POST", "/reset", {"episode_id": "\u00e9" * 255})[0] == 200
    status, reply = ask(s.port, "POST", "/reset", {"split": "no such split"})
    assert 400 <= status < 500 and isinstance(reply, dict)
    status, reply = ask(s.port, "POST", "/reset", {"index": 10 ** 9})
    assert 400 <= status < 500 and isinstance(reply, dict)


def test_openenv_messages(s):
    socket = WebSocket(s.port, "/openenv/dummy/ws")
    assert code(socket.ask({"type": "step", "data": {"command": "left"}})) == "EXECUTION_ERROR"
    for name in ["e1", "", "\u0000\u00e9\u4e2d\U0001f600\u2028\"\\/", "x" * 300]:
        socket.ask({"type": "reset", "data": {"seed": 7, "episode_id": name, "index": 3, "split": "train"}})
        state = socket.ask({"type": "state"})
        assert state["type"] == "state" and state["data"]["episode_id"] == name and state["data"]["step_count"] == 0
    for steps in range(1, 4):
        reply = socket.ask({"type": "step", "data": {"command": ["dance", "", "left"][steps - 1]}})
        assert reply["type"] == "observation" and set(reply) == {"type", "data"}
        read_result(reply["data"], True)
        assert reply["data"]["reward"] == 0 and reply["data"]["done"] is False
        assert socket.ask({"type": "state"})["data"]["step_count"] == steps
    # Refused messages leave the episode alone and the socket open.
    for message, wanted in [(b"", "INVALID_JSON"), (b"hello", "INVALID_JSON"), (b"{} {}", "INVALID_JSON"), (b"{\"type\":\"step\",\"data\":{\"command\":NaN}}", "INVALID_JSON"),
                            ({}, "UNKNOWN_TYPE"), ({"type": "fly"}, "UNKNOWN_TYPE"), ({"type": 3}, "UNKNOWN_TYPE"), ({"type": None}, "UNKNOWN_TYPE"),
                            ({"type": "step"}, "VALIDATION_ERROR"), ({"type": "step", "data": 3}, "VALIDATION_ERROR"), ({"type": "step", "data": None}, "VALIDATION_ERROR"),
                            ({"type": "step", "data": []}, "VALIDATION_ERROR"), ({"type": "step", "data": {}}, "VALIDATION_ERROR"),
                            ({"type": "step", "data": {"command": 1}}, "VALIDATION_ERROR"), ({"type": "step", "data": {"command": "left", "x": 1}}, "VALIDATION_ERROR"),
                            ({"type": "step", "data": {"command": "left", "metadata": 1}}, "VALIDATION_ERROR"),
                            ({"type": "step", "data": {"command": "left"}, "id": 1}, "VALIDATION_ERROR"), ({"type": "state", "data": {}}, "VALIDATION_ERROR"),
                            ({"type": "reset", "data": 3}, "VALIDATION_ERROR"), ({"type": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR"),
                            ({"type": "reset", "data": {"seed": "1"}}, "VALIDATION_ERROR"), ({"type": "reset", "data": {"seed": 0.5}}, "VALIDATION_ERROR"),
                            ({"type": "reset", "data": {}, "x": 1}, "VALIDATION_ERROR"), ({"type": "close", "x": 1}, "VALIDATION_ERROR"),
                            ({"type": "reset", "data": {"index": 1000}}, "EXECUTION_ERROR"), ({"type": "reset", "data": {"split": "none"}}, "EXECUTION_ERROR")]:
        reply = socket.ask(message)
        assert code(reply) == wanted, (message, reply)
        assert isinstance(reply["data"]["message"], str) and reply["data"]["message"]
        assert ("errors" in reply["data"]) == (wanted == "VALIDATION_ERROR"), reply
        assert socket.ask({"type": "state"})["data"]["step_count"] == 3
    # A whole data row at reset.
    row = {"prompt": [{"role": "user", "content": "x" * 100000}], "answer": None, "nested": [[[[1.5, True, "\u00e9"]]]], "task_id": 17, "extra_info": {"index": 4}}
    assert socket.ask({"type": "reset", "data": row})["type"] == "observation"
    assert socket.ask({"type": "reset"})["type"] == "observation"
    first = socket.ask({"type": "state"})["data"]["episode_id"]
    socket.ask({"type": "reset"})
    assert isinstance(first, str) and first and socket.ask({"type": "state"})["data"]["episode_id"] != first
    # After the end.
    socket.ask({"type": "reset", "data": {"index": 0}})
    end = socket.ask({"type": "step", "data": {"command": "right"}})["data"]
    assert end["done"] is True and end["reward"] == 1.0 and end["metadata"]["terminated"]
    after = socket.ask({"type": "step", "data": {"command": "left"}})["data"]
    assert after["done"] is True and after["reward"] == 0 and after["observation"]["text"] == end["observation"]["text"]
    # JSON that is no object ends the session.
    for message in [b"[]", b"3", b"null", b"\"step\""]:
        socket = WebSocket(s.port, "/openenv/dummy/ws")
        assert code(socket.ask(message)) == "SESSION_ERROR"
        assert socket.close_code() == 1000 and socket.closed()


def test_same_seed_same_episode(s):
    for name in ["dummy", "sokoban", "alfworld", "webshop"]:
        transcripts = []
        for _ in range(2):
            socket = WebSocket(s.port, f"/openenv/{name}/ws")
            result = socket.ask({"type": "reset", "data": {"seed": 12345}})["data"]
            seen = [result["observation"]["text"]]
            for i in range(12):
                actions = result["observation"]["available_actions"]
                result = read_result(socket.ask({"type": "step", "data": {"command": actions[i % len(actions)] if actions else "x"}})["data"], True)
                seen.append((result["observation"]["text"], result["reward"], result["done"]))
            transcripts.append(seen)
        assert transcripts[0] == transcripts[1], name
        unseeded = {socket.ask({"type": "reset"})["data"]["metadata"]["seed"] for _ in range(4)}
        assert len(unseeded) == 4


def test_handshakes_without_upgrade(s):
    for path in ["/ws", "/openenv/sokoban/ws", "/v1/stream", "/mcp"]:
        status, reply = ask(s.port, "GET", path)
        assert status == 400 and isinstance(reply, dict), (path, status)
    raw = Raw(s.port).send(f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n"
                           "User-Agent: " + "u" * 2000 + "\r\n\r\n" )
    assert raw.reply(body=False)[0] == 101
    # A first frame that comes with the handshake is not lost.
    text = b'{"type":"reset"}'
    raw = Raw(s.port).send(f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
                           + bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    assert raw.reply(body=False)[0] == 101
    raw.__class__ = WebSocket
    assert raw.hear()["type"] == "observation"


def test_close_frames(s):
    for payload, answer in [(b"", 1000), (struct.pack(">H", 1000), 1000), (struct.pack(">H", 1001) + b"bye", 1000), (struct.pack(">H", 3000), 1000), (struct.pack(">H", 4999), 1000),
                            (struct.pack(">H", 1014), 1000), (struct.pack(">H", 1004), 1002), (struct.pack(">H", 1006), 1002), (struct.pack(">H", 1015), 1002),
                            (struct.pack(">H", 2999), 1002), (struct.pack(">H", 5000), 1002), (struct.pack(">H", 0), 1002), (b"\x03", 1002),
                            (struct.pack(">H", 1000) + b"\xff", 1007), (struct.pack(">H", 1000) + b"\xe4\xb8", 1007)]:
        socket = WebSocket(s.port)
        socket.ask({"type": "reset"})
        begin = time.monotonic()
        socket.frame(8, payload)
        assert socket.close_code() == answer, (payload, answer)
        assert socket.closed() and time.monotonic() - begin < 2, payload
    # Text must be UTF-8 as a whole, whatever the fragments; a failure is told before the message ends.
    socket = WebSocket(s.port)
    socket.frame(1, b'{"type":"reset","data":{"episode_id":"\xe4', fin=False).frame(0, b"\xb8", fin=False).frame(0, b"\xad\"}}")
    assert socket.hear()["type"] == "observation"
    socket.frame(1, b"{\"\xf5", fin=False)
    assert socket.close_code() == 1007
    socket = WebSocket(s.port).frame(1, b"\"\xe4\xb8")
    assert socket.close_code() == 1007
    # Binary that is no UTF-8 is no JSON, and no reason to close.
    socket = WebSocket(s.port)
    socket.frame(2, b"\xff\xfe")
    assert code(socket.hear()) == "INVALID_JSON"
    # Lengths: not the shortest form, the highest bit, far beyond the limit.
    for head, answer in [(bytes([0x81, 0x80 | 126, 0, 5]), 1002), (bytes([0x81, 0x80 | 127]) + struct.pack(">Q", 200), 1002),
                         (bytes([0x81, 0x80 | 127]) + struct.pack(">Q", 1 << 63), 1002), (bytes([0x81, 0x80 | 127]) + struct.pack(">Q", 1 << 40), 1009)]:
        socket = WebSocket(s.port)
        socket.send(head + b"\0\0\0\0")
        assert socket.close_code() == answer, head
    # A message of the limit is taken, byte by byte frames too.
    socket = WebSocket(s.port)
    message = b'{"type":"state"}'
    for i, byte in enumerate(message):
        socket.frame(1 if i == 0 else 0, bytes([byte]), fin=i + 1 == len(message))
    assert socket.hear()["type"] == "state"
    # Pings at once, with their payload, and pongs nobody asked for.
    socket.frame(10, b"unasked").frame(9, b"").frame(9, b"x" * 125)
    assert socket.receive() == (10, b"") and socket.receive() == (10, b"x" * 125)


def test_silent_peers_are_pinged_and_dropped(program):
    with Server(program, "--env", "dummy", "--ping-interval", "0.5", "--max-sessions", "2") as s:
        silent, alive = WebSocket(s.port), WebSocket(s.port)
        silent.ask({"type": "reset"})
        alive.ask({"type": "reset"})
        end = time.monotonic() + 5
        pings = 0
        alive.socket.settimeout(0.2)
        while time.monotonic() < end:
            try:
                opcode, payload = alive.receive()
            except TimeoutError:
                continue
            assert opcode == 9
            pings += 1
            alive.frame(10, payload)
        assert pings >= 3
        alive.socket.settimeout(10)
        assert alive.ask({"type": "state"})["type"] == "state"
        assert silent.receive()[0] == 9 and silent.receive()[0] == 9 and silent.closed()
        assert WebSocket(s.port).ask({"type": "reset"})["type"] == "observation"  # its place is free


def test_mcp(s):
    def rpc(method, params=None, id=1, path="/openenv/dummy/mcp"):
        request = {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}
        status, reply = ask(s.port, "POST", path, request)
        assert status == 200 and reply["jsonrpc"] == "2.0" and reply["id"] == id and ("result" in reply) != ("error" in reply), reply
        return reply
    for body, number in [({}, -32600), ([], -32600), (3, -32600), ({"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, -32600), ({"jsonrpc": "2.0", "id": 1}, -32600)]:
        status, reply = ask(s.port, "POST", "/mcp", body)
        assert status == 200 and reply["error"]["code"] == number, (body, reply)
    assert ask(s.port, "POST", "/mcp", {})[1]["id"] is None
    for id in [1, "a", 2**53]:
        assert rpc("no/such", id=id)["error"]["code"] == -32601
    tools = rpc("tools/list")["result"]["tools"]
    assert tools and all("inputSchema" in tool and tool["name"] not in ("reset", "step", "state", "close") for tool in tools)
    assert rpc("tools/call", {"name": "fly", "arguments": {}})["error"]["code"] == -32602
    assert "error" in rpc("tools/call", {"name": "act", "arguments": {"command": "right"}, "session_id": "nobody"})

    id = rpc("openenv/session/create")["result"]["session_id"]
    socket = WebSocket(s.port, f"/openenv/dummy/ws?session_id={id}")
    socket.ask({"type": "reset", "data": {"index": 3}})
    assert rpc("tools/call", {"name": "act", "arguments": {"command": "right"}, "session_id": id})["result"]["step_count"] == 1
    assert socket.ask({"type": "state"})["data"]["step_count"] == 1
    reply = socket.ask({"type": "mcp", "data": {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "act", "arguments": {"command": "right"}}}})
    assert reply["type"] == "mcp" and reply["data"]["id"] == 9 and reply["data"]["result"]["step_count"] == 2
    assert socket.ask({"type": "mcp", "data": {}})["data"]["error"]["code"] == -32600
    listed = socket.ask({"type": "step", "data": {"type": "list_tools"}})["data"]["observation"]["tools"]
    assert all("input_schema" in tool for tool in listed)
    for taken in [id, "nobody"]:
        second = WebSocket(s.port, f"/openenv/dummy/ws?session_id={taken}")
        assert code(second.hear()) == "SESSION_ERROR" and second.close_code() == 1000
    assert rpc("openenv/session/close", {"session_id": id})["result"] == {"session_id": id, "closed": False, "closing": True}
    assert socket.ask({"type": "state"})["data"]["step_count"] == 2  # until it detaches
    socket.frame(8, struct.pack(">H", 1000))
    assert socket.close_code() == 1000
    time.sleep(0.3)
    gone = WebSocket(s.port, f"/openenv/dummy/ws?session_id={id}")
    gone.say({"type": "state"})
    assert code(gone.hear()) == "SESSION_ERROR"
    # Closed without a socket; a socket that left can come back before.
    id = rpc("openenv/session/create")["result"]["session_id"]
    for steps in range(2):
        socket = WebSocket(s.port, f"/openenv/dummy/ws?session_id={id}")
        if steps == 0:
            socket.ask({"type": "reset", "data": {"index": 3}})
            socket.ask({"type": "step", "data": {"command": "left"}})
        assert socket.ask({"type": "state"})["data"]["step_count"] == 1
        socket.close()
        time.sleep(0.2)
    assert rpc("openenv/session/close", {"session_id": id})["result"] == {"session_id": id, "closed": True}
    assert "error" in rpc("openenv/session/close", {"session_id": id})
    # JSON-RPC alone over a WebSocket.
    socket = WebSocket(s.port, "/openenv/dummy/mcp")
    assert len(socket.ask({"jsonrpc": "2.0", "id": 5, "method": "tools/list"})["result"]["tools"]) == len(tools)


def test_task_routes(s):
    for mount, name in [("", "dummy"), ("/openenv/sokoban", "sokoban"), ("/openenv/webshop", "webshop"), ("/openenv/alfworld", "alfworld")]:
        assert ask(s.port, "GET", f"{mount}/list_environments") == (200, [name])
        splits = ask(s.port, "GET", f"{mount}/{name}/splits")[1]
        assert splits and all(split["type"] in ("train", "validation", "test") for split in splits)
        split = splits[0]["name"]
        count = ask(s.port, "POST", f"{mount}/{name}/num_tasks", {"split": split})[1]["num_tasks"]
        assert count > 0
        task = ask(s.port, "POST", f"{mount}/{name}/task", {"split": split, "index": 1})[1]["task"]
        listed = ask(s.port, "POST", f"{mount}/{name}/task_range", {"split": split, "start": 1, "stop": 3})[1]["tasks"]
        assert listed[0] == task and len(listed) == min(2, count - 1)
        assert ask(s.port, "POST", f"{mount}/{name}/task_range", {"split": split, "start": count, "stop": count + 5})[1] == {"tasks": []}
        status, all_of_them = ask(s.port, "POST", f"{mount}/{name}/tasks", {"split": split})
        assert status == 501 or (len(all_of_them["tasks"]) == count and all_of_them["env_name"] == name)
        for path, body, status in [("none/splits", None, 404), (f"{name}/task", {"split": split, "index": count}, 400), (f"{name}/task", {"split": split, "index": -1}, 400),
                                   (f"{name}/task", {"split": split}, 422), (f"{name}/task", {"index": 0}, 422), (f"{name}/num_tasks", {}, 422), (f"{name}/tasks", {}, 422),
                                   (f"{name}/task", {"split": split, "index": "0"}, 422), ("none/tasks", {"split": split}, 404), (f"{name}/num_tasks", {"split": "none"}, 400)]:
            got, reply = ask(s.port, "GET" if body is None else "POST", f"{mount}/{path}", body)
            assert got == status and isinstance(reply, dict), (path, body, got, reply)
        socket = WebSocket(s.port, f"{mount}/ws")
        result = socket.ask({"type": "reset", "data": {"split": split, "index": 1}})["data"]
        assert result["metadata"]["task_id"] == task["task_id"]


def test_web_routes_only_when_switched_on(program):
    with Server(program, "--env", "dummy,sokoban", "--web") as s:
        for mount in ["", "/openenv/dummy", "/openenv/sokoban"]:
            assert ask(s.port, "GET", f"{mount}/web/metadata")[1] == ask(s.port, "GET", f"{mount}/metadata")[1]
        assert ask(s.port, "GET", "/web/state")[0] == 409 and ask(s.port, "POST", "/web/step", {"action": {"command": "left"}})[0] == 409
        read_result(ask(s.port, "POST", "/web/reset", {"index": 3, "episode_id": "w"})[1])
        read_result(ask(s.port, "POST", "/web/step", {"action": {"command": "left"}})[1], True)
        state = ask(s.port, "GET", "/web/state")[1]
        assert (state["episode_id"], state["step_count"]) == ("w", 1)
        assert ask(s.port, "POST", "/web/step", {})[0] == 422 and ask(s.port, "POST", "/web/step", {"action": {"command": 1}})[0] == 422
        assert ask(s.port, "GET", "/web/reset")[0] == 405 and ask(s.port, "GET", "/openenv/sokoban/web/state")[0] == 409
        read_result(ask(s.port, "POST", "/web/reset")[1])


# ---- AgentGym: each request on a connection of its own ----

def test_agentgym_alfworld(s):
    base = "/agentgym/alfworld"
    assert ask(s.port, "GET", base + "/")[0] == 200
    assert ask(s.port, "POST", base + "/create", {"any": 1})[0] == 200
    ids = [ask(s.port, "POST", base + "/create")[1]["id"] for _ in range(50)]
    assert len(set(ids)) == 50 and all(isinstance(id, int) and 0 <= id < 2**31 for id in ids) and ids != sorted(ids)
    id = ids[0]

    def told(path, body):
        status, reply = ask(s.port, "POST", base + path, body)
        assert status == 200 and list(reply) == ["error"] and isinstance(reply["error"], str), (path, body, status, reply)
    told("/step", {"id": id, "action": "look"})
    told("/reset", {"id": id, "game": 0, "world_type": "Moon"})
    for game in [2620, 10**6, -1]:
        told("/reset", {"id": id, "game": game, "world_type": "Text"})
    told("/step", {"id": 2**31 + 5, "action": "look"})
    told("/reset", {"id": 2**31 + 5, "game": 0, "world_type": "Text"})
    for world in ["Text", "Embody", "Hybrid"]:
        status, reply = ask(s.port, "POST", base + "/reset", {"id": id, "game": 0, "world_type": world})
        assert status == 200 and set(reply) == {"id", "observation", "available_actions", "task_type"} and reply["id"] == id
    lines = reply["observation"].split("\n")
    assert lines[-1].startswith("Your task is to: ") and "" not in lines and "Welcome" not in lines[0]
    assert re.fullmatch(r"[^/]+/[^/]+", reply["task_type"]) and reply["available_actions"] == sorted(reply["available_actions"])
    assert ask(s.port, "GET", f"{base}/available_actions?id={id}")[1] == reply["available_actions"]
    assert ask(s.port, "GET", f"{base}/observation?id={id}")[1] == reply["observation"]
    step = ask(s.port, "POST", base + "/step", {"id": id, "action": "fly to the moon"})[1]
    assert set(step) == {"observation", "reward", "available_actions", "done"} and step["observation"] == "Nothing happens." and step["reward"] == 0 and step["done"] is False
    go = next(a for a in reply["available_actions"] if a.startswith("go to "))
    moved = ask(s.port, "POST", base + "/step", {"id": id, "action": go})[1]
    assert not moved["observation"].startswith("You arrive at loc") and moved["available_actions"] != reply["available_actions"]
    detail = ask(s.port, "GET", f"{base}/detail?id={id}")[1]
    assert set(detail) == {"world_type", "game", "observation", "available_actions", "done", "reward", "deleted"} and (detail["world_type"], detail["game"]) == ("Hybrid", 0)
    for path, body in [("/step", {}), ("/step", {"id": id}), ("/step", {"id": "x", "action": "look"}), ("/reset", {"id": id, "game": 0}), ("/reset", []), ("/close", {}), ("/step", b"x"), ("/step", b"")]:
        status, reply = ask(s.port, "POST", base + path, body)
        assert status == 422 and isinstance(reply, dict), (path, body, status)
    assert ask(s.port, "GET", base + "/observation")[0] == 422
    assert ask(s.port, "POST", base + "/close", {"id": id}) == (200, True)
    assert ask(s.port, "POST", base + "/close", {"id": id}) == (200, False)
    assert ask(s.port, "POST", base + "/close", {"id": 7_000_000_000}) == (200, False)
    told("/step", {"id": id, "action": "look"})
    for other in ids[1:]:
        assert ask(s.port, "POST", base + "/close", {"id": other})[1] is True


def test_agentgym_webshop(s):
    base = "/agentgym/webshop"
    assert ask(s.port, "GET", base + "/") == (200, "ok")
    a, b = (ask(s.port, "POST", base + "/create")[1] for _ in range(2))
    assert isinstance(a, int) and a != b and {a, b} <= set(ask(s.port, "GET", base + "/list_envs")[1])
    first = []
    for shop in (a, b):
        reply = ask(s.port, "POST", base + "/reset", {"env_idx": shop, "session_id": 3})[1]
        assert isinstance(reply, list) and len(reply) == 2 and reply[1] is None
        assert reply[0].startswith("WebShop [SEP] Instruction: [SEP] ") and reply[0].endswith(" [SEP] Search")
        assert reply[0] == ask(s.port, "GET", f"{base}/observation?env_idx={shop}")[1]
        first.append((reply[0], ask(s.port, "GET", f"{base}/instruction_text?env_idx={shop}")[1]))
    assert first[0] == first[1]
    assert ask(s.port, "GET", f"{base}/available_actions?env_idx={a}")[1] == {"has_search_bar": True, "clickables": ["search"]}
    for body in [{"env_idx": a, "action": "click[no such thing]"}, {"env_idx": a, "action": "nonsense"}, {"env_idx": a, "action": ""}]:
        step = ask(s.port, "POST", base + "/step", body)[1]
        assert set(step) == {"state", "reward", "done", "info"} and step["reward"] == 0 and step["done"] is False and step["info"] is None
        assert step["state"] == first[0][0]
    found = ask(s.port, "POST", base + "/step", {"env_idx": a, "action": "search[shirt]"})[1]
    assert found["state"] != first[0][0] and found["state"] == ask(s.port, "GET", f"{base}/observation?env_idx={a}")[1]
    actions = ask(s.port, "GET", f"{base}/available_actions?env_idx={a}")[1]
    assert actions["has_search_bar"] is False and "back to search" in actions["clickables"]
    state = ask(s.port, "GET", f"{base}/state?env_idx={a}")[1]
    assert set(state) == {"url", "html", "instruction_text"} and "<" in state["html"] and state["url"]
    # To the end: the reward is a finite number, then the shop can be reset.
    item = next(c for c in actions["clickables"] if c not in ("back to search", "next >", "< prev"))
    ask(s.port, "POST", base + "/step", {"env_idx": a, "action": f"click[{item}]"})
    bought = ask(s.port, "POST", base + "/step", {"env_idx": a, "action": "click[buy now]"})[1]
    assert bought["done"] is True and 0 <= bought["reward"] <= 1
    for any_goal in [{"env_idx": a}, {"env_idx": a, "session_id": None}]:
        assert ask(s.port, "POST", base + "/reset", any_goal)[0] == 200
    unknown = 2**31 + 1
    for method, path, body in [("POST", "/step", {"env_idx": unknown, "action": "x"}), ("POST", "/reset", {"env_idx": unknown}), ("GET", f"/observation?env_idx={unknown}", None),
                               ("GET", f"/state?env_idx={unknown}", None), ("GET", f"/available_actions?env_idx={unknown}", None), ("GET", f"/instruction_text?env_idx={unknown}", None)]:
        status, reply = ask(s.port, method, base + path, body)
        assert status == 404 and isinstance(reply, dict), (path, status, reply)
    for body in [{}, {"env_idx": a}, {"env_idx": "x", "action": "y"}, b"x"]:
        assert ask(s.port, "POST", base + "/step", body)[0] == 422
    for shop in (a, b):
        assert ask(s.port, "POST", base + "/close", {"env_idx": shop}) == (200, True)
        assert ask(s.port, "POST", base + "/step", {"env_idx": shop, "action": "x"})[0] == 404


def test_agentgym_webshop_goals_are_those_of_every_process(program):
    texts = []
    for _ in range(2):
        with Server(program, "--env", "webshop") as s:
            shop = ask(s.port, "POST", "/agentgym/webshop/create")[1]
            texts.append([ask(s.port, "POST", "/agentgym/webshop/reset", {"env_idx": shop, "session_id": n})[1][0] for n in range(20)])
    assert texts[0] == texts[1] and len(set(texts[0])) > 1


def test_agentgym_sokoban(s):
    base = "/agentgym/sokoban"
    id = ask(s.port, "POST", base + "/create")[1]["id"]
    assert "error" in ask(s.port, "POST", base + "/step", {"id": id, "action": "up"})[1]
    reply = ask(s.port, "POST", base + "/reset", {"id": id, "data_idx": 4})[1]
    assert set(reply) == {"observation", "reward", "score", "done"} and reply["reward"] == 0 and reply["score"] == 0 and reply["done"] is False
    total = 0
    for action in ["up", "down", "left", "right", "nonsense", ""]:
        step = ask(s.port, "POST", base + "/step", {"id": id, "action": action})[1]
        assert set(step) == set(reply)
        total += step["reward"]
        assert abs(step["score"] - total) < 1e-9 and ask(s.port, "GET", f"{base}/observation?id={id}")[1] == step["observation"]
    again = ask(s.port, "POST", base + "/reset", {"id": id, "data_idx": 4})[1]
    assert again == reply
    assert "error" in ask(s.port, "POST", base + "/reset", {"id": id, "data_idx": -1})[1]
    assert "error" in ask(s.port, "POST", base + "/step", {"id": id + 1 if id < 2**31 - 2 else 0, "action": "up"})[1]
    assert ask(s.port, "POST", base + "/reset", {"id": id})[0] == 422
    assert ask(s.port, "POST", base + "/close", {"id": id}) == (200, True)
    assert ask(s.port, "POST", base + "/close", {"id": id}) == (200, False)


# ---- /v1 ----

def failed(reply, *codes):
    status, body = reply
    assert 400 <= status < 500 and isinstance(body["error"]["code"], str) and isinstance(body["error"]["message"], str), reply
    assert not codes or body["error"]["code"] in codes, reply
    return status


def test_native_sessions(s):
    def post(path, body=None):
        return ask(s.port, "POST", "/v1" + path, body)
    status, made = post("/sessions", {"env": "dummy", "seed": 1, "split": "train", "index": 3, "max_steps": 4, "group": "g7"})
    id = made["session_id"]
    assert status == 201 and re.fullmatch(r"[0-9a-f]{32}", id)
    assert failed(post(f"/sessions/{id}/step", {"action": "left"})) == 409
    status, first = post(f"/sessions/{id}/reset", {"seed": 1})
    assert status == 200 and first["step_count"] == 0 and isinstance(first["episode_id"], str) and isinstance(first["state_key"], str)
    status, one = post(f"/sessions/{id}/step", {"action": "right", "step_id": 1})
    assert status == 200 and one["step_count"] == 1 and one["action_valid"] is True and one["terminated"] is False and one["truncated"] is False
    assert post(f"/sessions/{id}/step", {"action": "left", "step_id": 1}) == (200, one)  # another action changes nothing: it was answered
    for step_id in [3, 10**6]:
        assert failed(post(f"/sessions/{id}/step", {"action": "right", "step_id": step_id}), "STEP_ID_CONFLICT") == 409
    assert post(f"/sessions/{id}/step", {"action": "dance", "step_id": 2})[1]["action_valid"] is False
    assert failed(post(f"/sessions/{id}/step", {"action": "right", "step_id": 1})) == 409
    for bad in [{}, {"action": 3}, {"action": "x", "step_id": 0}, {"action": "x", "step_id": -1}, {"action": "x", "step_id": 1.5}, {"action": "x", "step_id": "1"}, {"action": "x", "more": 1}]:
        assert failed(post(f"/sessions/{id}/step", bad)) == 400
    shown = ask(s.port, "GET", f"/v1/sessions/{id}")[1]
    assert (shown["env"], shown["step_count"], shown["done"]) == ("dummy", 2, False) and shown["idle_seconds"] >= 0
    post(f"/sessions/{id}/step", {"action": "dance"})
    last = post(f"/sessions/{id}/step", {"action": "dance"})[1]
    assert last["done"] and last["truncated"] and not last["terminated"]
    after = post(f"/sessions/{id}/step", {"action": "right"})[1]
    assert after["reward"] == 0 and after["done"] and after["observation"] == last["observation"] and after["step_count"] == 4
    # Steps start at 1 again after a reset.
    post(f"/sessions/{id}/reset")
    assert post(f"/sessions/{id}/step", {"action": "right", "step_id": 1})[0] == 200
    snapshot = post(f"/sessions/{id}/snapshot")[1]["snapshot"]
    assert isinstance(snapshot, str)
    copies = post(f"/sessions/{id}/fork", {"count": 4})[1]["sessions"]
    assert len(set(copies)) == 4
    ends = {json.dumps(post(f"/sessions/{copy}/step", {"action": "right", "step_id": 2})[1]["observation"], sort_keys=True) for copy in copies + [id]}
    assert len(ends) == 1
    assert ask(s.port, "DELETE", f"/v1/sessions/{id}") == (200, {"closed": True})
    assert ask(s.port, "DELETE", f"/v1/sessions/{id}") == (200, {"closed": True})
    for path in ["reset", "step", "snapshot", "fork"]:
        assert failed(post(f"/sessions/{id}/{path}", {"action": "x"} if path == "step" else None)) == 410
        assert failed(post(f"/sessions/{'0' * 32}/{path}", {"action": "x"} if path == "step" else None), "NO_SESSION") == 404
        assert failed(post(f"/sessions/not-an-id/{path}", {"action": "x"} if path == "step" else None), "NO_SESSION") == 404
    assert failed(ask(s.port, "GET", f"/v1/sessions/{id}")) == 410 and failed(ask(s.port, "DELETE", "/v1/sessions/x")) == 404
    assert failed(post("/sessions", {"env": "none"})) == 404 and failed(post("/sessions", {"env": "dummy", "index": 99})) in (400, 404)
    assert failed(post("/sessions", {"env": "dummy", "sed": 1})) == 400


def test_native_batches_and_groups(s):
    def post(path, body=None):
        return ask(s.port, "POST", "/v1" + path, body)
    ids = [post("/sessions", {"env": "dummy"})[1]["session_id"] for _ in range(6)]
    status, reply = post("/batch/reset", {"sessions": ids, "groups": [{"index": 0, "size": 2}, {"index": 3, "size": 4}]})
    results = reply["results"]
    assert status == 200 and len(results) == 6 and results[0]["observation"] == results[1]["observation"] != results[2]["observation"]
    results = post("/batch/step", {"sessions": ids + ["gone"], "actions": ["right"] * 7, "step_ids": [1] * 6 + [None]})[1]["results"]
    assert [r.get("done") for r in results] == [True, True, False, False, False, False, None] and results[6]["error"]["code"] == "NO_SESSION"
    again = post("/batch/step", {"sessions": ids, "actions": ["right"] * 6, "step_ids": [1, 1, 1, 1, 3, 2]})[1]["results"]
    assert again[:4] == results[:4] and again[4]["error"]["code"] == "STEP_ID_CONFLICT" and again[5]["step_count"] == 2
    finished = post("/batch/step", {"sessions": ids[:1], "actions": ["left"]})[1]["results"][0]
    assert finished["reward"] == 0 and finished["done"] and finished["observation"] == results[0]["observation"]
    for bad in [{}, {"sessions": ids}, {"sessions": ids, "actions": ["x"]}, {"sessions": "x", "actions": []}, {"sessions": ids, "actions": ["x"] * 6, "step_ids": [1]}]:
        assert failed(post("/batch/step", bad)) == 400
    status, made = post("/groups", {"env": "dummy", "tasks": ["0", "3"], "group_size": 2, "max_steps": 9})
    assert status == 201 and [g["task"] for g in made["groups"]] == ["0", "3"] and all(len(g["sessions"]) == 2 for g in made["groups"]) and len(made["observations"]) == 4
    group = made["group_set_id"]
    one = post(f"/groups/{group}/step", {"actions": ["right", "left", "right", "right"], "step_id": 1})[1]
    assert one["rewards"] == [1, 0, 0, 0] and one["dones"] == [True, False, False, False]
    assert post(f"/groups/{group}/step", {"actions": ["left"] * 4, "step_id": 1})[1] == one
    assert failed(post(f"/groups/{group}/step", {"actions": ["left"] * 4, "step_id": 3}), "STEP_ID_CONFLICT") == 409
    two = post(f"/groups/{group}/step", {"actions": ["left"] * 4, "step_id": 2})[1]
    assert two["rewards"][0] == 0 and two["dones"][0] is True and two["observations"][0] == one["observations"][0]
    for estimator in ["graphgpo", "gigpo", "hgpo", "grpo", "rloo"]:
        credit = ask(s.port, "GET", f"/v1/groups/{group}/advantages?estimator={estimator}")[1]
        # Recorded steps: the member that was done has one, the others two.
        assert len(credit["advantages"]) == 7 and {"task", "episode", "t", "advantage"} <= set(credit["advantages"][0]) and "diagnostics" in credit
    assert failed(ask(s.port, "GET", f"/v1/groups/{group}/advantages?estimator=none")) == 400
    assert failed(ask(s.port, "GET", "/v1/groups/none/advantages")) == 404 and failed(post("/groups/none/step", {"actions": []})) == 404
    assert failed(post(f"/groups/{group}/step", {"actions": ["left"]})) == 400
    assert ask(s.port, "DELETE", f"/v1/groups/{group}") == (200, {"closed": True})
    drawn = [post("/groups", {"env": "sokoban", "split": "train", "count": 2, "seed": 5, "group_size": 2})[1] for _ in range(2)]
    assert drawn[0]["observations"] == drawn[1]["observations"] and drawn[0]["observations"][0] == drawn[0]["observations"][1]


def test_native_stream_and_lists(s):
    stream = WebSocket(s.port, "/v1/stream")
    made = stream.ask({"id": "a", "path": "/v1/sessions", "body": {"env": "dummy", "index": 3}})
    assert (made["id"], made["status"]) == ("a", 201)
    path = f"/v1/sessions/{made['body']['session_id']}"
    assert stream.ask({"id": 2, "method": "POST", "path": path + "/reset"})["status"] == 200
    for i in range(50):
        stream.say({"id": {"n": i}, "path": path + "/step", "body": {"action": "left" if i % 2 else "right"}})
    assert sorted(stream.hear()["id"]["n"] for _ in range(50)) == list(range(50))
    for bad in [b"{", b"[]", b"{}", {"id": 7, "path": 3}, {"id": 7, "path": "/v1/none"}, {"id": 7, "path": "/health"}, {"id": 7, "method": "PUT", "path": "/v1/sessions"}]:
        assert 400 <= stream.ask(bad)["status"] < 500
    limits = ask(s.port, "GET", "/v1/limits")[1]
    assert {"body", "message", "header", "path", "max_sessions", "max_sessions_per_client", "queued_messages", "step_time"} <= set(limits)
    assert all(set(limit) == {"value", "unit"} for limit in limits.values())
    document = ask(s.port, "GET", "/v1/openapi.json")[1]
    assert document["openapi"].startswith("3.1") and document["info"]["version"]
    for path, methods in document["paths"].items():  # what the document promises is there
        for method in methods:
            status, reply = ask(s.port, method.upper(), re.sub(r"\{\w+\}", "none", path))
            assert status not in (405, 500) and not (status == 404 and reply["error"]["code"] == "NOT_FOUND"), (method, path, status, reply)
    assert {env["name"] for env in ask(s.port, "GET", "/v1/envs")[1]["envs"]} == {"dummy", "sokoban", "alfworld", "webshop"}
    assert ask(s.port, "GET", "/v1/tasks?env=dummy&split=train&offset=2&limit=3")[1]["tasks"] == ["2", "3", "4"]
    metrics = Raw(s.port).send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").reply()
    assert metrics[0] == 200 and metrics[1]["content-type"].startswith("text/plain") and b"# TYPE" in metrics[2]


def test_recordings(program):
    with tempfile.TemporaryDirectory() as folder:
        with Server(program, "--env", "dummy", "--record", f"{folder}/run.db") as s:
            id = ask(s.port, "POST", "/v1/sessions", {"env": "dummy", "index": 0, "seed": 3})[1]["session_id"]
            for _ in range(2):
                ask(s.port, "POST", f"/v1/sessions/{id}/reset")
                ask(s.port, "POST", f"/v1/sessions/{id}/step", {"action": "right"})
            assert [r["recording_id"] for r in ask(s.port, "GET", "/v1/recordings")[1]["recordings"]] == ["current"]
            shown = ask(s.port, "GET", "/v1/recordings/current")[1]
            assert (shown["episodes"], shown["steps"], shown["summary"]["successes"]) == (2, 2, 2), shown
            episodes = ask(s.port, "GET", "/v1/recordings/current/episodes?offset=1")[1]
            assert episodes["total"] == 2 and [e["member"] for e in episodes["episodes"]] == [1] and episodes["episodes"][0]["outcome"] == "success"
            raw = Raw(s.port).send("GET /v1/recordings/current/rows?format=jsonl HTTP/1.1\r\nHost: x\r\n\r\n")
            rows = raw.reply()[2]
            csv = raw.send("GET /v1/recordings/current/rows?format=csv&group=0 HTTP/1.1\r\nHost: x\r\n\r\n").reply()[2]
            assert len(csv.splitlines()) == 3
            for name in ["none", "%2e%2e", "..%2frun.db", "run.db", "%2fetc%2fpasswd"]:
                assert failed(ask(s.port, "GET", f"/v1/recordings/{name}/rows")) == 404
            assert failed(ask(s.port, "GET", "/v1/recordings/current/rows?format=exe")) == 400
            assert s.stop() == 143
        import subprocess
        subprocess.run([program, "export", f"{folder}/run.db", "--out", f"{folder}/rows"], check=True, capture_output=True)
        assert pathlib.Path(f"{folder}/rows").read_bytes() == rows
    with Server(program, "--env", "dummy") as s:
        assert ask(s.port, "GET", "/v1/recordings") == (200, {"recordings": []})
        assert failed(ask(s.port, "GET", "/v1/recordings/current")) == 404


# ---- life, death, isolation ----

def test_a_full_server_says_so(program):
    with Server(program, "--env", "dummy,sokoban", "--max-sessions", "3") as s:
        held = [WebSocket(s.port) for _ in range(3)]
        for socket in held:
            socket.ask({"type": "reset"})
        refused = WebSocket(s.port)
        refused.socket.settimeout(1)
        try:
            refused.receive()
            raise AssertionError("a full server speaks before it is spoken to")
        except TimeoutError:
            refused.socket.settimeout(10)
        error = refused.ask({"type": "reset"})["data"]
        assert error["code"] == "CAPACITY_REACHED" and (error["active_sessions"], error["max_sessions"]) == (3, 3) and "max_sessions" in error["message"]
        refused.receive()
        status, reply = ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})
        assert status == 503 and reply["error"]["code"] == "CAPACITY_REACHED" and "--max-sessions" in reply["error"]["message"]
        assert "error" in ask(s.port, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"})[1]
        assert "error" in ask(s.port, "POST", "/agentgym/sokoban/create")[1]
        assert ask(s.port, "POST", "/reset")[0] == 200  # has an environment of its own
    with Server(program, "--env", "dummy", "--max-sessions-per-client", "1") as s:
        assert ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})[0] == 201
        status, reply = ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})
        assert status == 429 and reply["error"]["code"] == "TOO_MANY_SESSIONS" and "--max-sessions-per-client" in reply["error"]["message"], reply
        assert ask(s.port, "POST", "/v1/groups", {"env": "dummy", "count": 1})[0] == 429
        status, reply = ask(s.port, "POST", "/agentgym/dummy/create")
        assert status == 429 and "max-sessions-per-client" in reply["error"], reply
        error = WebSocket(s.port).ask({"type": "reset"})["data"]
        assert error["code"] == "CAPACITY_REACHED" and error["max_sessions"] == 1 and "max-sessions-per-client" in error["message"], error


def test_requests_wait_in_line_for_a_session(program):
    def later(action, *arguments):
        answer = queue.Queue()
        threading.Thread(target=lambda: answer.put(action(*arguments)), daemon=True).start()
        time.sleep(0.2)  # so that they stand in line in this order
        return answer

    create = "POST", "/v1/sessions", {"env": "dummy"}
    with Server(program, "--env", "dummy", "--max-sessions", "1", "--session-wait", "30") as s:
        held = ask(s.port, *create)[1]["session_id"]
        gone = Raw(s.port)
        gone.send("POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        time.sleep(0.2)
        over_http = later(ask, s.port, *create)
        player = WebSocket(s.port)
        over_ws = later(player.ask, {"type": "reset"})
        agentgym = later(ask, s.port, "POST", "/agentgym/dummy/create")
        stream = later(WebSocket(s.port, "/v1/stream").ask, {"id": 1, "path": "/v1/sessions", "body": {"env": "dummy"}})
        dropped = WebSocket(s.port)
        dropped.say({"type": "reset"})
        time.sleep(0.2)
        last = later(ask, s.port, *create)
        gone.close()  # who is gone stands in nobody's way
        dropped.close()
        for answer in [over_http, over_ws, agentgym, stream, last]:
            assert answer.empty()
        ask(s.port, "DELETE", f"/v1/sessions/{held}")
        status, reply = over_http.get(timeout=20)
        assert status == 201 and over_ws.empty(), reply
        ask(s.port, "DELETE", f"/v1/sessions/{reply['session_id']}")
        assert over_ws.get(timeout=20)["type"] == "observation"
        player.close()
        number = agentgym.get(timeout=20)[1]["id"]
        assert stream.empty()
        ask(s.port, "POST", "/agentgym/dummy/close", {"id": number})
        reply = stream.get(timeout=20)
        assert reply["status"] == 201 and last.empty(), reply
        ask(s.port, "DELETE", f"/v1/sessions/{reply['body']['session_id']}")
        assert last.get(timeout=20)[0] == 201
    with Server(program, "--env", "dummy", "--max-sessions", "1", "--session-wait", "0.3") as s:
        assert ask(s.port, "GET", "/v1/limits")[1]["session_wait"]["value"] == 0.3
        ask(s.port, *create)
        begin = time.monotonic()
        status, reply = ask(s.port, *create)
        assert status == 503 and reply["error"]["code"] == "CAPACITY_REACHED" and time.monotonic() - begin >= 0.3, reply
        socket = WebSocket(s.port)
        assert socket.ask({"type": "state"})["data"]["code"] == "CAPACITY_REACHED"
        assert socket.close_code() == 1000
        socket.close()
        assert ask(s.port, "POST", "/v1/groups", {"env": "dummy", "count": 1})[0] == 503  # groups are refused at once
        waiting = later(ask, s.port, *create)
        assert s.stop() == 143
        assert waiting.get(timeout=20)[0] == 503


def test_sessions_do_not_touch_each_other(s):
    a, b = WebSocket(s.port), WebSocket(s.port)
    for socket in (a, b):
        socket.ask({"type": "reset", "data": {"index": 0}})
    assert a.ask({"type": "step", "data": {"command": "right"}})["data"]["reward"] == 1
    for junk in ["", "right left", "x" * 1000]:
        reply = b.ask({"type": "step", "data": {"command": junk}})["data"]
        assert reply["reward"] == 0 and reply["done"] is False and "cell 5" in reply["observation"]["text"]


def test_killed_while_recording(program):
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run.db"
        for how in [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]:
            with Server(program, "--env", "dummy", "--record", run) as s:
                before = ask(s.port, "GET", "/v1/recordings/current")[1]["steps"]
                sockets = [WebSocket(s.port) for _ in range(16)]
                done = 0
                for turn in range(30):
                    for socket in sockets:
                        socket.say({"type": "reset", "data": {"index": 0, "seed": turn}})
                        socket.say({"type": "step", "data": {"command": "right"}})
                    if turn == 29:
                        break
                    for socket in sockets:
                        socket.hear()
                        done += socket.hear()["data"]["done"]
                s.stop(how)  # in the middle of the last turn
            with Server(program, "--env", "dummy", "--record", run) as s:
                assert ask(s.port, "GET", "/v1/recordings/current")[1]["summary"]["successes"] >= before + done


def main():
    program = sys.argv[1]
    os.environ["LC_ALL"] = "C"
    chosen = sys.argv[2:]
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and (not chosen or name in chosen)]
    failures = 0
    with Server(program, "--env", "dummy,sokoban,alfworld,webshop") as shared:
        for name, test in tests:
            begin = time.monotonic()
            try:
                test(program if test.__code__.co_varnames[0] == "program" else shared)
            except Exception as error:  # the others are still of interest
                import traceback
                traceback.print_exc()
                failures += 1
                print(f"{name}: FAILED {error!r}"[:500], flush=True)
                continue
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
