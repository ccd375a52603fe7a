"""Further attempts to break in, or to make the desk keep what no page would send."""

from __future__ import annotations

import json
import shutil
import socket
import stat
import time
from pathlib import Path

import pytest

from desk.desk_browser import Visitor, needs_browser, open_browser
from desk.running_desk import RunningDesk, running_desk
from labelled_sample import SPSS_META, survey, write_spss
from larvatus.desk.refusals import Refusal


@pytest.fixture(scope="module")
def place(desk: RunningDesk) -> str:
    return desk.open("survey.sav")


def study_at(desk: RunningDesk, place: str):
    return desk.server.desk.study(place.rpartition("/")[2])


def test_a_late_token_is_refused_over_the_network(desk: RunningDesk, monkeypatch: pytest.MonkeyPatch):
    _, token = desk.server.new_page()
    monkeypatch.setattr(desk.server.entrance, "_now", lambda: time.monotonic() + 61)
    answer = desk.post("/enter", {"token": token}, Origin="null", Cookie=None)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/enter/", "/entering", "/charts.css/x", "/charts.cssx", "/static", "/enter/../study/x/open"])
def test_only_whole_addresses_need_no_session(desk: RunningDesk, path: str):
    assert desk.get(path, Cookie=None).status == 401


@pytest.mark.parametrize("path", ["/demo", "/open?path=survey.sav", "/study/{id}/run/start", "/study/{id}/history/undo"])
def test_head_changes_nothing(desk: RunningDesk, place: str, root: Path, path: str):
    study = study_at(desk, place)
    before = sorted(root.iterdir()), study.history
    assert desk.ask("HEAD", path.format(id=study.id)).status in (404, 405)
    assert (sorted(root.iterdir()), study.history) == before


def test_a_whole_address_in_the_first_line_does_not_replace_the_host(desk: RunningDesk):
    """A proxy's form of a request: the name that counts is the one in the header."""
    port = int(desk.server.host.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 10) as raw:
        raw.sendall(f"GET http://{desk.server.host}/ HTTP/1.1\r\nHost: evil.example\r\nCookie: {desk.cookie}\r\n"
                    "Connection: close\r\n\r\n".encode())
        said = b""
        while part := raw.recv(65536):
            said += part
    assert b"survey.sav" not in said
    assert said.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "-5", "101", "x", "0x10", "1;2"])
def test_limits_are_numbers_from_0_to_100(desk: RunningDesk, place: str, value: str):
    before = study_at(desk, place).text()
    for action, name in (("compare/above", "above"), ("compare/loss", "loss"), ("keys/coarser", "most")):
        assert desk.act(place, action, **{name: value}).status == 422, action
    assert study_at(desk, place).text() == before


@pytest.mark.parametrize("method", ["", "..attacks.key_risk", "__init__", "os", "additive_noise\0", "../recoding"])
def test_only_masks_are_steps(desk: RunningDesk, place: str, method: str):
    before = study_at(desk, place).text()
    assert desk.act(place, "masks/add", method=method, name="x").status == 422
    assert study_at(desk, place).text() == before


@pytest.mark.parametrize(("name", "format"), [
    ("x" * 101, ".csv"), ("a\nb", ".csv"), ("x", ".exe"), ("x", "/../../x.csv"), ("x", ""), ("release", ".manifest.json"),
])
def test_a_release_is_written_under_a_plain_name_in_a_known_format(desk: RunningDesk, place: str, name: str, format: str):
    assert desk.act(place, "decide/export", name=name, format=format, release="x").status == 422
    assert desk.server.desk.worker.latest(study_at(desk, place).id, "export") is None


def test_an_unknown_release_is_not_approved(desk: RunningDesk, place: str):
    desk.act(place, "decide/approve", release="../../x", by="A. Keeper", reason="x", despite="1")
    desk.wait(place)
    assert not study_at(desk, place).about.get("approved")
    assert desk.get(f"{place}/decide").status == 200


def test_a_manifest_that_is_a_link_is_not_read(desk: RunningDesk, place: str, root: Path):
    """Next to a file that comes back, someone puts a link that leads out of the root."""
    (root / "back.csv").write_text("x,y\n1,2\n")
    (root / "back.manifest.json").symlink_to(root.parent / "outside.csv")
    try:
        answer = desk.act(place, "decide/verify", path="back.csv")
        assert answer.status == 422
        assert "not below the folder" in answer.text
    finally:
        (root / "back.manifest.json").unlink()
        (root / "back.csv").unlink()


def test_more_fields_than_a_page_has_are_no_way_to_stop_the_desk(desk: RunningDesk, place: str):
    body = "&".join(f"f{i}=1" for i in range(6000)).encode()
    answer = desk.ask("POST", f"{place}/roles/role", body, Content_Type="application/x-www-form-urlencoded")
    assert answer.status == 413
    assert desk.get(f"{place}/roles").status == 200


