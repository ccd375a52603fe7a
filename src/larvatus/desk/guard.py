"""What every request must pass before the desk looks at it, and the headers that every answer carries.

In this order: the name of the server (against DNS rebinding), the page that sent the request (against other sites, and other
ports of this machine, which browsers count as the same site), the session (against other users of this machine), the size.
"""

from __future__ import annotations

import os
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from larvatus.desk.entrance import Entrance
from larvatus.desk.wording import Wording, language_for

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (  # a report has its own scripts and styles in one file: it is shown in a sandbox, apart from the desk
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
OPEN, OPEN_FOLDER = ("/enter", "/charts.css"), "/static/"  # what needs no session: it shows nothing of a study
LARGEST_FORM = 1_000_000  # bytes
_HEADERS = {  # no-referrer would take the origin from forms that the browser sends without a script
    "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """An ASGI application around that of the desk, which answers what may not pass."""

    def __init__(self, app: ASGIApp, host: str, cookie: str, entrance: Entrance) -> None:
        self.app, self.host, self.cookie, self.entrance = app, host, cookie, entrance
        self.origin = f"http://{host}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # web sockets: there are none
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        answer = PlainTextResponse(_said(scope, refusal[1]), refusal[0]) if refusal else None
        try:
            await (answer or self.app)(scope, receive, _with_headers(send))
        except Exception:  # answered already; a log would show its text, which may hold data
            if os.environ.get("LARVATUS_DEBUG"):
                raise

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The code of a refusal and the key of its text; None if the request may pass."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        if headers.getlist("host") != [self.host]:
            return 421, "guard.address"
        if method not in ("GET", "HEAD", "POST"):
            return 405, "guard.method"
        if not self._comes_from_here(headers, method, path):
            return 403, "guard.origin"
        if "transfer-encoding" in headers:  # a body of unknown length; browsers state the length of forms and files
            return 411, "guard.length"
        length = headers.get("content-length", "0")
        if method == "POST" and (not length.isdecimal() or (path != "/upload" and int(length) > LARGEST_FORM)):
            return 413, "guard.large"
        if path not in OPEN and not path.startswith(OPEN_FOLDER) and not self.entrance.knows(_cookie(headers, self.cookie)):
            return 401, "guard.enter"
        return None

    def _comes_from_here(self, headers: Headers, method: str, path: str) -> bool:
        """Whether a page of the desk, the address bar, or, to enter, the local page sent the request."""
        site = headers.get("sec-fetch-site", "none")
        entering = path == "/enter"
        if method == "POST":
            origin = headers.get("origin")
            return entering or (origin == self.origin and site in ("none", "same-origin"))
        return site in ("none", "same-origin") or entering


def _said(scope: Scope, key: str) -> str:
    """A refusal in the language of the browser."""
    say = Wording(language_for(Headers(scope=scope).get("accept-language", "")))
    return say(key)


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("content-security-policy", POLICY)
        await send(message)

    return send_with_headers
