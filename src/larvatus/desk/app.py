"""The pages of the desk as one Starlette application: which address shows or does what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from larvatus.core.errors import LarvatusError
from larvatus.desk.desk import Desk, job_plain
from larvatus.desk.entrance import DoorPage, Entrance
from larvatus.desk.guard import REPORT_POLICY, Guard
from larvatus.desk.page_request import LIST_OF_FILES, Action, PageRequest
from larvatus.desk.pages.compare_page import COMPARE_ACTIONS, show_compare
from larvatus.desk.pages.decide_page import DECIDE_ACTIONS, show_decide
from larvatus.desk.pages.keys_page import KEYS_ACTIONS, show_keys
from larvatus.desk.pages.masks_page import MASKS_ACTIONS, show_masks
from larvatus.desk.pages.open_page import OPEN_ACTIONS, show_open
from larvatus.desk.pages.roles_page import ROLES_ACTIONS, show_roles
from larvatus.desk.pages.run_page import RUN_ACTIONS, show_run
from larvatus.desk.refusals import NoSuchStudy, StaleStudy, problem_in
from larvatus.desk.rendering import chart_styles, frame_of, render_page
from larvatus.desk.study_folder import StudyFolder
from larvatus.desk.study_script import script_of
from larvatus.desk.uploads import receive_upload, upload_name
from larvatus.desk.wording import Wording, language_for, languages

_PAGES: Mapping[str, tuple[Callable[[PageRequest], dict[str, Any]], Mapping[str, Action]]] = {
    "open": (show_open, OPEN_ACTIONS), "roles": (show_roles, ROLES_ACTIONS), "keys": (show_keys, KEYS_ACTIONS),
    "masks": (show_masks, MASKS_ACTIONS), "run": (show_run, RUN_ACTIONS), "compare": (show_compare, COMPARE_ACTIONS),
    "decide": (show_decide, DECIDE_ACTIONS),
}
_ORDERS = ("pause", "continue", "cancel")
_REPORTS = {"internal": "report.html", "public": "report_public.html"}
_MOST_ROWS = 200
_DEMO = "households.csv"
_SEE_OTHER, _TOO_LARGE = 303, 413
_MOST_FIELDS = 5000


def make_app(desk: Desk, entrance: Entrance, host: str, cookie: str, door: DoorPage | None = None) -> Guard:
    """The application, behind its guard."""
    pages = _Pages(desk, entrance, cookie, door)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        desk.worker.start()
        yield
        await desk.close()

    study = "/study/{study:str}"
    routes = [
        Route("/", pages.home), Route("/enter", pages.ask_for_code), Route("/enter", pages.enter, methods=["POST"]),
        Route("/browse", pages.browse, methods=["POST"]), Route("/open", pages.open_file, methods=["POST"]),
        Route("/demo", pages.open_demo, methods=["POST"]), Route("/upload", pages.upload, methods=["POST"]),
        Route("/language", pages.set_language, methods=["POST"]),
        Route(f"{study}/events", pages.events), Route(f"{study}/rows", pages.rows), Route(f"{study}/jobs", pages.jobs),
        Route(f"{study}/study.toml", pages.toml), Route(f"{study}/study.py", pages.script),
        Route(f"{study}/report/{{edition:str}}", pages.report),
        Route(f"{study}/history/{{way:str}}", pages.go_in_history, methods=["POST"]),
        Route(f"{study}/job/{{order:str}}", pages.order, methods=["POST"]),
        Route(f"{study}/{{step:str}}", pages.show), Route(f"{study}/{{step:str}}/{{action:str}}", pages.act, methods=["POST"]),
        Route("/charts.css", pages.charts), Mount("/static", StaticFiles(directory=str(files("larvatus.desk") / "static"))),
    ]
    handlers = {Exception: _failed, NoSuchStudy: _not_found, 404: _not_found, _TOO_LARGE: _too_large}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    return Guard(app, host, cookie, entrance)


async def _failed(request: Request, error: Exception) -> Response:
    """An unexpected error: its kind only, because its text may hold data."""
    say = Wording(language_for(request.headers.get("accept-language", "")))
    return PlainTextResponse(say("work.unexpected", kind=type(error).__name__), 500)


async def _not_found(request: Request, error: Exception | None = None) -> Response:
    say = Wording(language_for(request.headers.get("accept-language", "")))
    return PlainTextResponse(say("frame.no_page"), 404)


async def _too_large(request: Request, error: Exception | None = None) -> Response:
    say = Wording(language_for(request.headers.get("accept-language", "")))
    return PlainTextResponse(say("guard.large"), _TOO_LARGE)


async def _form(request: Request) -> dict[str, list[str]]:
    """The fields of a form; the guard has limited its size."""
    raw = (await request.body()).decode("utf-8", "replace")
    out: dict[str, list[str]] = {}
    try:
        fields = parse_qsl(raw, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(_TOO_LARGE) from None
    for name, value in fields:
        out.setdefault(name, []).append(value)
    return out


class _Pages:
    """What each address answers."""

    def __init__(self, desk: Desk, entrance: Entrance, cookie: str, door: DoorPage | None) -> None:
        self.desk, self.entrance, self.cookie, self.door = desk, entrance, cookie, door
        self.language: str | None = None

    def say(self, request: Request) -> Wording:
        return Wording(self.language or language_for(request.headers.get("accept-language", "")))

    # --- entering -------------------------------------------------------------------------------------------------------

    async def ask_for_code(self, request: Request) -> Response:
        return render_page("enter", self.say(request), {"wrong": False, "inside": False})

    async def enter(self, request: Request) -> Response:
        """A token becomes a session. The answer is a page, not a redirection: only from it is the cookie sent."""
        token = (await _form(request)).get("token", [""])[0].strip()
        session = self.entrance.redeem(token)
        if session is None:
            return render_page("enter", self.say(request), {"wrong": True, "inside": False}, 403)
        if self.door is not None:
            self.door.remove()
        answer = render_page("enter", self.say(request), {"wrong": False, "inside": True})
        answer.set_cookie(self.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def set_language(self, request: Request) -> Response:
        wanted = (await _form(request)).get("language", [""])[0]
        self.language = wanted if wanted in languages() else self.language
        return Response(status_code=204)

    # --- home -----------------------------------------------------------------------------------------------------------

    def _home(self, request: Request, folder: str = "", problem: LarvatusError | None = None) -> HTMLResponse:
        try:
            entries = self.desk.root.entries(folder)
        except LarvatusError as error:
            folder, entries, problem = "", self.desk.root.entries(""), problem or error
        parts = folder.split("/") if folder else []
        trail = [("/".join(parts[: i + 1]), part) for i, part in enumerate(parts)]
        recent = self.desk.recent()
        studies = {self.desk.root.relative(s.path): s.id for s in recent if self.desk.root.path in s.path.parents}
        said = problem_in(problem, self.say(request)) if problem else None
        values = {"entries": entries, "studies": studies, "trail": trail, "folder": folder, "problem": said,
                  "root": self.desk.root.path.name or "/", "recent": recent}
        return render_page("home", self.say(request), values, 422 if problem else 200)

    async def home(self, request: Request) -> Response:
        return await run_in_threadpool(self._home, request)

    async def browse(self, request: Request) -> Response:
        form = await _form(request)
        return await run_in_threadpool(self._home, request, form.get("folder", [""])[0])

    async def open_file(self, request: Request) -> Response:
        form = await _form(request)
        relative = form.get("path", [""])[0]
        try:
            path = self.desk.root.resolve_table(relative)
            return _to(self.desk.open_source(path, path.name), "open")
        except LarvatusError as error:
            return self._home(request, "", error)

    async def open_demo(self, request: Request) -> Response:
        def fill(target: Any) -> None:
            from larvatus.datasets import households
            from larvatus.engines._files.targets import write_batches

            write_batches(((batch, ()) for batch in households(1000).to_batches()), target, "keep", None)

        try:
            return _to(self.desk.open_own(_DEMO, fill), "open")
        except LarvatusError as error:
            return self._home(request, "", error)

    async def upload(self, request: Request) -> Response:
        try:
            name = upload_name(unquote(request.headers.get("x-file-name", "")))
            expected = int(request.headers.get("content-length", "0"))
            place = self.desk.work or self.desk.root.path
            received = await receive_upload(request.stream(), expected, place)
            try:
                study = self.desk.open_own(name, received.rename)
            finally:
                received.unlink(missing_ok=True)
        except LarvatusError as error:
            return JSONResponse({"problem": problem_in(error, self.say(request))[0]}, 422)
        return JSONResponse({"next": f"/study/{study.id}/open"})

    # --- pages of a study -------------------------------------------------------------------------------------------------

    def _study(self, request: Request) -> StudyFolder:
        found = self.desk.study(request.path_params["study"])
        if found is None:
            raise NoSuchStudy
        return found

    def _page(self, request: Request, study: StudyFolder, step: str, form: Mapping[str, list[str]],
              problem: LarvatusError | None = None) -> Response:
        say = self.say(request)
        at = PageRequest(self.desk, study, say, form)
        shown, said = _PAGES[step][0](at), problem_in(problem, say) if problem else None
        status = 200 if problem is None else 409 if isinstance(problem, StaleStudy) else 422
        return render_page(step, say, {**frame_of(self.desk, study, step), **shown, "problem": said, "form": form}, status)

    async def show(self, request: Request) -> Response:
        step = request.path_params["step"]
        if step not in _PAGES:
            return await _not_found(request)
        try:
            return self._page(request, self._study(request), step, {})
        except LarvatusError as error:
            return self._home(request, "", error)

    async def act(self, request: Request) -> Response:
        """Do what a form asks for. If it cannot be done, the page says why, and nothing has changed."""
        step, action = request.path_params["step"], request.path_params["action"]
        does = _PAGES[step][1].get(action) if step in _PAGES else None
        if does is None:
            return await _not_found(request)
        form = await _form(request)
        try:
            study = self._study(request)
        except LarvatusError as error:
            return self._home(request, "", error)
        try:
            _check_version(study, form)
            following = does(PageRequest(self.desk, study, self.say(request), form))
        except LarvatusError as error:
            return self._page(request, study, step, form, error)
        return _to(study, following or step)

    async def go_in_history(self, request: Request) -> Response:
        study, form = self._study(request), await _form(request)
        step = form.get("step", ["open"])[0]
        step = step if step in _PAGES else "open"
        try:
            _check_version(study, form)
        except StaleStudy as error:
            return self._page(request, study, step, {}, error)
        self.desk.go_in_history(study, request.path_params["way"])
        return _to(study, step)

    async def order(self, request: Request) -> Response:
        study, order, form = self._study(request), request.path_params["order"], await _form(request)
        if order not in _ORDERS:
            return await _not_found(request)
        name = form.get("job", ["run"])[0]
        job = self.desk.worker.latest(study.id, name)
        if job is not None:
            await self.desk.worker.order(job, cast(Literal["pause", "continue", "cancel"], order))
        step = form.get("step", ["run"])[0]
        return _to(study, step if step in _PAGES else "run")

    # --- parts ------------------------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        study = self._study(request)

        async def stream() -> AsyncIterator[str]:
            for job in self.desk.worker.open_jobs(study.id):
                self.desk.events.tell(study.id, "job", job_plain(job))
            async for line in self.desk.events.stream(study.id):
                yield line

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def jobs(self, request: Request) -> Response:
        return JSONResponse([job_plain(j) for j in self.desk.worker.open_jobs(self._study(request).id)])

    async def rows(self, request: Request) -> Response:
        """A window of the rows of the source."""
        preview = self.desk.preview(self._study(request))
        first, count = (request.query_params.get(n, "0") for n in ("first", "count"))
        if preview is None or not (first.isdecimal() and count.isdecimal() and len(first) < 12):
            return JSONResponse({"rows": []}, 404)
        found = await run_in_threadpool(preview.window, int(first), min(int(count[:6]), _MOST_ROWS))
        return JSONResponse({"first": int(first), "rows": found})

    async def charts(self, request: Request) -> Response:
        return Response(chart_styles(), media_type="text/css")

    async def toml(self, request: Request) -> Response:
        return _download(self._study(request).text(), "study.toml")

    async def script(self, request: Request) -> Response:
        return _download(script_of(self._study(request)), "study.py")

    async def report(self, request: Request) -> Response:
        name = _REPORTS.get(request.path_params["edition"], "")
        study = self._study(request)
        path = study.results() / name
        if not name or not path.is_file() or not study.holds(path):
            return await _not_found(request)
        return HTMLResponse(path.read_text(encoding="utf-8"), headers={"content-security-policy": REPORT_POLICY})


def _check_version(study: StudyFolder, form: Mapping[str, list[str]]) -> None:
    """Refuse a change by a page that shows an older study, as in a second tab."""
    if form.get("version", [""])[0] != str(study.history.number):
        raise StaleStudy


def _to(study: StudyFolder, step: str) -> Response:
    return RedirectResponse(LIST_OF_FILES if step == LIST_OF_FILES else f"/study/{study.id}/{step}", _SEE_OTHER)


def _download(text: str, name: str) -> Response:
    return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


