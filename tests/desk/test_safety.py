"""Each rule of the desk's safety, attacked by raw requests. `test_rules.py` shows which test fails without which rule."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from desk.running_desk import RunningDesk
from larvatus.core.errors import LarvatusError
from larvatus.desk.entrance import LIFETIME, Entrance
from larvatus.desk.server import DeskServer, _has_loopback_6, bind_loopback

STEPS = ("open", "roles", "keys", "masks", "run", "compare", "decide")
PAGES = ("/", "/study/0000000000000000/open", "/study/0000000000000000/rows?first=0&count=5")


@pytest.fixture(scope="module")
def place(desk: RunningDesk) -> str:
    """The address of a study that is open."""
    return desk.open("survey.sav")


# --- the address ----------------------------------------------------------------------------------------------------------


def test_only_this_machine_is_listened_to(desk: RunningDesk):
    own = bind_loopback(0)
    for made in (desk.server.sockets, own):
        assert [s.getsockname()[0] for s in made] in (["127.0.0.1", "::1"], ["127.0.0.1"])
        assert len({s.getsockname()[1] for s in made}) == 1
    for made in own:
        made.close()


@pytest.mark.skipif(not _has_loopback_6(), reason="no IPv6 on this machine")
def test_nobody_else_has_the_port_at_the_other_loopback_address(desk: RunningDesk):
    """Browsers try ::1 first: whoever listens there would be sent the token and the cookie."""
    port = int(desk.server.host.rpartition(":")[2])
    with socket.socket(socket.AF_INET6) as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            thief.bind(("::1", port))
    with socket.create_connection(("::1", port), 10) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 421"), "the desk itself answers"
    with socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", 0))
        other.listen()
        with pytest.raises(LarvatusError, match="--port"):
            bind_loopback(other.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 65_536, 99_999_999_999])
def test_a_port_that_does_not_exist_is_refused(port):
    with pytest.raises(LarvatusError, match=f"port {port} does not exist"):
        bind_loopback(port)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "desk.localhost", ""])
def test_another_host_gets_nothing(desk: RunningDesk, host: str):
    """DNS rebinding: a page of another name that resolves to this machine."""
    port = desk.server.host.rpartition(":")[2]
    for name in (f"{host}:{port}", host):
        answer = desk.get("/", Host=name)
        assert answer.status == 421
        assert "survey" not in answer.text


def test_two_hosts_or_none_get_nothing(desk: RunningDesk):
    port = int(desk.server.host.rpartition(":")[2])
    for lines in (f"Host: {desk.server.host}\r\nHost: evil.example\r\n", ""):
        with socket.create_connection(("127.0.0.1", port), 10) as raw:
            raw.sendall(f"GET / HTTP/1.1\r\n{lines}Cookie: {desk.cookie}\r\nConnection: close\r\n\r\n".encode())
            said = b""
            while part := raw.recv(65536):
                said += part
        assert said.startswith(b"HTTP/1.1 4")
        assert b"survey" not in said


# --- the token and the cookie ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_without_a_session_nothing_is_shown(desk: RunningDesk, page: str):
    """Another user of this machine, who knows the address."""
    for cookie in (None, "", "larvatus=1", desk.cookie[:-3] + "abc", desk.cookie.split("=")[0] + "="):
        answer = desk.get(page, Cookie=cookie)
        assert answer.status == 401
        assert "survey" not in answer.text


def test_a_token_works_once(desk: RunningDesk):
    _, token = desk.server.new_page()
    assert desk.post("/enter", {"token": token}, Origin="null", Cookie=None).status == 200
    again = desk.post("/enter", {"token": token}, Origin="null", Cookie=None)
    assert again.status == 403
    assert "set-cookie" not in again.headers


def test_a_wrong_token_does_not_work(desk: RunningDesk):
    _, token = desk.server.new_page()
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase()):
        assert desk.post("/enter", {"token": wrong}, Origin="null", Cookie=None).status == 403
    assert desk.post("/enter", {"token": token}, Origin="null", Cookie=None).status == 200, "the right one still works"


def test_a_token_works_for_a_minute_only():
    now = [0.0]
    entrance = Entrance(lambda: now[0])
    late = entrance.new_token()
    now[0] += LIFETIME + 0.1
    assert entrance.redeem(late) is None
    assert entrance.redeem(entrance.new_token()) is not None
    assert LIFETIME == 60


def test_a_new_token_replaces_the_one_before():
    entrance = Entrance()
    first, second = entrance.new_token(), entrance.new_token()
    assert entrance.redeem(first) is None
    assert entrance.redeem(second) is not None


def test_the_cookie_is_for_this_desk_alone(desk: RunningDesk):
    """Not for scripts, not for other sites; and the name of the host is random, so that other ports are not sent it."""
    said = RunningDesk(desk.server).enter().headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert "domain" not in said
    assert "expires" not in said
    assert "max-age" not in said
    name = desk.server.host.partition(".")[0]
    assert re.fullmatch(r"desk-[0-9a-f]{12}", name)
    assert desk.cookie.startswith(f"larvatus-{name}=")


def test_the_local_page_is_for_its_owner_and_goes_away(desk: RunningDesk):
    path, token = desk.server.new_page()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    page = path.read_text()
    assert token in page
    assert '<form method="post"' in page, "else the token would be in the next address"
    assert not re.search(rf"(href|url|action)=[^ >]*{re.escape(token)}", page), "a token is in no address"
    desk.post("/enter", {"token": token}, Origin="null", Cookie=None)
    assert not path.exists()


# --- other sites ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [
    "http://evil.example", "null", None, "http://127.0.0.1:1", "https://{host}", "http://{host}.evil.example",
])
@pytest.mark.parametrize("path", ["/demo", "/open", "/browse", "/upload", "/language"])
def test_another_site_cannot_post(desk: RunningDesk, root: Path, origin: str | None, path: str):
    """Cross-site requests, with the cookie of the user."""
    before = sorted(root.iterdir())
    answer = desk.post(path, {"path": "survey.sav", "language": "de"}, Origin=origin and origin.format(host=desk.server.host))
    assert answer.status == 403
    assert sorted(root.iterdir()) == before


def test_a_page_of_another_port_cannot_ask(desk: RunningDesk):
    """Browsers count another port of this machine as the same site; the desk does not."""
    for site in ("cross-site", "same-site"):
        assert desk.get("/", Sec_Fetch_Site=site).status == 403
        assert desk.post("/demo", Sec_Fetch_Site=site).status == 403
    assert desk.get("/", Sec_Fetch_Site="same-origin").status == 200


def test_no_site_may_read_answers_or_frame_pages(desk: RunningDesk):
    for path in ("/", "/static/desk.js", "/enter"):
        headers = desk.get(path, Origin="http://evil.example").headers
        assert not [n for n in headers if n.startswith("access-control")]
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
    assert desk.ask("OPTIONS", "/", Origin="http://evil.example", Access_Control_Request_Method="POST").status == 405


@pytest.mark.parametrize("path", [
    "/demo", "/open?path=survey.sav", "/browse", "/upload", "/language?language=de",
    "/study/{id}/roles/role?column=age&role=none", "/study/{id}/history/undo", "/study/{id}/run/start",
    "/study/{id}/job/cancel", "/study/{id}/masks/add?method=additive_noise",
])
def test_no_get_changes_anything(desk: RunningDesk, place: str, root: Path, path: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    before = (study.history, sorted(p for p in root.rglob("*")), study.text())
    answer = desk.get(path.format(id=study.id))
    assert answer.status in (404, 405)
    assert (study.history, sorted(p for p in root.rglob("*")), study.text()) == before


def test_looking_at_a_page_starts_no_work(desk: RunningDesk, place: str):
    before = desk.server.desk.worker._jobs.copy()
    for step in STEPS:
        assert desk.get(f"{place}/{step}").status == 200
    assert desk.server.desk.worker._jobs == before


# --- files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [
    "../outside.csv", "link.csv", "linked/outside.csv", "/etc/passwd", "..", "linked", "%2e%2e/outside.csv", "..\\outside.csv",
    "survey.sav/../../outside.csv", "\0", "./../outside.csv", "file:///etc/passwd", "postgresql://localhost/x",
])
@pytest.mark.parametrize("action", ["/open", "/browse"])
def test_no_path_leads_out_of_the_root(desk: RunningDesk, root: Path, path: str, action: str):
    before = sorted(p.name for p in root.parent.rglob("*-study"))
    answer = desk.post(action, {"path": path, "folder": path})
    assert answer.status == 422
    assert "secret_column" not in answer.text
    assert "outside.csv" not in answer.text.replace(path, "")
    assert sorted(p.name for p in root.parent.rglob("*-study")) == before


def test_links_out_of_the_root_are_not_listed(desk: RunningDesk):
    page = desk.get("/").text
    assert "survey.sav" in page
    assert "link.csv" not in page
    assert ">linked<" not in page


def test_steps_and_files_of_a_study_stay_below_the_root(desk: RunningDesk, place: str, root: Path):
    """A list of records, and a file to score or to verify, are paths too."""
    desk.act(place, "masks/add", method="additive_noise")
    study = desk.server.desk.study(place.rpartition("/")[2])
    before = study.text()
    answer = desk.act(place, "masks/set", release="0", step="0", **{"setting.where": f"@{root.parent / 'outside.csv'}"})
    assert answer.status == 422
    assert study.text() == before
    for action in ("compare/elsewhere", "decide/verify"):
        assert desk.act(place, action, path="../outside.csv", release="x").status == 422
    for name in ("../../out.csv", "/abs.csv", ".hidden.csv", "a/b.csv"):
        assert desk.act(place, "decide/export", name=name, format=".csv", release="x").status == 422


def test_a_planted_study_is_not_opened(desk: RunningDesk, root: Path, monkeypatch: pytest.MonkeyPatch):
    """Someone else who can write below the root names a file outside it, or a secret that he knows."""
    from larvatus.desk.study_folder import StudyFolder, studies_below

    planted = StudyFolder.create(root, "planted", {"source": "../../outside.csv"}, "planted.csv")
    assert planted.id not in [s.id for s in desk.server.desk.recent()]
    assert desk.get(f"/study/{planted.id}/open").status == 422
    honest = StudyFolder.create(root, "honest", {"source": "../survey.sav"}, "honest.sav")
    assert honest.path in studies_below(root)
    monkeypatch.setattr("os.getuid", lambda: 123456)
    assert studies_below(root) == []


def test_static_files_do_not_lead_out(desk: RunningDesk):
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/"):
        assert desk.get(path).status in (404, 405)


# --- uploads --------------------------------------------------------------------------------------------------------------


def test_an_upload_has_a_plain_name_in_its_own_folder(desk: RunningDesk, root: Path):
    raw = b"a,b\n" + b"1,2\n" * 30
    answer = desk.ask("POST", "/upload", raw, X_File_Name="..%2F..%2F.%2Fevil.csv")
    assert answer.status == 200
    assert (root / "evil-study" / "evil.csv").read_bytes() == raw
    assert stat.S_IMODE((root / "evil-study").stat().st_mode) == 0o700
    assert not list(root.parent.glob("evil*"))
    assert not list(root.glob(".upload*"))


@pytest.mark.parametrize(("name", "length"), [("x.exe", 10), ("x.csv", 0), ("x.csv", 10**15), ("", 10)])
def test_bad_uploads_leave_nothing(desk: RunningDesk, root: Path, name: str, length: int):
    before = sorted(p.name for p in root.iterdir())
    answer = desk.ask("POST", "/upload", b"", X_File_Name=name, Content_Length=str(length))
    assert answer.status in (413, 422)
    assert sorted(p.name for p in root.iterdir()) == before


def test_a_form_is_bounded(desk: RunningDesk):
    assert desk.ask("POST", "/browse", b"", Content_Length="1000001").status == 413
    assert desk.ask("POST", "/browse", b"", Content_Length="-1").status in (400, 413)


@pytest.mark.parametrize("path", ["/enter", "/browse", "/upload"])
def test_a_body_of_unknown_length_is_refused(desk: RunningDesk, path: str):
    """Sent in chunks, it would have no bound; nobody needs a session to send one to /enter."""
    answer = desk.ask("POST", path, b"5\r\nabcde\r\n0\r\n\r\n", Transfer_Encoding="chunked", Content_Length=None)
    assert answer.status == 411


@pytest.mark.parametrize("part", ["study.toml", "study.py", "rows", "jobs", "events", "report/internal"])
def test_a_study_that_does_not_exist_is_not_an_error_of_the_desk(desk: RunningDesk, part: str):
    assert desk.get(f"/study/0000000000000000/{part}").status == 404


# --- what is told -----------------------------------------------------------------------------------------------------------


def test_titles_and_addresses_name_no_file(desk: RunningDesk, place: str):
    for step in STEPS:
        page = desk.get(f"{place}/{step}").text
        title = re.search(r"<title>(.*?)</title>", page)[1]
        assert "survey" not in title
        assert not [a for a in re.findall(r'(?:href|action)="([^"]*)"', page) if "survey" in a or "income" in a]


def test_the_secret_is_never_sent(desk: RunningDesk, place: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    secret = study.secret_path()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    text = secret.read_text().strip()
    for page in ("open", "roles", "masks", "run", "decide", "study.toml", "study.py", "jobs"):
        assert text not in desk.get(f"{place}/{page}").text


def test_the_secret_is_no_data_file(desk: RunningDesk, place: str, root: Path):
    """It ends in .txt and is below the root, but it is neither offered nor read, under whatever name."""
    study = desk.server.desk.study(place.rpartition("/")[2])
    relative = study.secret_path().relative_to(root).as_posix()
    (root / "innocent.txt").symlink_to(study.secret_path())
    try:
        for path in (relative, "innocent.txt", f"{study.path.name}/.larvatus-desk/history.json"):
            assert desk.post("/open", {"path": path}).status == 422
            assert desk.act(place, "compare/elsewhere", path=path).status == 422
            assert desk.act(place, "decide/verify", path=path).status == 422
        listed = desk.post("/browse", {"folder": study.path.name}).text + desk.get("/").text
        assert "secret.txt" not in listed
        assert "innocent.txt" not in listed
        (study.path / "x.codebook.csv").write_text("column,meaning\n")
        listed_files = desk.server.desk.root.data_files()
        assert not [f for f in listed_files if "secret" in f or "innocent" in f or "codebook" in f]
        desk.act(place, "masks/add", method="additive_noise")
        assert desk.act(place, "masks/set", release="0", step="0", **{"setting.where": "@secret.txt"}).status == 422
    finally:
        (root / "innocent.txt").unlink()


def test_a_planted_study_of_a_secret_is_not_opened(desk: RunningDesk, root: Path):
    from larvatus.desk.study_folder import StudyFolder

    planted = StudyFolder.create(root, "own", {"source": "secret.txt"}, "own.txt")
    planted.secret_path()
    assert planted.id not in [s.id for s in desk.server.desk.recent()]


def test_an_error_tells_its_kind_only(
    desk: RunningDesk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    def broken(*_: object) -> None:
        raise ValueError("income of record 17 is 12345")

    monkeypatch.setattr("larvatus.desk.app.render_page", broken)
    answer = desk.get("/")
    assert answer.status == 500
    assert "12345" not in answer.text
    assert desk.get("/static/desk.js").status == 200  # by now a log would be written
    told = capfd.readouterr()
    assert "12345" not in told.out + told.err + caplog.text


def test_nothing_is_logged(desk: RunningDesk, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture):
    place = desk.open("survey.sav")
    desk.get(f"{place}/rows?first=0&count=5")
    desk.get("/nothing-here")
    told = capfd.readouterr()
    assert told.out + told.err + "".join(r.getMessage() for r in caplog.records if "survey" in r.getMessage()) == ""


def test_a_report_is_shown_apart_from_the_desk(desk: RunningDesk, place: str):
    """Its scripts run in a sandbox: they are of no origin, and have no access to the desk."""
    study = desk.server.desk.study(place.rpartition("/")[2])
    study.results().mkdir(exist_ok=True)
    (study.results() / "report.html").write_text("<!doctype html><script>1</script>")
    answer = desk.get(f"{place}/report/internal")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    assert desk.get(f"{place}/report/..%2fstudy.toml").status == 404


def test_the_command_line_of_the_browser_has_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Other users can see the arguments of processes."""
    import larvatus.desk.server as serving

    opened: list[str] = []
    monkeypatch.setattr(serving.webbrowser, "open", lambda address: opened.append(address) or True)
    tokens: list[str] = []

    class Ended(DeskServer):
        def new_page(self) -> tuple[Path, str]:
            path, token = super().new_page()
            tokens.append(token)
            return path, token

        def serve(self, on_start=lambda: None) -> None:
            on_start()
            for made in self.sockets:
                made.close()
            self.desk.private.close()

    monkeypatch.setattr(serving, "DeskServer", Ended)
    monkeypatch.setattr(serving.threading, "Timer", lambda *_: type("T", (), {"start": lambda self: None})())
    said: list[str] = []
    serving.run_desk(tmp_path, 0, None, True, said.append)
    assert len(opened) == len(tokens) == 1
    assert opened[0].startswith("file://")
    assert tokens[0] not in opened[0] + "".join(said)


