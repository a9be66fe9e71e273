"""What goes over the wire, without any wire: requests, replies, errors and when to try again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from lodestep.errors import Error, InvalidArgument, NotFound, Unavailable, Unsupported

T = TypeVar("T")

#: Statuses after which the same request may work: the server is starting, full or stopping.
RETRY_STATUSES = frozenset({429, 502, 503, 504})


#: Closing never holds a trainer up: one try of so many seconds, then the server's idle limit does it.
CLOSE_SECONDS = 5.0


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request and how to read its reply."""

    method: str
    path: str
    parse: Callable[[Any], T]
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """What an agent sees after reset or step."""

    observation: str
    available_actions: list[str]
    reward: float
    done: bool
    terminated: bool
    truncated: bool
    action_valid: bool
    state_key: str
    step_count: int
    episode_id: str
    session_id: str
    metadata: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class GroupResult:
    """The same for all members of all groups, one entry each, task after task. `errors` holds None for members
    that could be played."""

    observations: list[str | None]
    available_actions: list[list[str] | None]
    rewards: list[float | None]
    dones: list[bool]
    terminated: list[bool | None]
    truncated: list[bool | None]
    action_valid: list[bool | None]
    state_keys: list[str | None]
    step_counts: list[int | None]
    errors: list[str | None]


def parse_result(body: Mapping[str, Any]) -> Result:
    seen = body["observation"]
    return Result(
        observation=seen["text"],
        available_actions=seen["available_actions"],
        reward=body["reward"] or 0.0,
        done=body["done"],
        terminated=body["terminated"],
        truncated=body["truncated"],
        action_valid=body["action_valid"],
        state_key=body["state_key"],
        step_count=body["step_count"],
        episode_id=body["episode_id"],
        session_id=body["session_id"],
        metadata={**seen, **body.get("metadata", {})},
    )


def parse_group(body: Mapping[str, Any]) -> GroupResult:
    members = len(body["dones"])
    names = GroupResult.__dataclass_fields__
    return GroupResult(**{name: body.get(name, [None] * members) for name in names})


def parse_batch(body: Mapping[str, Any]) -> list[Result | Error]:
    """One entry per session; a member that failed is its error, the others have their results."""
    return [
        parse_result(item) if "error" not in item else error_of(item.get("status", 500), item)
        for item in body["results"]
    ]


def error_of(status: int, body: Any) -> Error:
    """The exception for an error reply."""
    told = body.get("error") if isinstance(body, Mapping) else None
    told = told if isinstance(told, Mapping) else {"message": str(body)[:300]}
    kind = {404: NotFound, 410: NotFound, 422: Unsupported, 501: Unsupported}.get(status)
    if kind is None:
        kind = Unavailable if status >= 500 or status == 429 else InvalidArgument
    return kind(str(told.get("message", "the server refused")), f"{status} {told.get('code', '')}".strip())


def pauses(retries: int) -> Iterator[float]:
    """Seconds to wait before each further try: doubling, with a random part so that clients spread out."""
    for attempt in range(retries):
        yield min(0.1 * 2**attempt, 5.0) * (0.5 + random.random())


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _query(path: str, **parameters: Any) -> str:
    given = _given(**parameters)
    return f"{path}?{urlencode(given)}" if given else path


def create_session(env: str | None, **choice: Any) -> Call[str]:
    return Call("POST", "/v1/sessions", lambda body: body["session_id"], _given(env=env, **choice))


def reset(session: str, **choice: Any) -> Call[Result]:
    return Call("POST", f"/v1/sessions/{session}/reset", parse_result, _given(**choice))


def step(session: str, action: str, step_id: int) -> Call[Result]:
    return Call("POST", f"/v1/sessions/{session}/step", parse_result, {"action": action, "step_id": step_id})


def state(session: str) -> Call[dict[str, Any]]:
    return Call("GET", f"/v1/sessions/{session}", dict)


def close(session: str) -> Call[bool]:
    return Call("DELETE", f"/v1/sessions/{session}", lambda body: body["closed"])


def snapshot(session: str) -> Call[str]:
    return Call("POST", f"/v1/sessions/{session}/snapshot", lambda body: body["snapshot"], {})


def restore(session: str, saved: str) -> Call[Result]:
    return Call("POST", f"/v1/sessions/{session}/restore", parse_result, {"snapshot": saved})


def fork(session: str, count: int) -> Call[list[str]]:
    return Call("POST", f"/v1/sessions/{session}/fork", lambda body: body["sessions"], {"count": count})


def batch_reset(sessions: Sequence[str], **choice: Any) -> Call[list[Result | Error]]:
    return Call("POST", "/v1/batch/reset", parse_batch, {"sessions": list(sessions), **_given(**choice)})


def batch_step(
    sessions: Sequence[str], actions: Sequence[str], step_ids: Sequence[int]
) -> Call[list[Result | Error]]:
    body = {"sessions": list(sessions), "actions": list(actions), "step_ids": list(step_ids)}
    return Call("POST", "/v1/batch/step", parse_batch, body)


def create_groups(env: str | None, **wish: Any) -> Call[dict[str, Any]]:
    return Call("POST", "/v1/groups", dict, _given(env=env, **wish))


def step_groups(groups: str, actions: Sequence[str], step_id: int) -> Call[GroupResult]:
    body = {"actions": list(actions), "step_id": step_id}
    return Call("POST", f"/v1/groups/{groups}/step", parse_group, body)


def close_groups(groups: str) -> Call[bool]:
    return Call("DELETE", f"/v1/groups/{groups}", lambda body: body["closed"])


def group_advantages(groups: str, **wish: Any) -> Call[dict[str, Any]]:
    return Call("GET", _query(f"/v1/groups/{groups}/advantages", **wish), dict)


def advantages(steps: Sequence[Mapping[str, Any]], **wish: Any) -> Call[dict[str, Any]]:
    return Call("POST", "/v1/advantages", dict, {"records": list(steps), **_given(**wish)})


def envs() -> Call[list[dict[str, Any]]]:
    return Call("GET", "/v1/envs", lambda body: body["envs"])


def tasks(env: str | None, split: str | None, offset: int, limit: int) -> Call[list[str]]:
    path = _query("/v1/tasks", env=env, split=split, offset=offset, limit=limit)
    return Call("GET", path, lambda body: body["tasks"])


def limits() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/limits", dict)