def test_a_page_of_an_older_study_changes_nothing(desk: RunningDesk, place: str):
    """A second tab, or a form that was sent before: nobody overwrites what he has not seen."""
    study = study_at(desk, place)
    desk.act(place, "open/purpose", purpose="a first purpose")
    old, before = desk.version(place), study.text()
    desk.act(place, "open/purpose", purpose="")
    changed = study.text()
    assert changed != before
    for path in ("roles/role", "history/undo", "history/redo"):
        for version in (old, "", "x"):
            answer = desk.post(f"{place}/{path}", {"version": version, "column": "age", "role": "none"})
            assert answer.status == 409, path
    assert study.text() == changed


@pytest.mark.parametrize("step", ["//evil.example", "../../enter", "nothing", "http://evil.example"])
def test_no_answer_leads_elsewhere(desk: RunningDesk, place: str, step: str):
    for path, shown in (("history/undo", "open"), ("history/redo", "open"), ("job/cancel", "run")):
        answer = desk.post(f"{place}/{path}", {"version": desk.version(place), "step": step, "job": "run"})
        assert answer.headers["location"] == f"{place}/{shown}"


def test_only_known_orders_and_languages(desk: RunningDesk, place: str):
    for order in ("kill", "start", "..", "pause%00"):
        assert desk.post(f"{place}/job/{order}", {"job": "run"}).status == 404
    desk.post("/language", {"language": "../../x"})
    assert desk.get(f"{place}/roles").status == 200


def test_rows_are_sent_in_small_windows(desk: RunningDesk, place: str):
    assert len(json.loads(desk.get(f"{place}/rows?first=0&count=300").text)["rows"]) == 200
    assert json.loads(desk.get(f"{place}/rows?first=99999999999&count=5").text)["rows"] == []
    for first, count in (("-1", "5"), ("x", "5"), ("0", "-5"), ("9" * 12, "5"), ("1e3", "5"), ("0", "")):
        assert desk.get(f"{place}/rows?first={first}&count={count}").status == 404, (first, count)


def test_names_and_labels_are_only_text_without_a_browser(desk: RunningDesk, root: Path):
    hostile = "<img src=x onerror=alert(1)>"
    (root / "text.csv").write_text(f'income,"{hostile}"\n' + "1.5,b\n2.5,d\n" * 40)
    place = desk.open("text.csv")
    desk.act(place, "open/purpose", purpose=hostile)
    for step in ("open", "roles", "keys", "masks"):
        page = desk.get(f"{place}/{step}").text
        assert hostile not in page, step
        assert "&lt;img src=x onerror=alert(1)&gt;" in page, step


@pytest.mark.parametrize("name", ["a\\b.csv", "{root}/survey.sav", ".hidden.csv"])
def test_odd_names_are_neither_listed_nor_opened(desk: RunningDesk, root: Path, name: str):
    """Backslashes are folders elsewhere, whole paths name the machine, and hidden files are nobody's business."""
    name = name.format(root=root)
    made = root / name
    if not made.exists():
        made.write_text("x,y\n1,2\n")
    try:
        assert name not in desk.get("/").text
        if not name.startswith("."):
            assert desk.post("/open", {"path": name}).status == 422
    finally:
        if made.name != "survey.sav":
            made.unlink()


@pytest.mark.parametrize("plain", [
    {"source": "postgresql://localhost/x"}, {"source": "postgresql://localhost/x.csv"}, {"source": "file:///etc/x.csv"},
    {"source": {"file": "s3://bucket/x.csv"}}, {"source": "../base.duckdb"}, {"source": "../base.db", "table": "x"},
    {"source": "../survey.sav", "catalog": "../../outside.csv"},
    {"source": "../survey.sav", "password_file": "../../outside.csv"},
    {"source": "../survey.sav", "intruder": {"file": "../../outside.csv"}},
    {"source": "../survey.sav", "intruder": {"other_releases": ["../../outside.csv"]}},
    {"source": "../survey.sav", "roles": {"taxonomies": {"town": "../../outside.csv"}}},
    {"source": "../survey.sav", "release": [{"name": "a", "steps": [{"method": "rounding", "where": "@../../outside.csv"}]}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "../../outside.csv", "paired": False}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "../link.csv", "paired": False}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "file:///etc/x.csv"}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "../base.duckdb"}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "../li*k.csv"}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "secret.txt", "paired": False}]},
    {"source": "../survey.sav", "release": [{"name": "a", "file": "../survey.sav", "pairing": "../../outside.csv"}]},
    {"source": "../survey.sav", "holdout": {"file": "../../outside.csv"}},
    {"source": "../survey.sav", "holdout": {"records": "../../outside.csv"}},
    {"source": "../survey.sav", "holdout": {"file": "../li*k.csv"}},
    {"source": "../li*k.csv"},
    {"source": "../survey.sav", "search": [{"name": "a", "steps": [{"method": "rounding", "where": "@../../outside.csv"}]}]},
    {"source": "../survey.sav", "catalog": "secret.txt"},
])
def test_every_file_that_a_study_names_is_below_the_root(desk: RunningDesk, root: Path, plain: dict):
    from larvatus.desk.study_folder import StudyFolder

    planted = StudyFolder.create(root, "planted", plain, "planted")
    planted.secret_path()
    try:
        assert planted.id not in [s.id for s in desk.server.desk.recent()]
        with pytest.raises(Refusal):
            desk.server.desk.change(planted, plain, "role")
    finally:
        shutil.rmtree(planted.path)


