#!/usr/bin/env python3
"""The server's rules for HTTP and WebSocket framing, over bare sockets: usage: serve_sockets.py PROGRAM"""
import json
import os
import pathlib
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import KEY, Raw, Server, WebSocket, ask  # noqa: E402

RESET = {"type": "reset", "data": {"index": 3}}


def settles(condition):
    """True as soon as it is, within the time that closed connections take to go."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def test_keep_alive_and_pipelining(s):
    raw = Raw(s.port)
    raw.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\nPOST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
             "GET /health HTTP/1.0\r\n\r\n")
    assert [raw.reply()[0] for _ in range(4)] == [200, 404, 200, 200]
    assert raw.closed()


def test_chunked_bodies(s):
    raw = Raw(s.port)
    head = "POST /dummy/num_tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw.send(head + "3;name=\"v;\"\r\n{\"s\r\n").send("b\r\nplit\":\"trai\r\n3\r\nn\"}\r\n0\r\nX-Trailer: 1\r\n\r\n")
    assert raw.reply()[2] == b'{"num_tasks":10}'
    raw.send(head + "zz\r\n")
    assert raw.reply()[0] == 400 and raw.closed()


def test_expect_continue(s):
    raw = Raw(s.port)
    raw.send("POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert raw.reply()[0] == 100
    raw.send("{}")
    assert raw.reply()[0] == 200
    raw.send(f"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: {17 << 20}\r\nExpect: 100-continue\r\n\r\n")
    assert raw.reply()[0] == 413 and raw.closed()


def test_bad_framing_is_refused_and_closed(s):
    for status, request in [
        (400, "GET /health HTTP/1.1\r\n\r\n"),
        (400, "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        (400, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"),
        (505, "GET /health HTTP/2.0\r\nHost: x\r\n\r\n"),
        (505, "GET /health HTTP/1.2\r\nHost: x\r\n\r\n"),
        (400, "GET /health HTTP/1.1\r\nHost : x\r\n\r\n"),
        (400, "GET  /health HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        (413, f"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: {(16 << 20) + 1}\r\n\r\n"),
        (413, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n"),
        (413, "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2000000\r\n"),
        (431, "GET /health HTTP/1.1\r\nHost: x\r\nX: " + "y" * 70000 + "\r\n\r\n"),
        (431, "GET /health HTTP/1.1\r\nHost: x\r\n" + "X: y\r\n" * 12000 + "\r\n"),
        (414, "GET /" + "y" * 9000 + " HTTP/1.1\r\nHost: x\r\n\r\n"),
        (414, "GET /" + "y" * 90000 + " HTTP/1.1\r\nHost: x\r\n\r\n"),
    ]:
        raw = Raw(s.port)
        raw.send(request)
        got, headers, body = raw.reply()
        assert got == status, (got, status, request[:80])
        assert isinstance(json.loads(body), dict), request[:80]
        assert headers["connection"] == "close" and raw.closed()


def test_paths(s):
    for path in ["/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/a%00b", "/a%5Cb", "/nothing", "/openenv/none/health"]:
        assert ask(s.port, "GET", path)[0] == 404, path
    assert ask(s.port, "PUT", "/reset")[0] == 405
    assert ask(s.port, "GET", "/openenv/dummy/health") == (200, {"status": "healthy"})


def test_slow_header_is_dropped_in_time(s):
    begin = time.monotonic()
    stopped, trickling, silent = Raw(s.port), Raw(s.port), Raw(s.port)
    stopped.send("GET /health HTTP/1.1\r\nHos")
    try:
        while time.monotonic() - begin < 15:
            trickling.send("x")
            time.sleep(0.2)
        raise AssertionError("a header that trickles in was waited for")
    except ConnectionError:
        pass
    assert stopped.closed() and silent.closed()
    assert 8 < time.monotonic() - begin < 15


def test_a_body_must_make_progress(s):
    if not os.environ.get("LODESTEP_LONG"):
        return  # half a minute
    begin = time.monotonic()
    raw = Raw(s.port, timeout=50)
    raw.send("POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert raw.closed()
    assert 28 < time.monotonic() - begin < 40


def test_bad_handshakes(s):
    good = {"Host": "x", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13"}
    for change, status in [({"Sec-WebSocket-Key": "short"}, 400), ({"Sec-WebSocket-Key": None}, 400), ({"Connection": "keep-alive"}, 400),
                           ({"Sec-WebSocket-Version": "8"}, 426), ({"Sec-WebSocket-Version": None}, 400)]:
        raw = Raw(s.port)
        headers = {**good, **change}
        raw.send("GET /ws HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items() if v is not None) + "\r\n")
        assert raw.reply()[0] == status, change
        raw.close()
    assert WebSocket(s.port, "/nothing").status == 404
    plain = WebSocket(s.port, headers="Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nAuthorization: Bearer x\r\n")
    assert plain.status == 101 and "sec-websocket-extensions" not in plain.headers
    assert plain.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_protocol_errors_close_with_their_codes(s):
    def after(*frames):
        socket = WebSocket(s.port)
        for kind, options in frames:
            socket.frame(kind, **options)
        return socket.close_code()

    text = b'{"type":"state"}'
    assert after((1, {"payload": text, "masked": False})) == 1002
    assert after((1, {"payload": text, "reserved": 4})) == 1002
    assert after((3, {"payload": text})) == 1002
    assert after((11, {})) == 1002
    assert after((9, {"payload": b"x", "fin": False})) == 1002
    assert after((9, {"payload": b"x" * 126})) == 1002
    assert after((0, {"payload": text})) == 1002
    assert after((1, {"payload": b"{", "fin": False}), (1, {"payload": text})) == 1002
    assert after((8, {"payload": struct.pack(">H", 1005)})) == 1002
    assert after((8, {"payload": struct.pack(">H", 99)})) == 1002
    assert after((8, {"payload": b"x"})) == 1002
    assert after((1, {"payload": b'"\xff"'})) == 1007
    assert after((1, {"payload": b'"\xed\xa0\x80"'})) == 1007
    assert after((1, {"size": (16 << 20) + 1})) == 1009
    assert after((1, {"payload": b"x" * 100, "fin": False}), (0, {"size": 16 << 20})) == 1009


def test_fragments_and_control_frames_between(s):
    socket = WebSocket(s.port)
    socket.frame(1, b'{"type":"re', fin=False).frame(9, b"now").frame(0, b"", fin=False).frame(0, b'set","data":{"index":3}}')
    assert socket.receive() == (10, b"now")
    assert socket.hear()["type"] == "observation"
    socket.frame(2, b'{"type":"state"}')  # binary is read as text
    assert socket.hear()["type"] == "state"


def test_messages_are_answered_in_order(s):
    socket = WebSocket(s.port)
    socket.ask(RESET)
    for i in range(200):
        socket.say({"type": "state"} if i % 2 else {"type": "step", "data": {"command": "left" if i % 4 else "right"}})
    assert [socket.hear()["type"] for _ in range(200)] == ["observation", "state"] * 100


def test_close_ends_session_and_connection_at_once(s):
    socket = WebSocket(s.port)
    socket.say({"type": "close"})
    begin = time.monotonic()
    assert socket.close_code() == 1000
    socket.frame(8, struct.pack(">H", 1000))
    assert socket.closed() and time.monotonic() - begin < 2
    socket = WebSocket(s.port)
    socket.frame(8, struct.pack(">H", 1000))
    assert socket.close_code() == 1000
    assert socket.closed() and time.monotonic() - begin < 4


def test_a_freed_place_is_usable_within_a_second(program):
    with Server(program, "--env", "dummy", "--max-sessions", "2") as s:
        for how in ["close frame", "close message", "reset", "shutdown"]:
            a, b = WebSocket(s.port), WebSocket(s.port)
            assert a.ask(RESET)["type"] == "observation" and b.ask(RESET)["type"] == "observation"
            refused = WebSocket(s.port)
            error = refused.ask(RESET)
            assert error["data"]["code"] == "CAPACITY_REACHED" and error["data"]["max_sessions"] == 2, error
            assert refused.close_code() == 1000
            if how == "close frame":
                b.frame(8, struct.pack(">H", 1001))
            elif how == "close message":
                b.say({"type": "close"})
            elif how == "reset":
                b.socket.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: close sends a reset
                b.close()
            else:
                b.close()
            time.sleep(0.9)
            c = WebSocket(s.port)
            assert c.ask(RESET)["type"] == "observation", how
            a.close()
            c.close()
            time.sleep(0.9)


def test_a_client_that_does_not_read_costs_bounded_memory(s):
    socket = WebSocket(s.port)
    socket.ask(RESET)
    socket.socket.settimeout(3)
    text = json.dumps({"type": "step", "data": {"command": "left"}}).encode()
    many = (bytes([0x81, 0x80 | len(text)]) + bytes(4) + text) * 10000
    before = s.status("VmRSS")
    blocked = False
    try:
        for _ in range(200):  # two million requests, if all were read
            socket.send(many)
    except TimeoutError:
        blocked = True
    assert blocked, "the server went on reading"
    assert s.status("VmRSS") - before < 80000
    assert ask(s.port, "GET", "/health")[0] == 200
    # When the client reads again, every request it got through is answered.
    assert socket.hear()["type"] == "observation"
    socket.close()


def test_hostile_json(s):
    socket = WebSocket(s.port)
    socket.ask(RESET)
    for text in [b"[" * 100000, b'{"type":' * 20000, b"", b"\x00", b'{"a":1e999}', b'{"type":"step","data":{"command":"x"}}}']:
        assert socket.ask(text)["data"]["code"] in ("INVALID_JSON",), text[:20]
    big = b'{"type":"reset","data":{"index":3,"prompt":"' + b"x" * (15 << 20) + b'"}}'
    assert socket.ask(big)["type"] == "observation"


def test_tokens_and_hosts(program):
    run = subprocess.run([program, "serve", "--env", "dummy", "--host", "0.0.0.0", "--port", "0"], capture_output=True, text=True)
    assert run.returncode == 2 and "--token-file" in run.stderr, run
    with tempfile.NamedTemporaryFile("w", suffix=".tokens") as file:
        file.write("# for the trainer\nsecret-1\n")
        file.flush()
        with Server(program, "--env", "dummy", "--host", "0.0.0.0", "--token-file", file.name) as s:
            assert ask(s.port, "GET", "/health")[0] == 200
            assert ask(s.port, "GET", "/v1/envs")[0] == 401
            assert ask(s.port, "GET", "/v1/envs", headers="Authorization: Bearer secret-1\r\n")[0] == 200
            assert WebSocket(s.port).status == 401
            assert WebSocket(s.port, headers="Authorization: Bearer secret-1\r\n").status == 101


def test_tls(program):
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                               "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], capture_output=True)
        if made.returncode != 0:
            print("    (no openssl program: TLS not tried)")
            return
        with Server(program, "--env", "dummy", "--tls-cert", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem") as s:
            assert s.url.startswith("https://")
            context = ssl.create_default_context(cafile=f"{folder}/cert.pem")
            raw = Raw(s.port)
            raw.socket = context.wrap_socket(raw.socket, server_hostname="localhost")
            raw.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert raw.reply()[2] == b'{"status":"healthy"}'
            raw.send(f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n")
            assert raw.reply(body=False)[0] == 101
            raw.__class__ = WebSocket
            assert raw.ask(RESET)["type"] == "observation"
        bad = subprocess.run([program, "serve", "--env", "dummy", "--port", "0", "--tls-cert", f"{folder}/key.pem", "--tls-key", f"{folder}/key.pem"],
                             capture_output=True, text=True)
        assert bad.returncode == 2 and "certificate" in bad.stderr


def test_stop_is_graceful(program):
    for how, status in [(signal.SIGTERM, 143), (signal.SIGINT, 130)]:
        with Server(program, "--env", "dummy") as s:
            socket = WebSocket(s.port)
            socket.ask(RESET)
            idle = Raw(s.port)
            s.process.send_signal(how)
            assert socket.close_code() == 1001
            socket.frame(8, struct.pack(">H", 1001)).close()
            assert idle.closed()
            assert s.process.wait(timeout=15) == status


def test_a_stop_has_a_limit(program):
    with tempfile.TemporaryDirectory() as folder:
        with Server(program, "--env", "dummy,sokoban", "--record", f"{folder}/run.db", "--stop-timeout", "0.1", "--max-sessions", "100000") as s:
            assert ask(s.port, "GET", "/v1/limits")[1]["stop_time"]["value"] == 0.1
            socket = WebSocket(s.port)
            socket.ask({"type": "reset", "data": {"index": 0}})
            assert socket.ask({"type": "step", "data": {"command": "right"}})["data"]["done"]
            body = json.dumps({"env": "sokoban", "count": 4096})
            working = [Raw(s.port) for _ in range(16)]  # seconds of work
            for raw in working:
                raw.send(f"POST /v1/groups HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            time.sleep(0.1)
            begin = time.monotonic()
            assert s.stop() == 143
            assert time.monotonic() - begin < 10
            events = [json.loads(line)["event"] for line in s.logged().splitlines()]
            assert "requests_abandoned" in events and events[-1] == "stopped", events
        with Server(program, "--env", "dummy", "--record", f"{folder}/run.db") as s:
            assert ask(s.port, "GET", "/v1/recordings/current")[1]["summary"]["successes"] == 1


def test_kill_loses_no_finished_episode(program):
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run.db"
        finished = 0
        for _ in range(3):  # the same recording is continued after each death
            with Server(program, "--env", "dummy", "--record", run) as s:
                socket = WebSocket(s.port)
                for episode in range(5):
                    socket.ask({"type": "reset", "data": {"index": 1, "seed": episode}})
                    socket.ask({"type": "step", "data": {"command": "right"}})
                    last = socket.ask({"type": "step", "data": {"command": "right"}})
                    assert last["data"]["done"], last
                    finished += 1
                socket.ask({"type": "reset", "data": {"index": 1}})
                socket.ask({"type": "step", "data": {"command": "right"}})
                s.stop(signal.SIGKILL)
        out = f"{folder}/steps.jsonl"
        subprocess.run([program, "export", run, "--format", "jsonl", "--out", out], check=True, capture_output=True)
        with open(out, encoding="utf-8") as rows:
            steps = [json.loads(row) for row in rows]
        assert len(steps) == 2 * finished, len(steps)


def test_a_thousand_sessions_and_what_they_leave(program):
    with Server(program, "--env", "dummy", "--max-sessions", "2000") as s:
        def round_of(count):
            sockets = [WebSocket(s.port) for _ in range(count)]
            for socket in sockets:
                socket.say({"type": "reset", "data": {"seed": 5}})
            texts = {socket.hear()["data"]["observation"]["text"] for socket in sockets}
            assert len(texts) == 1
            for i, socket in enumerate(sockets):
                if i % 3 == 0:
                    socket.say({"type": "close"})
                socket.close()
        round_of(1000)
        time.sleep(1)
        files, threads, memory = s.files(), s.status("Threads"), s.status("VmRSS")
        for _ in range(4):
            round_of(1000)
        time.sleep(1)
        assert settles(lambda: s.files() <= files) and s.status("Threads") == threads, (s.files(), files)
        assert s.status("VmRSS") < memory * 1.3 + 5000, (s.status("VmRSS"), memory)
        assert b"lodestep_sessions 0" in Raw(s.port).send("GET /metrics HTTP/1.0\r\n\r\n").reply()[2]


def test_rounds_of_create_play_close_or_abandon_leave_nothing(program):
    with Server(program, "--env", "dummy", "--session-timeout", "1", "--max-sessions", "3000") as s:
        raw = Raw(s.port)

        def call(method, path, body=b""):
            raw.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            status, _, content = raw.reply()
            assert status in (200, 201), (status, content)
            return json.loads(content)

        def rounds(count):
            for i in range(count):
                id = call("POST", "/v1/sessions", b'{"env":"dummy","index":2}')["session_id"]
                call("POST", f"/v1/sessions/{id}/reset")
                call("POST", f"/v1/sessions/{id}/step", b'{"action":"right","step_id":1}')
                if i % 10:
                    assert call("DELETE", f"/v1/sessions/{id}")["closed"]
                    assert call("DELETE", f"/v1/sessions/{id}")["closed"]

        def open_sessions():
            page = Raw(s.port).send("GET /metrics HTTP/1.0\r\n\r\n").reply()[2].decode()
            return int(next(line for line in page.splitlines() if line.startswith("lodestep_sessions ")).split()[1])

        rounds(1000)
        assert settles(lambda: open_sessions() == 0)
        time.sleep(1)
        files, threads, memory = s.files(), s.status("Threads"), s.status("VmRSS")
        rounds(4000 if os.environ.get("LODESTEP_LONG") else 1500)  # LODESTEP_LONG: 5,000 in all
        assert settles(lambda: open_sessions() == 0)
        assert settles(lambda: s.files() <= files) and s.status("Threads") <= threads, (s.files(), files, s.status("Threads"), threads)
        assert s.status("VmRSS") < memory * 1.2 + 10000, (s.status("VmRSS"), memory)


def test_idle_sessions_are_swept(program):
    with Server(program, "--env", "dummy", "--session-timeout", "1", "--max-sessions", "1") as s:
        id = ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})[1]["session_id"]
        assert ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})[0] == 503
        time.sleep(3.5)
        assert ask(s.port, "GET", f"/v1/sessions/{id}")[0] == 410
        assert ask(s.port, "POST", "/v1/sessions", {"env": "dummy"})[0] == 201


def test_any_locale(program):
    with Server(program, "--env", "dummy", "--log-level", "debug") as s:
        socket = WebSocket(s.port)
        name = "\u4ef6-\u00e9-\u200b-\U0001f600"
        socket.ask({"type": "reset", "data": {"episode_id": name}})
        assert socket.ask({"type": "state"})["data"]["episode_id"] == name


def main():
    program = sys.argv[1]
    os.environ["LC_ALL"] = "C"
    chosen = sys.argv[2:]
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and (not chosen or name in chosen)]
    with Server(program, "--env", "dummy,sokoban") as shared:
        for name, test in tests:
            begin = time.monotonic()
            test(program if test.__code__.co_varnames[0] == "program" else shared)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
