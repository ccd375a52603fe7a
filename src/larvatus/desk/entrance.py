"""Who may use the desk: a token that works once within a minute, and the session that it becomes.

The token is given to the browser in a local page that only the owner can read. That page posts it, so that it is in no
address, in no history and in no list of processes. Only digests are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from html import escape
from pathlib import Path

LIFETIME = 60.0  # seconds
_MOST_SESSIONS = 8  # each new token replaces the oldest session beyond these
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>larvatus desk</title>
<meta name="referrer" content="no-referrer">
<form method="post" action="{origin}/enter"><input type="hidden" name="token" value="{token}">
<p><button>larvatus desk →</button></p></form><script>document.forms[0].submit()</script></html>
"""


class Entrance:
    """Tokens that wait to be used, and the sessions of the browsers that used one."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._token: tuple[bytes, float] | None = None
        self._sessions: list[bytes] = []

    def new_token(self) -> str:
        """A token; an earlier one that was not used stops working."""
        token = secrets.token_urlsafe(32)
        self._token = (_digest(token), self._now() + LIFETIME)
        return token

    def redeem(self, token: str) -> str | None:
        """A new session for the token, once and in time; else None. A wrong token does not use up the right one."""
        if self._token is None or not hmac.compare_digest(self._token[0], _digest(token)):
            return None
        until, self._token = self._token[1], None
        if self._now() > until:
            return None
        session = secrets.token_urlsafe(32)
        self._sessions = [*self._sessions, _digest(session)][-_MOST_SESSIONS:]
        return session

    def knows(self, session: str) -> bool:
        """Whether a browser has this session."""
        digest = _digest(session)
        return sum(hmac.compare_digest(known, digest) for known in self._sessions) > 0


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


class DoorPage:
    """The local page that hands the token to the browser: readable by the owner only, removed when it is used or too old."""

    def __init__(self, folder: Path, origin: str) -> None:
        self.path, self._origin = folder / "open-the-desk.html", origin

    def write(self, token: str) -> Path:
        """Write the page anew."""
        self.remove()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_PAGE.format(origin=escape(self._origin), token=escape(token)))
        return self.path

    def remove(self) -> None:
        """Remove the page, if it is there."""
        self.path.unlink(missing_ok=True)
