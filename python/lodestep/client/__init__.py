"""Clients of `lodestep serve`, for the native API /v1.

    with lodestep.client.Client("http://127.0.0.1:8000") as client:
        session = client.session("sokoban", seed=7, max_steps=15)
        result = session.reset()
        while not result.done:
            result = session.step(my_policy(result.observation, result.available_actions))

`AsyncClient` does the same over one WebSocket with many requests under way. Every step carries its number,
so a request that is sent again after a lost connection or a time limit never steps twice.
"""

from lodestep.client.aio import AsyncClient, AsyncGroups, AsyncSession
from lodestep.client.protocol import GroupResult, Result
from lodestep.client.sync import Client, Groups, Session

__all__ = ["AsyncClient", "AsyncGroups", "AsyncSession", "Client", "GroupResult", "Groups", "Result", "Session"]
