"""Single things a person does in the browser on the way: drop a file, change types, coarsen keys, set limits, cancel."""

from __future__ import annotations

import os
import re
import time
from html import unescape
from pathlib import Path

import pytest

from desk.desk_browser import LONG, Visitor, axe_findings, needs_browser, open_browser
from desk.running_desk import RunningDesk
from larvatus.desk.study_edits import with_release, with_role

pytestmark = [needs_browser, pytest.mark.xdist_group("desk-browser")]
QUICK = {"attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}, {"method": "distributions"}]}
DROP = """async ([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.getElementById("drop").dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture
def visitor(browser, desk: RunningDesk):
    made = Visitor(browser, desk)
    made.enter()
    yield made
    made.context.close()
    assert made.errors == []


@pytest.fixture
def place(desk: RunningDesk) -> str:
    desk.enter()  # only the latest sessions stay
    return desk.open("survey.sav")


def study_at(desk: RunningDesk, place: str):
    return desk.server.desk.study(place.rpartition("/")[2])


def test_a_file_is_dropped_on_the_page(visitor: Visitor, root: Path):
    text = "income,age\n" + "".join(f"{i * 37 % 1000},{20 + i % 60}\n" for i in range(60))
    visitor.page.evaluate(DROP, ["dropped.csv", text])
    visitor.page.get_by_role("heading", name="Types and meanings").wait_for()
    assert (root / "dropped-study" / "dropped.csv").read_text() == text
    visitor.page.goto(f"{visitor.desk.origin}/")
    visitor.page.evaluate(DROP, ["program.exe", "x"])
    visitor.see("cannot read files of this kind")
    visitor.errors.clear()  # the browser reports the refusal


def test_types_and_meanings_are_changed(visitor: Visitor, place: str):
    visitor.page.goto(f"{visitor.desk.origin}{place}/open")
    toml = visitor.page.locator("aside code")
    visitor.choose("Type of sex", "number")
    toml.filter(has_text='numeric = [\n    "sex"').wait_for()
    visitor.write("Meaning of income", "Income in a year, euro")
    visitor.page.keyboard.press("Tab")
    toml.filter(has_text='income = "Income in a year, euro"').wait_for()
    page = visitor.page
    page.locator("details.labels", has=page.get_by_label("Label of 1 in sex", exact=True)).locator("summary").click()
    visitor.write("Label of 1 in sex", "Man")
    page.keyboard.press("Tab")
    toml.filter(has_text='[value_labels.sex]\n1 = "Man"').wait_for()
    assert page.get_by_label("Label of 2 in sex", exact=True).is_visible(), "the list stays open"
    page.locator("#grid tbody td").filter(has_text=re.compile("^1 Man$")).first.wait_for()
    visitor.write("New code of sex", "3")
    visitor.write("Label of the new code of sex", "Other")
    page.keyboard.press("Enter")
    toml.filter(has_text='3 = "Other"').wait_for()
    assert axe_findings(page) == []
    for gone in ('3 = "Other"', '1 = "Man"', "Income in a year, euro"):
        visitor.press("Undo")
        toml.filter(has_not_text=gone).wait_for()
    visitor.press("Undo")
    toml.filter(has_not_text='numeric = [\n    "sex"').wait_for()


def test_keys_are_made_coarser_and_a_wrong_setting_is_marked_where_it_was_typed(visitor: Visitor, place: str):
    study, page = study_at(visitor.desk, place), visitor.page
    plain = with_role(with_role(with_role(study.plain, "age", "key"), "town", "key"), "born", "none")
    study.change(with_release(with_role(plain, "seen", "none"), "noise", [{"method": "additive_noise"}]), "release")
    page.goto(f"{visitor.desk.origin}{place}/keys")
    visitor.write("Every combination is shared by at least (records)", "5")
    visitor.press("Find coarser keys")
    visitor.see("These steps keep to it:")
    visitor.see("After these steps, someone would find about")
    visitor.press("Next: Masks →")
    visitor.press("Put these steps first in every release")
    visitor.see("Every release begins with these steps.")
    methods = [s["method"] for s in study.plain["release"][0]["steps"]]
    assert methods[-1] == "additive_noise"
    assert "local_suppression" in methods or "recoding" in methods
    assert {c for s in study.plain["release"][0]["steps"][:-1] for c in s["columns"]} <= {"age", "town"}
    page.locator(f"#settings-0-{len(methods) - 1} > summary").click()
    field = page.locator("input[name='setting.variance']")
    field.fill("-1")
    page.keyboard.press("Tab")
    page.locator("input[name='setting.variance'][aria-invalid=true]").wait_for()
    assert field.input_value() == "-1", "what was typed stays, so that it can be corrected"
    assert page.locator(".wrong").inner_text() == "Must be above 0, got -1."
    assert axe_findings(page) == []
    field.fill("0.2; 0.4")
    page.keyboard.press("Tab")
    page.locator(".wrong").wait_for(state="detached")
    visitor.press("Undo")
    page.locator("aside code").filter(has_not_text="0.4").wait_for()
    visitor.press("Redo")
    page.locator("aside code").filter(has_text="0.4").wait_for()
    assert [r["steps"][-1].get("variance") for r in study.plain["release"]] == [0.2, 0.4]
    visitor.errors.clear()  # the browser reports the refusal of -1


def test_a_click_on_a_point_opens_its_card_and_pictures_and_a_slider_shades(visitor: Visitor, place: str):
    study, page = study_at(visitor.desk, place), visitor.page
    plain = {**study.plain, **QUICK}
    for variance in (0.001, 4.0):
        plain = with_release(plain, f"noise {variance}", [{"method": "additive_noise", "variance": variance}])
    study.change(plain, "release")
    visitor.desk.act(place, "run/start")
    visitor.desk.wait(place)
    page.goto(f"{visitor.desk.origin}{place}/compare")
    point = page.locator(".map .wide .point").filter(has=page.locator("title", has_text=re.compile("^2")))
    point.click()
    assert page.evaluate("document.activeElement.id") == "release-2"
    assert page.locator("#pictures-2").get_attribute("open") is not None
    assert page.locator("#pictures-2 svg").first.is_visible()
    slider = page.get_by_label("Highest mean loss, in per cent")
    slider.evaluate("s => { s.value = 1; s.dispatchEvent(new Event('input', { bubbles: true })); }")
    dimmed = [(numbered.text_content() or "")[0] for numbered in page.locator(".map .wide .point.dimmed title").all()]
    losses = {p["number"]: p["loss"] for p in page.locator("figure.map").evaluate("f => JSON.parse(f.dataset.points)")}
    assert sorted(map(int, dimmed)) == sorted(n for n, loss in losses.items() if loss > 0.01)
    assert dimmed, "one of them loses more than one per cent"
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        slider.evaluate("s => s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.get_by_text(re.compile("^[01] of 2 releases pass$")).wait_for()
    assert study.plain["limits"] == {"mean_loss": 0.01}
    assert page.locator("ul.passing li.bad").count() >= 1


def test_numbers_and_progress_follow_the_language(browser, desk: RunningDesk, place: str):
    visitor = Visitor(browser, desk, locale="de-DE")
    visitor.enter()
    visitor.page.goto(f"{desk.origin}{place}/keys")
    visitor.page.locator("table.narrow td").filter(has_text=re.compile(r"^\d,\d+$")).first.wait_for(timeout=LONG)
    said = visitor.page.evaluate("""async () => {
      for (const stage of ["attacking: nearest_record", "preparing the preview: 20000"]) {
        const line = document.createElement("p");
        line.dataset.doing = stage;
        document.querySelector("main").append(line);
      }
      (await import("/static/events.js")).startStages();
      return [...document.querySelectorAll("[data-doing]")].slice(-2).map((p) => p.textContent);
    }""")
    assert said == ["Angriff: nearest record", "Vorschau wird vorbereitet: 20.000"]
    visitor.page.goto(f"{desk.origin}/")
    assert re.search(r"\d\d\.\d\d\.\d{4}, \d\d:\d\d", visitor.page.locator(".recent").inner_text())
    assert visitor.errors == []
    visitor.context.close()


@pytest.mark.slow
def test_a_run_is_paused_continued_and_cancelled_within_two_seconds(visitor: Visitor, place: str):
    study, page = study_at(visitor.desk, place), visitor.page
    plain = study.plain
    for i in range(4):
        plain = with_release(plain, f"noise {i + 1}", [{"method": "additive_noise", "variance": 0.1 * (i + 1)}])
    study.change(plain, "release")
    page.goto(f"{visitor.desk.origin}{place}/run")
    visitor.press("Start")
    page.locator(".pieces li").first.wait_for(timeout=LONG)
    visitor.press("Pause")
    page.get_by_role("heading", name="Paused").wait_for()
    page.reload()
    visitor.press("Continue")
    page.get_by_role("heading", name="Working …").wait_for()
    page.locator(".left").filter(has_text="left").wait_for(timeout=LONG)
    began = time.monotonic()
    visitor.press("Cancel")
    page.get_by_text("The work was interrupted.").first.wait_for()
    assert time.monotonic() - began < min(2 * _slowness(), 10), "two seconds on a machine that is not busy"


def _slowness() -> float:
    """How much longer than usual this machine takes, because others use it: at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.slow
def test_hostile_names_are_only_text_to_the_end(browser, desk: RunningDesk, root: Path):
    """Columns, releases, the purpose, the approver and the reason, in drawings, cards and the decision."""
    hostile = '<img src=x onerror="alert(1)">'
    quoted = hostile.replace('"', '""')
    lines = "".join(f"{i * 7919 % 1000},{i * 31 % 97},{'abc'[i % 3]}\n" for i in range(200))
    (root / "hostile.csv").write_text(f'"{quoted}",income,"</title><script>alert(2)</script>"\n' + lines)
    place = desk.open("hostile.csv")
    study = study_at(desk, place)
    plain = with_role(with_role(study.plain, hostile, "confidential"), "income", "confidential")
    plain = with_release({**plain, **QUICK, "purpose": hostile}, hostile, [{"method": "additive_noise"}])
    study.change(plain, "release")
    desk.act(place, "run/start")
    desk.wait(place)
    desk.act(place, "decide/approve", release=hostile, by=hostile, reason=hostile, despite="1")
    desk.wait(place)
    visitor = Visitor(browser, desk)
    visitor.enter()
    for step in ("open", "roles", "masks", "run", "compare", "decide"):
        visitor.page.goto(f"{desk.origin}{place}/{step}")
        visitor.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert "<img src=x onerror=" in unescape(visitor.page.content()), step
        assert visitor.page.locator("img, main script, aside script, foreignObject").count() == 0, step
    for edition in ("internal", "public"):
        visitor.page.goto(f"{desk.origin}{place}/report/{edition}")
        assert visitor.page.locator("img[onerror]").count() == 0
    assert visitor.errors == []
    visitor.context.close()


def test_the_downloads_are_the_study(visitor: Visitor, place: str):
    """Links with visible labels; the secret is in neither file."""
    study = study_at(visitor.desk, place)
    secret = study.secret_path().read_text().strip()
    visitor.page.goto(f"{visitor.desk.origin}{place}/roles")
    for label, name in (("Download study.toml", "study.toml"), ("Download as a Python script", "study.py")):
        with visitor.page.expect_download() as got:
            visitor.press(label)
        text = Path(got.value.path()).read_text()
        assert got.value.suggested_filename == name
        assert secret not in text
        if name == "study.toml":
            assert text == (study.path / "study.toml").read_text()
        else:
            compile(text, name, "exec")


def test_a_click_before_the_scripts_are_loaded_works(browser, desk: RunningDesk, root: Path):
    """Forms are sent by the browser itself then, and their origin must be that of the desk."""
    (root / "broken.sav").write_bytes(b"$FL2 nonsense" * 50)
    visitor = Visitor(browser, desk, java_script_enabled=False)
    page = visitor.page
    page.goto(desk.server.new_page()[0].as_uri())
    visitor.press("larvatus desk →")
    visitor.press("Go to the desk")
    visitor.press("broken.sav", exact=False)
    page.wait_for_url("**/open")
    study = desk.server.desk.study(page.url.split("/")[-2])
    desk.enter()
    desk.wait(f"/study/{study.id}")
    page.reload()
    visitor.press("Choose another file")
    page.get_by_role("heading", name="Which file do you want to release?").wait_for()
    assert not study.path.exists()
    assert visitor.errors == []
    visitor.context.close()


def test_a_choice_before_the_scripts_are_loaded_is_sent(visitor: Visitor, place: str):
    page, study = visitor.page, study_at(visitor.desk, place)
    waiting: list = []
    page.route("**/static/desk.js", lambda route: waiting.append(route))
    page.goto(f"{visitor.desk.origin}{place}/roles", wait_until="commit")
    page.get_by_label("Role of age").select_option("none")
    assert "age" in study.plain["roles"]["non_confidential"]
    waiting[0].continue_()
    page.locator("aside code").filter(has_not_text='"age"').wait_for()
    assert "age" not in study.plain["roles"]["non_confidential"]
    before = study.history.number
    page.unroute("**/static/desk.js")
    page.reload()
    page.get_by_label("Role of age").wait_for()
    page.wait_for_timeout(500)
    assert study.history.number == before, "to look at a page sends nothing"


def test_the_end_of_a_job_is_noticed_without_its_event(visitor: Visitor, place: str):
    """An event that came too early, or a broken connection, leaves no page that waits for ever."""
    visitor.page.route("**/events", lambda route: route.abort())
    visitor.page.goto(f"{visitor.desk.origin}{place}/keys")
    visitor.see("Records found by their keys alone", timeout=LONG)
    visitor.errors.clear()  # the browser reports the connection
