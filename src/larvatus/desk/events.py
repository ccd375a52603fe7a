"""Server-sent events: what pages are told when a job goes on or a study changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

_ALIVE = 15.0  # seconds after which a comment is sent, so that a closed page is noticed
_MOST_WAITING = 50


class EventHub:
    """Pages that listen, by study."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Queue[str | None]]] = {}
        self._closed = False

    def tell(self, study: str, kind: str, plain: dict[str, Any]) -> None:
        """Tell all pages of a study; a page that does not read any more misses it."""
        line = f"event: {kind}\ndata: {json.dumps(plain)}\n\n"
        for queue in self._listeners.get(study, ()):
            with suppress(asyncio.QueueFull):
                queue.put_nowait(line)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for queues in self._listeners.values():
            for queue in queues:
                with suppress(asyncio.QueueFull):
                    queue.put_nowait(None)

    async def stream(self, study: str) -> AsyncIterator[str]:
        """The events of a study as they come."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(_MOST_WAITING)
        self._listeners.setdefault(study, set()).add(queue)
        try:
            yield "retry: 1000\n\n"
            while not self._closed:
                try:
                    line = await asyncio.wait_for(queue.get(), _ALIVE)
                except TimeoutError:
                    line = ": alive\n\n"
                if line is None:
                    return
                yield line
        finally:
            self._listeners[study].discard(queue)