@pytest.mark.parametrize("source", ["../../outside.csv", "secret.txt", "../link.csv", ".larvatus-desk/about.json"])
def test_the_source_of_a_study_is_a_data_file_below_the_root(desk: RunningDesk, root: Path, source: str):
    from larvatus.desk.study_folder import StudyFolder

    planted = StudyFolder.create(root, "planted", {"source": source}, "planted")
    planted.secret_path()
    try:
        with pytest.raises(Refusal):
            desk.server.desk.source(planted)
    finally:
        shutil.rmtree(planted.path)


def test_a_file_that_became_a_link_is_not_read(desk: RunningDesk, root: Path):
    """The data of an open study are replaced by a link that leads out of the root."""
    (root / "moved.csv").write_text("income,age\n" + "1.5,20\n2.5,30\n" * 40)
    place = desk.open("moved.csv")
    desk.act(place, "masks/add", method="additive_noise")
    study, worker = study_at(desk, place), desk.server.desk.worker
    (root / "moved.csv").unlink()
    (root / "moved.csv").symlink_to(root.parent / "outside.csv")
    try:
        for action, job in (("keys/look", "keys"), ("masks/look", "advise"), ("run/start", "run"), ("open/look", "examine")):
            before = worker.latest(study.id, job)
            assert desk.act(place, action).status == 422, action
            assert worker.latest(study.id, job) is before, action
    finally:
        (root / "moved.csv").unlink()
        shutil.rmtree(study.path)


def test_a_secret_and_notes_are_private_in_capitals_too(desk: RunningDesk, place: str, root: Path):
    """Some file systems do not tell capitals from small letters."""
    study = study_at(desk, place)
    (study.path / "Secret.TXT").write_text("x,y\n1,2\n")
    (study.path / ".Larvatus-Desk").mkdir()
    (study.path / ".Larvatus-Desk" / "a.csv").write_text("x,y\n1,2\n")
    try:
        for name in ("Secret.TXT", ".Larvatus-Desk/a.csv"):
            assert desk.post("/open", {"path": f"{study.path.name}/{name}"}).status == 422, name
    finally:
        (study.path / "Secret.TXT").unlink()
        shutil.rmtree(study.path / ".Larvatus-Desk")


def test_what_the_desk_notes_is_for_its_owner(desk: RunningDesk, place: str):
    study = study_at(desk, place)
    study.secret_path()
    inner = study.path / ".larvatus-desk"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (study.path, inner)] == [0o700, 0o700]
    found = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (*inner.iterdir(), study.path / "secret.txt")}
    assert {"about.json", "history.json", "examine.json", "secret.txt"} <= set(found)
    assert set(found.values()) == {0o600}


def test_studies_behind_links_are_not_listed(desk: RunningDesk, root: Path):
    from larvatus.desk.study_folder import StudyFolder, studies_below

    (root.parent / "elsewhere-studies").mkdir()
    outside = StudyFolder.create(root.parent / "elsewhere-studies", "x", {"source": "../x.csv"}, "x.csv")
    assert outside.path not in [p.resolve() for p in studies_below(root)]
    assert outside.id not in [s.id for s in desk.server.desk.recent()]


def test_only_reports_are_shown_as_reports(desk: RunningDesk, place: str):
    study = study_at(desk, place)
    study.results().mkdir(exist_ok=True)
    (study.results() / "other.html").write_text("<!doctype html>other")
    assert desk.get(f"{place}/report/other.html").status == 404


def test_requests_are_not_logged(tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture):
    """Neither on the terminal nor in a log, from the start of a desk to its end."""
    caplog.set_level("INFO")
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 40)
    with running_desk(tmp_path) as one:
        one.enter()
        one.get(f"{one.open('a.csv')}/rows?first=0&count=5")
    told = capfd.readouterr()
    assert told.out + told.err == ""
    assert not [r for r in caplog.records if r.name == "uvicorn.access" or "a.csv" in r.getMessage()]


@needs_browser
@pytest.mark.xdist_group("desk-browser")
def test_names_of_the_language_of_the_page_are_only_text(tmp_path: Path):
    """Values and labels such as `constructor`, which every object of JavaScript has."""
    frame = survey(60)
    frame["town"] = ["constructor", "toString", "__proto__"] * 20
    labels = {**SPSS_META["variable_value_labels"], "town": {"Ulm": "Ulm (DE)", "__proto__": "a town"}}
    write_spss(tmp_path / "names.sav", frame, variable_value_labels=labels)
    with running_desk(tmp_path) as desk, open_browser() as browser:
        visitor = Visitor(browser, desk)
        visitor.enter()
        visitor.press("names.sav", exact=False)
        visitor.page.locator("#grid td").first.wait_for()
        seen = visitor.page.locator("#grid tbody").inner_text()
        assert "native code" not in seen
        assert "constructor" in seen
        assert visitor.errors == []
        visitor.context.close()