def test_private_files_go_with_the_desk(tmp_path: Path):
    from desk.running_desk import running_desk

    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 40)
    with running_desk(tmp_path) as one:
        one.enter()
        one.open("a.csv")
        private = one.server.desk.private.path
        assert list(private.glob("*.parquet"))
        assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in private.glob("*.parquet"))
    assert not private.exists()


def test_importing_the_server_needs_only_the_extra(tmp_path: Path):
    """Without the extra, the command says what to install."""
    code = ("import sys; sys.modules['uvicorn'] = None; from larvatus.cli.main import main; "
            f"sys.exit(main(['desk', {str(tmp_path)!r}]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "larvatus[desk]" in done.stderr


# --- attacks by those who can write below the root ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["parts", "pipe.csv", "base.db", "base.duckdb", "notes.html"])
def test_only_plain_data_files_are_opened(desk: RunningDesk, place: str, root: Path, name: str):
    """A folder may hold links that lead out, a database may name other files, and a pipe would never end."""
    path = root / name
    if name == "parts":
        path.mkdir()
        (path / "link.csv").symlink_to(root.parent / "outside.csv")
    elif name == "pipe.csv":
        os.mkfifo(path)
    else:
        path.write_text("x,y\n1,2\n")
    before = sorted(p.name for p in root.glob("*-study"))
    try:
        answer = desk.post("/open", {"path": name})
        assert answer.status == 422
        assert "secret_column" not in answer.text
        assert sorted(p.name for p in root.glob("*-study")) == before
        for action in ("compare/elsewhere", "decide/verify"):
            assert "cannot read files of this kind" in desk.act(place, action, path=name).text, action
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_report_that_is_a_link_is_not_shown(desk: RunningDesk, place: str, root: Path):
    study = desk.server.desk.study(place.rpartition("/")[2])
    study.results().mkdir(exist_ok=True)
    report = study.results() / "report_public.html"
    report.write_text("<!doctype html>own")
    assert desk.get(f"{place}/report/public").status == 200
    report.unlink()
    report.symlink_to(root.parent / "outside.csv")
    try:
        answer = desk.get(f"{place}/report/public")
        assert answer.status == 404
        assert "secret_column" not in answer.text
    finally:
        report.unlink()


def test_no_release_is_written_through_a_link(desk: RunningDesk, place: str, root: Path):
    study = desk.server.desk.study(place.rpartition("/")[2])
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (study.path / "shared").symlink_to(elsewhere)
    try:
        assert desk.act(place, "decide/export", name="x", format=".csv", release="x").status == 422
        assert desk.server.desk.worker.latest(study.id, "export") is None
    finally:
        (study.path / "shared").unlink()
    assert not list(elsewhere.iterdir())


def test_two_lengths_are_refused(desk: RunningDesk):
    """Two requests in one, told apart by their lengths, would let a second one pass unseen."""
    port = int(desk.server.host.rpartition(":")[2])
    inner = f"POST /demo HTTP/1.1\r\nHost: {desk.server.host}\r\nContent-Length: 0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as raw:
        raw.sendall((f"POST /enter HTTP/1.1\r\nHost: {desk.server.host}\r\nContent-Length: 0\r\n"
                     f"Content-Length: {len(inner)}\r\nConnection: close\r\n\r\n{inner}").encode())
        said = b""
        while part := raw.recv(65536):
            said += part
    assert said.startswith(b"HTTP/1.1 4")
    assert said.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(("accepts", "said"), [("de-AT", "nicht unter dem Ordner"), ("fr", "n’est pas sous le dossier")])
def test_refusals_are_in_the_language_of_the_page(desk: RunningDesk, accepts: str, said: str):
    page = desk.post("/open", {"path": "../outside.csv"}, Accept_Language=accepts).text
    assert said in page
    assert f'<div lang="{accepts[:2]}"><p>' in page
    assert "terminal" in desk.get("/", Cookie=None, Accept_Language=accepts).text.lower()
    assert "Open the desk" not in desk.get("/", Cookie=None, Accept_Language=accepts).text
