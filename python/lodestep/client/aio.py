"""The asynchronous client: one WebSocket, many requests under way, reconnects by itself."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import websockets
from websockets.asyncio.client import ClientConnection

from lodestep.client import protocol
from lodestep.client.protocol import Call, GroupResult, Result
from lodestep.errors import Error, Unavailable

T = TypeVar("T")


class AsyncClient:
    """One server, from one event loop. A session must not have two requests under way at once."""

    def __init__(
        self, base_url: str = "http://127.0.0.1:8000", *, token: str | None = None, timeout: float = 60, retries: int = 5
    ) -> None:
        self._url = base_url.rstrip("/").replace("http", "ws", 1) + "/v1/stream"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._retries = retries
        self._numbers = itertools.count(1)
        self._connecting = asyncio.Lock()
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def _connected(self) -> ClientConnection:
        async with self._connecting:
            if self._socket is None:
                self._socket = await websockets.connect(
                    self._url, additional_headers=self._headers, max_size=None, open_timeout=self._timeout, proxy=None
                )
                self._reader = asyncio.create_task(self._read(self._socket))
            return self._socket

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for message in socket:
                answer = json.loads(message)
                waiting = self._waiting.pop(answer["id"], None)
                if waiting is not None and not waiting.done():  # else it comes after its time limit: nobody's
                    waiting.set_result(answer)
        except websockets.WebSocketException:
            pass
        finally:
            if self._socket is socket:
                self._socket = None
            lost, self._waiting = self._waiting, {}
            for waiting in lost.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError("the connection was lost"))

    async def _ask(self, call: Call[Any]) -> dict[str, Any]:
        socket = await self._connected()
        number = next(self._numbers)
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        message = {"id": number, "method": call.method, "path": call.path}
        if call.body is not None:
            message["body"] = call.body
        try:
            await socket.send(json.dumps(message))
            return await asyncio.wait_for(waiting, self._timeout)
        finally:
            self._waiting.pop(number, None)

    async def _send(self, call: Call[T]) -> T:
        pauses = protocol.pauses(self._retries)
        while True:
            pause = next(pauses, None)
            try:
                answer = await self._ask(call)
            except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                if pause is None:
                    raise Unavailable(f"no answer: {error or type(error).__name__}", self._url) from error
            else:
                if answer["status"] < 300:
                    return call.parse(answer["body"])
                if pause is None or answer["status"] not in protocol.RETRY_STATUSES:
                    raise protocol.error_of(answer["status"], answer["body"])
            await asyncio.sleep(pause)

    async def _give_up(self, call: Call[bool]) -> None:
        try:
            await asyncio.wait_for(self._ask(call), protocol.CLOSE_SECONDS)
        except (OSError, asyncio.TimeoutError, websockets.WebSocketException):
            pass  # the server's idle limit will

    async def envs(self) -> list[dict[str, Any]]:
        return await self._send(protocol.envs())

    async def tasks(
        self, env: str | None = None, split: str | None = None, offset: int = 0, limit: int = 1000
    ) -> list[str]:
        return await self._send(protocol.tasks(env, split, offset, limit))

    async def limits(self) -> dict[str, Any]:
        return await self._send(protocol.limits())

    async def session(self, env: str | None = None, **choice: Any) -> AsyncSession:
        return AsyncSession(self, await self._send(protocol.create_session(env, **choice)))

    async def groups(self, env: str | None = None, **wish: Any) -> AsyncGroups:
        return AsyncGroups(self, await self._send(protocol.create_groups(env, **wish)))

    async def reset_batch(self, sessions: Sequence[AsyncSession], **choice: Any) -> list[Result | Error]:
        """Resets many sessions in one request; choice: seeds, indexes, task_ids (lists), or one for all."""
        answers = await self._send(protocol.batch_reset([session.id for session in sessions], **choice))
        for session, answer in zip(sessions, answers):
            if isinstance(answer, Result):
                session._next_step = 1
        return answers

    async def step_batch(self, sessions: Sequence[AsyncSession], actions: Sequence[str]) -> list[Result | Error]:
        """Steps many sessions in one request; one that fails does not fail the others."""
        numbers = [session._next_step for session in sessions]
        answers = await self._send(protocol.batch_step([session.id for session in sessions], actions, numbers))
        for session, answer in zip(sessions, answers):
            if isinstance(answer, Result):
                session._next_step += 1
        return answers

    async def advantages(self, steps: Sequence[Mapping[str, Any]], **wish: Any) -> dict[str, Any]:
        return await self._send(protocol.advantages(steps, **wish))

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
        if self._reader is not None:
            await self._reader

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncSession:
    """As Session, awaited."""

    def __init__(self, client: AsyncClient, session_id: str, next_step: int = 1) -> None:
        self._client = client
        self.id = session_id
        self._next_step = next_step

    async def reset(self, **choice: Any) -> Result:
        result = await self._client._send(protocol.reset(self.id, **choice))
        self._next_step = 1
        return result

    async def step(self, action: str) -> Result:
        result = await self._client._send(protocol.step(self.id, action, self._next_step))
        self._next_step += 1
        return result

    async def state(self) -> dict[str, Any]:
        return await self._client._send(protocol.state(self.id))

    async def snapshot(self) -> str:
        return await self._client._send(protocol.snapshot(self.id))

    async def restore(self, snapshot: str) -> Result:
        result = await self._client._send(protocol.restore(self.id, snapshot))
        self._next_step = 1
        return result

    async def fork(self, count: int = 1) -> list[AsyncSession]:
        forks = await self._client._send(protocol.fork(self.id, count))
        return [AsyncSession(self._client, fork, self._next_step) for fork in forks]

    async def close(self) -> None:
        await self._client._give_up(protocol.close(self.id))

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncGroups:
    """As Groups, awaited."""

    def __init__(self, client: AsyncClient, opened: dict[str, Any]) -> None:
        self._client = client
        self.id: str = opened["group_set_id"]
        self.tasks: list[str] = [group["task"] for group in opened["groups"]]
        self.first: GroupResult = protocol.parse_group(opened)
        self._next_step = 1

    async def step(self, actions: Sequence[str]) -> GroupResult:
        result = await self._client._send(protocol.step_groups(self.id, actions, self._next_step))
        self._next_step += 1
        return result

    async def advantages(self, estimator: str = "graphgpo", **wish: Any) -> dict[str, Any]:
        return await self._client._send(protocol.group_advantages(self.id, estimator=estimator, **wish))

    async def close(self) -> None:
        await self._client._give_up(protocol.close_groups(self.id))

    async def __aenter__(self) -> AsyncGroups:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
