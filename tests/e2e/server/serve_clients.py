#!/usr/bin/env python3
"""Plays `lodestep serve` with the real client libraries: usage: serve_clients.py PROGRAM
Needs openenv (or openenv-core), websockets and httpx; without them it ends with 77 (skipped) and says which is missing.
LODESTEP_CLIENT_PYTHON names another interpreter that has them (scripts/clients.sh makes some)."""
import asyncio
import json
import os
import pathlib
import re
import subprocess
import sys

other = os.environ.get("LODESTEP_CLIENT_PYTHON")
if other and os.path.exists(other) and os.environ.get("LODESTEP_CLIENT_RUNNING") != "1":
    sys.exit(subprocess.run([other, *sys.argv], env={**os.environ, "LODESTEP_CLIENT_RUNNING": "1"}).returncode)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import Server  # noqa: E402

try:
    import httpx
    import websockets
    from openenv.core.generic_client import GenericEnvClient
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]


async def play(client, seed, steps=30):
    result = await client.reset(seed=seed)
    texts = [result.observation["text"]]
    for i in range(steps):
        actions = result.observation["available_actions"]
        if result.done:
            break
        result = await client.step({"command": actions[i % len(actions)]})
        assert isinstance(result.reward, (int, float))
        texts.append(result.observation["text"])
    state = await client.state()
    steps_played = state["step_count"] if isinstance(state, dict) else state.step_count
    assert steps_played == len(texts) - 1, (state, len(texts))
    return texts


async def test_full_episodes_of_every_environment(url, names):
    for name in names:
        async with GenericEnvClient(base_url=f"{url}/openenv/{name}") as a, GenericEnvClient(base_url=f"{url}/openenv/{name}") as b:
            assert await play(a, 11) == await play(b, 11), name
            for seed in range(3):
                await play(a, seed)


async def test_a_group_of_128_at_once(url, names):
    async def one(seed):
        async with GenericEnvClient(base_url=url) as client:
            return await play(client, seed, steps=5)
    texts = await asyncio.gather(*[one(5) for _ in range(128)])
    assert all(t == texts[0] for t in texts)


async def test_a_bad_action_is_an_error_and_the_session_goes_on(url, names):
    async with GenericEnvClient(base_url=url) as client:
        await client.reset(seed=1)
        try:
            await client.step({"nonsense": 1})
            raise AssertionError("a bad action was taken")
        except RuntimeError as error:
            assert "VALIDATION_ERROR" in str(error), error
        await client.step({"command": "up"})


async def test_a_full_server_says_so_in_the_clients_own_words(url, names):
    with Server(sys.argv[1], "--env", "dummy", "--max-sessions", "1") as small:
        async with GenericEnvClient(base_url=small.url) as first:
            await first.reset()
            second = GenericEnvClient(base_url=small.url)
            try:
                await second.connect()
                await second.reset()
                raise AssertionError("a second session was opened")
            except RuntimeError as error:
                assert "CAPACITY_REACHED" in str(error) and "max_sessions" in str(error), error
            finally:
                await second.close()
        await asyncio.sleep(0.5)
        async with GenericEnvClient(base_url=small.url) as third:
            await third.reset()


async def test_tool_clients(url, names):
    from openenv.core.mcp_client import MCPToolClient
    async with MCPToolClient(base_url=f"{url}/openenv/dummy") as client:
        assert {tool.name for tool in await client.list_tools()} == {"new_episode", "act", "observe"}
        await client.reset()
        first = await client.call_tool("observe")
        assert "cell" in first["text"], first
        assert (await client.call_tool("act", command="right"))["step_count"] == 1
        try:
            await client.call_tool("fly")
            raise AssertionError("an unknown tool was called")
        except RuntimeError as error:
            assert "fly" in str(error)
    async with MCPToolClient(base_url=f"{url}/openenv/dummy") as client:
        client.use_production_mode = True
        assert len(await client.list_tools()) == 3
        begun = await client.call_tool("new_episode", index=3)
        assert "cell 2" in begun["text"], begun
        acted = await client.call_tool("act", command="right")
        assert "cell 3" in acted["text"], acted


async def test_schemas_permit_what_is_sent(url, names):
    try:
        import jsonschema
    except ImportError:
        print("    (no jsonschema: schemas not applied)")
        return
    async with httpx.AsyncClient() as http:
        for name in names:
            schema = (await http.get(f"{url}/openenv/{name}/schema")).json()
            reset = (await http.post(f"{url}/openenv/{name}/reset", json={})).json()
            step = (await http.post(f"{url}/openenv/{name}/step", json={"action": {"command": "up"}})).json()
            for result in (reset, step):
                observation = {**result["observation"], "reward": result["reward"], "done": result["done"]}
                jsonschema.validate(observation, schema["observation"])
            jsonschema.validate((await http.get(f"{url}/openenv/{name}/state")).json(), schema["state"])
            jsonschema.validate({"command": "up"}, schema["action"])


async def test_the_projects_own_runtime_validator(url, names):
    try:
        from openenv.cli._validation import validate_running_environment
    except ImportError:
        print("    (this client has no validator)")
        return
    for target in [url, *[f"{url}/openenv/{name}" for name in names]]:
        report = await asyncio.to_thread(validate_running_environment, target)
        assert report["passed"], json.dumps(report, indent=1)


async def test_pings_of_websockets_are_answered(url, names):
    async with websockets.connect(url.replace("http", "ws") + "/ws") as socket:
        await socket.send('{"type":"reset"}')
        waiter = await socket.ping()
        await asyncio.wait_for(waiter, 5)
        assert json.loads(await socket.recv())["type"] == "observation"


async def test_agentgym_clients_requests(url, names):
    async def call(method, path, **options):
        async with httpx.AsyncClient() as http:  # a new connection for each call, as those clients do
            reply = await http.request(method, f"{url}/agentgym/dummy{path}", **options)
        assert reply.status_code == 200, reply
        return reply.json()
    id = (await call("POST", "/create"))["id"]
    assert (await call("POST", "/reset", json={"id": id, "data_idx": 1}))["done"] is False
    assert (await call("POST", "/step", json={"id": id, "action": "right"}))["reward"] == 0
    assert (await call("POST", "/step", json={"id": id, "action": "right"}))["score"] == 1
    assert (await call("POST", "/close", json={"id": id})) is True


async def test_examples_of_the_documentation(url, names):
    for page in ("server.md", "protocol.md"):
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S):
            done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", f"URL = {url!r}\n{block}"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0 and done.stdout.strip(), (page, block, done.stderr)


def main():
    names = ["dummy", "sokoban", "webshop", "alfworld"]
    with Server(sys.argv[1], "--env", ",".join(names)) as server:
        for name, test in list(globals().items()):
            if name.startswith("test_") and (len(sys.argv) < 3 or name in sys.argv[2:]):
                asyncio.run(test(server.url, names))
                print(f"{name}: done", flush=True)


if __name__ == "__main__":
    main()
