"""The desk in a real browser."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from desk.desk_browser import LONG, Visitor, axe_findings, needs_browser, open_browser
from desk.running_desk import RunningDesk, running_desk
from labelled_sample import SPSS_META, answered_survey, survey, write_spss
from larvatus.desk.desk import STEPS
from larvatus.desk.study_edits import with_release
from larvatus.pipeline.finished_run import open_run

pytestmark = [needs_browser, pytest.mark.xdist_group("desk-browser")]
MOST_ACTIONS = 40
SECRET = b64encode(b"a secret for the walk: 32 bytes.") + b"\n"  # with another, luck may bring a safe release above its limit
HOSTILE = '<img src=x onerror="alert(1)">'
QUICK = {"attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}, {"method": "correlation"}]}


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def place(desk: RunningDesk) -> str:
    return desk.open("survey.sav")


@pytest.fixture
def visitor(browser, desk: RunningDesk):
    made = Visitor(browser, desk)
    made.enter()
    yield made
    made.context.close()
    assert made.errors == []


def test_the_browser_enters_and_the_address_is_clean(visitor: Visitor):
    assert visitor.page.url == f"{visitor.desk.origin}/"
    cookie, = visitor.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert visitor.page.evaluate("document.cookie") == ""
    visitor.page.go_back()
    assert visitor.page.url != f"{visitor.desk.origin}/enter", "the page that entered is not in the history"


def test_a_role_is_changed_shown_as_toml_and_undone(visitor: Visitor, place: str):
    visitor.page.goto(f"{visitor.desk.origin}{place}/roles")
    visitor.choose("Role of age", "not released")
    toml = visitor.page.locator("aside code")
    visitor.page.locator("aside code").filter(has_not_text='"age"').wait_for()
    assert visitor.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Role of age", "focus stays"
    visitor.press("Undo")
    visitor.page.locator("aside code").filter(has_text='"age"').wait_for()
    visitor.press("Redo")
    visitor.page.locator("aside code").filter(has_not_text='"age"').wait_for()
    visitor.press("Undo")
    toml.filter(has_text='"age"').wait_for()
    row, role = visitor.page.locator('tr[data-column="town"]'), visitor.page.locator('.bucket[data-role="sub_group"]')
    row.drag_to(role)
    toml.filter(has_text="[sub_groups]").wait_for()


def test_two_tabs_do_not_overwrite_each_other(visitor: Visitor, place: str):
    first, second = visitor.page, visitor.new_tab()
    for page in (first, second):
        page.goto(f"{visitor.desk.origin}{place}/roles")
    first.get_by_label("Role of mood").select_option("confidential")
    first.locator("aside code").filter(has_text='    "income",\n    "mood"').wait_for()
    second.get_by_text("The study was changed in another tab.").wait_for()
    visitor.errors.clear()
    with second.expect_response(lambda a: a.request.method == "POST") as answered:
        second.get_by_label("Role of sex").select_option("key")
    assert answered.value.status == 409
    second.get_by_text("make your change again").wait_for()
    assert second.get_by_label("Role of mood").input_value() == "confidential", "it shows the current state"
    visitor.errors.clear()  # the browser reports the refusal


def test_keyboard_alone(visitor: Visitor, place: str):
    page = visitor.page
    page.goto(f"{visitor.desk.origin}{place}/roles")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    for _ in range(6):
        if page.evaluate("document.activeElement.tagName") == "SELECT":
            break
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Role of income"


@pytest.mark.parametrize(("scheme", "wide"), [("light", 1400), ("dark", 390)])
def test_pages_are_accessible_and_fit(visitor: Visitor, place: str, scheme: str, wide: int):
    page = visitor.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": wide, "height": 900})
    for address in ("/", f"{place}/open", f"{place}/roles", f"{place}/run", f"{place}/decide"):
        page.goto(visitor.desk.origin + address)
        assert axe_findings(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= wide, address


def test_hostile_names_are_only_text(browser, tmp_path: Path):
    """Scripts in names of files and columns, in labels, values and titles."""
    frame = survey(60)
    frame["town"] = HOSTILE
    labels = {**SPSS_META["column_labels"], "income": HOSTILE, "mood": "</script><script>alert(2)"}
    meta = {**SPSS_META, "column_labels": labels, "file_label": HOSTILE,
            "variable_value_labels": {"sex": {1.0: HOSTILE, 2.0: "x"}}}
    write_spss(tmp_path / "a<img src=x onerror=alert(3)>.sav", frame, **meta)
    quoted = HOSTILE.replace('"', '""')
    (tmp_path / "x.csv").write_text(f'income,"{quoted}","{{{{7*7}}}}"\n' + "1.5,b,<b>c\n2.5,d,e\n" * 40)
    with running_desk(tmp_path) as desk:
        visitor = Visitor(browser, desk)
        visitor.enter()
        for name in ("a<img src=x onerror=alert(3)>.sav", "x.csv"):
            visitor.page.goto(f"{desk.origin}/")
            visitor.page.locator(".entry").filter(has_text=name).click()
            visitor.page.get_by_role("heading", name="Types and meanings").wait_for()
            visitor.page.locator("#grid td").first.wait_for()
            visitor.press("Next: Roles →")
            visitor.page.locator("tr[data-column]").first.wait_for()
            assert visitor.page.locator("main img, aside img, main b script").count() == 0
            assert "49" not in visitor.page.locator("thead").inner_text()
        assert HOSTILE in visitor.page.locator("main").inner_text()
        assert visitor.errors == []
        visitor.context.close()


@pytest.mark.parametrize(("locale", "heading"), [
    ("de-DE", "Eine Rolle für jede Spalte"), ("fr-FR", "Un rôle pour chaque colonne"),
])
def test_other_languages(browser, desk: RunningDesk, place: str, locale: str, heading: str):
    visitor = Visitor(browser, desk, locale=locale)
    visitor.enter()
    visitor.page.goto(f"{desk.origin}{place}/roles")
    assert visitor.read_heading() == heading
    assert visitor.page.locator("html").get_attribute("lang") == locale[:2]
    visitor.context.close()


# --- the whole walk -----------------------------------------------------------------------------------------------------------


def walk(visitor: Visitor) -> None:
    """From an open file to files to share, by visible labels; what the pages recommend is done, and nothing else."""
    visitor.page.get_by_role("heading", name="Types and meanings").wait_for(timeout=LONG)
    study, = visitor.desk.server.desk.recent()
    study.secret_path().write_bytes(SECRET)
    visitor.press("Next: Roles →")
    visitor.press("Next: Keys →")
    visitor.see("Records found by their keys alone", timeout=LONG)
    if visitor.page.get_by_text("No release can pass").is_visible():
        visitor.press("Make all of them coarser")
        visitor.see("These steps keep to it:", timeout=LONG)
    visitor.press("Next: Masks →")
    visitor.press("Use all suggestions", timeout=LONG)
    visitor.see("All suggestions are in the list below")
    visitor.press("Next: Run →")
    visitor.press("Start")
    visitor.press("Compare the releases", timeout=4 * LONG)
    visitor.page.locator("figure.map .point").first.wait_for()
    visitor.press("Next: Decide →")
    visitor.write("Why this one?", "It serves the course.")
    visitor.write("Your name", "A. Keeper")
    assert not visitor.page.get_by_label("This release is not shown to be safe.").is_visible(), "the release passes"
    visitor.press("Approve this release")
    visitor.see("was approved by A. Keeper", timeout=LONG)
    visitor.press("Write the files")
    visitor.see("Written:", timeout=LONG)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["survey.sav", ""])
def test_the_whole_walk_in_few_actions(browser, tmp_path: Path, file: str):
    """To an ordinary approval: the release passes, and nobody has to approve it all the same."""
    write_spss(tmp_path / "survey.sav", answered_survey())
    with running_desk(tmp_path) as desk:
        visitor = Visitor(browser, desk)
        visitor.enter()
        visitor.press(file or "Try it with the built-in data", exact=False)
        walk(visitor)
        assert visitor.actions <= MOST_ACTIONS, visitor.actions
        assert visitor.errors == []
        study, = desk.server.desk.recent()
        approval, = open_run(study.results()).approvals().values()
        assert approval.by == "A. Keeper"
        assert {p.suffix for p in (study.path / "shared").iterdir()} >= {".sav" if file else ".csv", ".json"}
        for step, scheme, wide in itertools.product(STEPS, ("light", "dark"), (1400, 390)):
            visitor.page.emulate_media(color_scheme=scheme)
            visitor.page.set_viewport_size({"width": wide, "height": 900})
            visitor.page.goto(f"{desk.origin}/study/{study.id}/{step}")
            assert axe_findings(visitor.page) == [], (step, scheme)
            assert visitor.page.evaluate("document.documentElement.scrollWidth") <= wide, (step, wide)
        for edition in ("internal", "public"):
            visitor.page.goto(f"{desk.origin}/study/{study.id}/report/{edition}")
            assert visitor.page.get_by_role("heading", level=1).count() == 1
        visitor.context.close()


@pytest.mark.slow
def test_every_step_survives_reload_and_the_end_of_everything(browser, tmp_path: Path):
    """At each step the page is reloaded, the browser closed, the worker killed and the desk started again."""
    write_spss(tmp_path / "survey.sav")
    before = ""
    for step in STEPS:
        with running_desk(tmp_path) as desk:
            visitor = Visitor(browser, desk)
            visitor.enter()
            if step == "open":
                visitor.press("survey.sav", exact=False)
                visitor.page.get_by_role("heading", name="Types and meanings").wait_for(timeout=LONG)
            study, = desk.server.desk.recent()
            assert before in ("", study.text()), "the study is as it was left"
            place = f"{desk.origin}/study/{study.id}"
            visitor.page.goto(f"{place}/{step}")
            if step == "roles":
                visitor.choose("Role of town", "sub-group")
            if step == "masks":
                study.change({**with_release(study.plain, "noise", [{"method": "additive_noise"}]), **QUICK}, "release")
            if step == "run":
                visitor.page.reload()
                visitor.press("Start")
                visitor.press("Compare the releases", timeout=LONG)
            if step == "decide":
                visitor.write("Why this one?", "It serves.")
                visitor.write("Your name", "A. Keeper")
                visitor.confirm_if_asked("This release is not shown to be safe.")
                visitor.press("Approve this release")
                visitor.see("was approved by", timeout=LONG)
            visitor.page.goto(f"{place}/{step}")
            visitor.page.reload()
            assert visitor.page.locator("h1").count() == 1
            before = study.text()
            worker = desk.server.desk.worker._process
            if worker is not None:
                os.kill(worker.pid, signal.SIGKILL)
            visitor.context.close()
    with running_desk(tmp_path) as desk:
        study, = desk.server.desk.recent()
        assert study.text() == before
        assert study.about["approved"] == "noise"


@pytest.mark.slow
def test_a_million_rows_are_scrolled(browser, tmp_path: Path):
    rows = 1_000_000
    with (tmp_path / "long.csv").open("w") as file:
        file.write("number,income\n")
        file.writelines(f"{i},{i * 7 % 99991}.5\n" for i in range(1, rows + 1))
    with running_desk(tmp_path) as desk:
        visitor = Visitor(browser, desk)
        visitor.enter()
        visitor.press("long.csv", exact=False)
        visitor.page.get_by_role("heading", name="Types and meanings").wait_for(timeout=LONG)
        assert "1,000,000" in visitor.page.locator("main").inner_text()
        for row in (1, 500_000, 999_999, rows):
            visitor.page.get_by_label("Go to row").fill(str(row))
            visitor.press("Go")
            visitor.page.locator("#grid tbody tr", has=visitor.page.locator(f"th:text-is('{row:,}')")).wait_for()
            cells = visitor.page.locator("#grid tbody tr", has=visitor.page.locator(f"th:text-is('{row:,}')")).locator("td")
            assert cells.first.inner_text() == str(row)
            seen = visitor.page.locator(f"#grid th:text-is('{row:,}')").bounding_box()
            frame = visitor.page.locator("#grid").bounding_box()
            assert frame["y"] - 1 <= seen["y"] <= frame["y"] + frame["height"], "the row is in sight"
        assert visitor.page.locator("#grid tbody tr").count() <= 200, "only the rows around are in the page"
        assert visitor.errors == []
        visitor.context.close()


@pytest.mark.slow
def test_the_command_serves_the_browser(browser, tmp_path: Path):
    """The command itself, with a browser that opens the page whose address it prints."""
    import sys

    made = subprocess.Popen([sys.executable, "-m", "larvatus", "desk", str(tmp_path), "--no-browser"], stdout=subprocess.PIPE,
                            text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        lines = [made.stdout.readline() for _ in range(3)]
        page = browser.new_context().new_page()
        page.goto(lines[2].strip())
        page.get_by_role("heading", name="Which file do you want to release?").wait_for()
        assert Path(lines[2].strip().removeprefix("file://")).exists() is False, "the page is gone once it was used"
    finally:
        made.send_signal(signal.SIGINT)
        assert made.wait(15) == 0
        made.stdout.close()
