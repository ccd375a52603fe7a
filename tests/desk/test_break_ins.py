"""Further attempts to break in, or to make the desk keep what no page would send."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from desk.desk_browser import Visitor, needs_browser, open_browser
from desk.running_desk import RunningDesk, running_desk
from labelled_sample import SPSS_META, survey, write_spss


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
    assert answer.status in (413, 422, 500)
    assert desk.get(f"{place}/roles").status == 200


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
