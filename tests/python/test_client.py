"""The clients of /v1 against a running server: results as in process, retries, lost connections, groups, credit."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import lodestep

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("websockets", reason="websockets is not installed")

from lodestep.client import AsyncClient, Client, Result, protocol  # noqa: E402
from lodestep.client.aio import AsyncSession  # noqa: E402
from lodestep.client.sync import Session  # noqa: E402

HELP = subprocess.run([sys.executable, "-m", "lodestep", "--help"], capture_output=True, text=True).stdout
pytestmark = pytest.mark.skipif(" serve" not in HELP, reason="this build has no server")
SERVED = [row["name"] for row in lodestep.environments()]


def in_process(env_name: str, task: str, seed: int, actions: list[str]) -> list[tuple]:
    env = lodestep.make(env_name, max_steps=5)
    steps = [env.reset(task, seed=seed)]
    steps += [env.step(action) for action in actions]
    return [(s.observation, s.reward, s.terminated, s.truncated) for s in steps]


def seen(result: Result) -> tuple:
    return result.observation, result.reward, result.terminated, result.truncated


def some_actions(env_name: str, task: str) -> list[str]:
    env = lodestep.make(env_name)
    env.reset(task, seed=3)
    first = env.admissible_actions() or ["x"]
    return [first[-1], "nonsense", first[0], first[-1]]


def test_a_session_plays_what_an_environment_plays(url: str, env_name: str) -> None:
    task = lodestep.tasks(lodestep.open_environment(env_name))[1]
    actions = some_actions(env_name, task)
    with Client(url) as client, client.session(env_name, max_steps=5) as session:
        got = [session.reset(task_id=task, seed=3)] + [session.step(action) for action in actions]
        assert [seen(result) for result in got] == in_process(env_name, task, 3, actions)
        assert [result.step_count for result in got] == [0, 1, 2, 3, 4]
        assert got[2].action_valid is False and got[0].session_id == session.id
        saved = session.snapshot()
        twin = session.fork()[0]
        assert seen(twin.step("nonsense"))[0] == seen(session.step("nonsense"))[0]
        assert session.restore(saved).step_count == 4
        session.step("nonsense")
        assert session.state()["step_count"] == 5
        twin.close()
        twin.close()  # closing twice is no mistake
        with pytest.raises(lodestep.NotFound, match="410"):
            twin.step("x")


def test_lists_and_refusals(url: str) -> None:
    with Client(url) as client:
        assert [row["name"] for row in client.envs()] == sorted(SERVED)
        assert client.tasks("dummy", limit=3) == ["0", "1", "2"]
        assert client.limits()["batch_sessions"]["value"] > 0
        with pytest.raises(lodestep.NotFound, match="NO_ENVIRONMENT"):
            client.session("nowhere")
        with pytest.raises(lodestep.InvalidArgument, match="did you mean 'max_steps'"):
            client.session("dummy", max_step=3)
        session = client.session("dummy")
        with pytest.raises(lodestep.InvalidArgument, match="NO_EPISODE"):
            session.step("right")


def test_batches(url: str) -> None:
    with Client(url) as client:
        sessions = [client.session("dummy") for _ in range(4)]
        first = client.reset_batch(sessions, task_ids=["0", "1", "2", "3"])
        assert all(isinstance(result, Result) for result in first)
        sessions[2].close()
        answers = client.step_batch(sessions, ["right"] * 4)
        assert [type(answer) for answer in answers] == [Result, Result, lodestep.NotFound, Result]
        again = client.step_batch([sessions[0], sessions[3]], ["left"] * 2)
        assert [result.step_count for result in again] == [1, 2]  # the first has won and stands still


def test_groups_and_their_credit(url: str) -> None:
    with Client(url) as client, client.groups("dummy", tasks=["3", "7"], group_size=3, max_steps=6) as groups:
        assert groups.tasks == ["3", "7"] and len(groups.first.observations) == 6
        assert len(set(groups.first.state_keys[:3])) == 1
        for _ in range(6):
            result = groups.step(["right", "right", "left"] * 2)
        assert all(result.dones) and result.rewards == [0.0] * 6  # members that ended keep their result
        advantages = groups.advantages("grpo")
        assert advantages
    with Client(url) as client:
        steps = [
            {"task": "a", "episode": e, "t": 0, "state": "s", "reward": r} for e, r in (("x", 1), ("y", 0))
        ]
        assert client.advantages(steps, estimator="grpo")


def test_a_step_that_is_sent_again_does_not_step_twice(url: str) -> None:
    with Client(url) as client, client.session("dummy") as session:
        session.reset(task_id="3")
        first = client._send(protocol.step(session.id, "right", 1))
        again = client._send(protocol.step(session.id, "right", 1))
        assert first == again and session.state()["step_count"] == 1
        with pytest.raises(lodestep.InvalidArgument, match="STEP_ID_CONFLICT"):
            client._send(protocol.step(session.id, "right", 3))


class Lossy:
    """A relay that forwards a request to the server and then drops every other reply."""

    def __init__(self, url: str) -> None:
        relay = self
        self.requests = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {"Content-Type": "application/json"}
                reply = httpx.request(self.command, url + self.path, content=body, headers=headers, trust_env=False)
                relay.requests += 1
                if relay.requests % 2:
                    self.close_connection = True  # the reply is lost
                    return
                self.send_response(reply.status_code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            do_GET = do_POST = do_DELETE = forward  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_lost_replies_are_asked_for_again_and_nothing_steps_twice(url: str) -> None:
    relay = Lossy(url)
    with Client(relay.url) as client:
        session = client.session("dummy", max_steps=5)
        got = [session.reset(task_id="3", seed=3)] + [session.step("left") for _ in range(3)]
        assert [seen(result) for result in got] == in_process("dummy", "3", 3, ["left"] * 3)
    relay.server.shutdown()
    relay.server.server_close()
    with pytest.raises(lodestep.Unavailable, match="no answer"):
        Client(relay.url, retries=1).envs()


def test_the_asynchronous_client(url: str, env_name: str) -> None:
    task = lodestep.tasks(lodestep.open_environment(env_name))[1]
    actions = some_actions(env_name, task)

    async def play(client: AsyncClient) -> list[tuple]:
        async with await client.session(env_name, max_steps=5) as session:
            got = [await session.reset(task_id=task, seed=3)]
            got += [await session.step(action) for action in actions]
            return [seen(result) for result in got]

    async def main() -> list[list[tuple]]:
        async with AsyncClient(url) as client:
            assert [row["name"] for row in await client.envs()] == sorted(SERVED)
            with pytest.raises(lodestep.NotFound):
                await client.session("nowhere")
            return await asyncio.gather(*(play(client) for _ in range(16)))

    assert asyncio.run(main()) == [in_process(env_name, task, 3, actions)] * 16


def test_the_asynchronous_client_reconnects(url: str) -> None:
    async def main() -> None:
        async with AsyncClient(url) as client:
            session = await client.session("dummy", max_steps=5)
            got = [await session.reset(task_id="3", seed=3)]
            for _ in range(3):
                step = asyncio.create_task(session.step("left"))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                if client._socket is not None:
                    client._socket.transport.abort()  # the network goes away
                got.append(await step)
            assert [seen(result) for result in got] == in_process("dummy", "3", 3, ["left"] * 3)
            groups = await client.groups("dummy", count=2, seed=1, group_size=2)
            assert len((await groups.step(["left"] * 4)).rewards) == 4
            await groups.close()

    asyncio.run(main())


def test_the_asynchronous_client_steps_many_at_once(url: str) -> None:
    async def play() -> None:
        async with AsyncClient(url) as client:
            sessions = [await client.session("dummy", max_steps=5) for _ in range(4)]
            await sessions[3].close()
            started = await client.reset_batch(sessions, seeds=[1, 2, 3, 4])
            assert [isinstance(answer, Result) for answer in started] == [True, True, True, False]
            answers = await client.step_batch(sessions, ["left", "right", "nonsense", "left"])
            assert [getattr(answer, "step_count", None) for answer in answers] == [1, 1, 1, None]
            assert isinstance(answers[3], lodestep.NotFound)
            assert (await sessions[0].step("left")).step_count == 2
            async with await client.groups("dummy", count=2, seed=1, group_size=2) as groups:
                assert (await groups.step(["left"] * 4)).step_counts == [1] * 4

    asyncio.run(play())


def test_closing_has_a_deadline_and_never_raises(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """H10: a server that hangs or is gone does not end a long run at its last line."""
    monkeypatch.setattr(protocol, "CLOSE_SECONDS", 0.1)
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    with Client(f"http://127.0.0.1:{silent.getsockname()[1]}") as client, Session(client, "abc"):
        pass
    silent.close()
    with Client("http://127.0.0.1:9") as client, Session(client, "abc"):  # nobody is there
        pass

    async def close_at_nobody() -> None:
        client = AsyncClient("http://127.0.0.1:9")
        await AsyncSession(client, "abc").close()
        await client.close()

    asyncio.run(close_at_nobody())


def test_the_example_runs(url: str) -> None:
    if "sokoban" not in SERVED:
        pytest.skip("sokoban is not registered in this build")
    example = Path(__file__).resolve().parents[2] / "examples" / "client_groups.py"
    run = subprocess.run([sys.executable, str(example), url], capture_output=True, text=True)
    assert run.returncode == 0 and "the most helpful" in run.stdout, run.stderr
