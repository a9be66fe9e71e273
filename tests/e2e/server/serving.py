"""A server in its own process, and clients over bare sockets that say exactly what a test wants said."""
import base64
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile


class Server:
    """`with Server(program, "--env", "dummy") as server:` ... server.port"""

    def __init__(self, program, *options, port=0):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, "serve", "--port", str(port), *options], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, encoding="utf-8")
        line = self.process.stdout.readline()
        match = re.match(r"listening on (https?://\S+:(\d+))", line)
        assert match, f"no address in {line!r}; log: {self.logged()}"
        self.url, self.port = match.group(1), int(match.group(2))

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=20)

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith(field)).split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Raw:
    """One TCP connection: bytes out, HTTP replies in."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)
        return self

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def take(self, size):
        while len(self.buffer) < size:
            if not self.more():
                raise EOFError(self.buffer)
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def reply(self, body=True):
        """(status, headers with lower-case names, body)"""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                raise EOFError(self.buffer)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
        content = self.take(int(headers.get("content-length", 0))) if body else b""
        return int(lines[0].split()[1]), headers, content

    def closed(self):
        """The server ends the connection within the time limit."""
        try:
            while self.more():
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self):
        self.socket.close()


def ask(port, method, path, body=None, headers=""):
    raw = Raw(port)
    data = b"" if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    raw.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data)
    status, _, content = raw.reply()
    raw.close()
    return status, json.loads(content) if content else None


KEY = "dGhlIHNhbXBsZSBub25jZQ=="


class WebSocket(Raw):
    """A WebSocket with a hand on every bit of its frames."""

    def __init__(self, port, path="/ws", headers="", timeout=20):
        super().__init__(port, timeout)
        self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {KEY}\r\n"
                  f"Sec-WebSocket-Version: 13\r\n{headers}\r\n")
        self.status, self.headers, _ = self.reply(body=False)

    def frame(self, opcode, payload=b"", fin=True, reserved=0, masked=True, size=None):
        size = len(payload) if size is None else size
        out = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
        mark = 0x80 if masked else 0
        if size < 126:
            out += bytes([mark | size])
        elif size < 65536:
            out += bytes([mark | 126]) + struct.pack(">H", size)
        else:
            out += bytes([mark | 127]) + struct.pack(">Q", size)
        if masked:
            key = os.urandom(4)
            out += key + bytes(b ^ key[i % 4] for i, b in enumerate(payload))
        else:
            out += payload
        return self.send(out)

    def receive(self):
        """(opcode, payload) of the next frame"""
        first, second = self.take(2)
        assert not second & 0x80, "a server's frames are not masked"
        size = second & 0x7F
        if size == 126:
            size, = struct.unpack(">H", self.take(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.take(8))
        return first & 0x0F, self.take(size)

    def say(self, message):
        return self.frame(1, message if isinstance(message, bytes) else json.dumps(message).encode())

    def hear(self):
        opcode, payload = self.receive()
        assert opcode == 1, (opcode, payload)
        return json.loads(payload)

    def ask(self, message):
        self.say(message)
        return self.hear()

    def close_code(self):
        """The code of the Close frame that comes now."""
        opcode, payload = self.receive()
        assert opcode == 8, (opcode, payload)
        return struct.unpack(">H", payload[:2])[0] if payload else None
