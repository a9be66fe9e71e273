"""The blocking client, over HTTP with kept-alive connections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from lodestep.client import protocol
from lodestep.client.protocol import Call, GroupResult, Result
from lodestep.errors import Error, Unavailable

T = TypeVar("T")


class Client:
    """One server. May be shared by threads; a session belongs to one thread at a time."""

    def __init__(
        self, base_url: str = "http://127.0.0.1:8000", *, token: str | None = None, timeout: float = 60, retries: int = 5
    ) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout, limits=limits, trust_env=False)
        self._retries = retries

    def _send(self, call: Call[T]) -> T:
        pauses = protocol.pauses(self._retries)
        while True:
            pause = next(pauses, None)
            try:
                reply = self._http.request(call.method, call.path, json=call.body)
            except httpx.TransportError as error:
                if pause is None:
                    raise Unavailable(f"no answer: {error or type(error).__name__}", str(self._http.base_url)) from error
            else:
                if reply.is_success:
                    return call.parse(reply.json())
                if pause is None or reply.status_code not in protocol.RETRY_STATUSES:
                    raise protocol.error_of(reply.status_code, _json(reply))
            time.sleep(pause)

    def _give_up(self, call: Call[bool]) -> None:
        try:
            self._http.request(call.method, call.path, timeout=protocol.CLOSE_SECONDS)
        except (httpx.HTTPError, RuntimeError):
            pass  # the server's idle limit will

    def envs(self) -> list[dict[str, Any]]:
        """The server's environments with versions and data digests."""
        return self._send(protocol.envs())

    def tasks(self, env: str | None = None, split: str | None = None, offset: int = 0, limit: int = 1000) -> list[str]:
        return self._send(protocol.tasks(env, split, offset, limit))

    def limits(self) -> dict[str, Any]:
        return self._send(protocol.limits())

    def session(self, env: str | None = None, **choice: Any) -> Session:
        """Opens a session; choice: seed, split, index, task_id, max_steps, group."""
        return Session(self, self._send(protocol.create_session(env, **choice)))

    def groups(self, env: str | None = None, **wish: Any) -> Groups:
        """Opens groups of members that start alike; wish: tasks or split and count, seed, group_size, max_steps."""
        return Groups(self, self._send(protocol.create_groups(env, **wish)))

    def reset_batch(self, sessions: Sequence[Session], **choice: Any) -> list[Result | Error]:
        """Resets many sessions in one request; choice: seeds, indexes, task_ids (lists), or one for all."""
        answers = self._send(protocol.batch_reset([session.id for session in sessions], **choice))
        for session, answer in zip(sessions, answers):
            if isinstance(answer, Result):
                session._next_step = 1
        return answers

    def step_batch(self, sessions: Sequence[Session], actions: Sequence[str]) -> list[Result | Error]:
        """Steps many sessions in one request; one that fails does not fail the others."""
        numbers = [session._next_step for session in sessions]
        answers = self._send(protocol.batch_step([session.id for session in sessions], actions, numbers))
        for session, answer in zip(sessions, answers):
            if isinstance(answer, Result):
                session._next_step += 1
        return answers

    def advantages(self, steps: Sequence[Mapping[str, Any]], **wish: Any) -> dict[str, Any]:
        """Credit for recorded steps; wish: estimator, matcher, preset, options."""
        return self._send(protocol.advantages(steps, **wish))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Session:
    """One episode after another on the server. Closing it never raises."""

    def __init__(self, client: Client, session_id: str, next_step: int = 1) -> None:
        self._client = client
        self.id = session_id
        self._next_step = next_step

    def reset(self, **choice: Any) -> Result:
        """Starts an episode; choice as for Client.session, over what was chosen there."""
        result = self._client._send(protocol.reset(self.id, **choice))
        self._next_step = 1
        return result

    def step(self, action: str) -> Result:
        result = self._client._send(protocol.step(self.id, action, self._next_step))
        self._next_step += 1
        return result

    def state(self) -> dict[str, Any]:
        return self._client._send(protocol.state(self.id))

    def snapshot(self) -> str:
        return self._client._send(protocol.snapshot(self.id))

    def restore(self, snapshot: str) -> Result:
        result = self._client._send(protocol.restore(self.id, snapshot))
        self._next_step = 1
        return result

    def fork(self, count: int = 1) -> list[Session]:
        """New sessions that stand where this one stands."""
        forks = self._client._send(protocol.fork(self.id, count))
        return [Session(self._client, fork, self._next_step) for fork in forks]

    def close(self) -> None:
        self._client._give_up(protocol.close(self.id))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Groups:
    """Groups of sessions that are stepped together: tasks x members, task after task."""

    def __init__(self, client: Client, opened: dict[str, Any]) -> None:
        self._client = client
        self.id: str = opened["group_set_id"]
        self.tasks: list[str] = [group["task"] for group in opened["groups"]]
        #: The situation at the start.
        self.first: GroupResult = protocol.parse_group(opened)
        self._next_step = 1

    def step(self, actions: Sequence[str]) -> GroupResult:
        """One action per member; members that have ended keep their last result with reward 0."""
        result = self._client._send(protocol.step_groups(self.id, actions, self._next_step))
        self._next_step += 1
        return result

    def advantages(self, estimator: str = "graphgpo", **wish: Any) -> dict[str, Any]:
        """Credit for every recorded step of these groups, under any estimator and matcher."""
        return self._client._send(protocol.group_advantages(self.id, estimator=estimator, **wish))

    def close(self) -> None:
        self._client._give_up(protocol.close_groups(self.id))

    def __enter__(self) -> Groups:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _json(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except ValueError:
        return reply.text
