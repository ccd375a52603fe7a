"""Wrong turns of someone who is new: each page says what is the matter and where to go next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from desk.desk_browser import Visitor, axe_findings, needs_browser, open_browser
from desk.running_desk import RunningDesk, running_desk
from labelled_sample import survey, write_spss
from larvatus.desk.study_edits import columns_without_steps, with_release

LARGE = 150_000  # records
QUICK = {"attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}]}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    """A desk with a survey whose weights differ in every record, a file that cannot be read, and a large one."""
    folder = tmp_path_factory.mktemp("newcomer")
    frame = survey(120)
    frame["weight"] = np.arange(120) + 10.5
    write_spss(folder / "survey.sav", frame)
    (folder / "broken.sav").write_bytes(b"$FL2 nonsense" * 50)
    draws = np.random.default_rng(1)
    pd.DataFrame({"age": draws.integers(18, 90, LARGE), "region": draws.integers(1, 9, LARGE),
                  "income": draws.lognormal(10, 1, LARGE)}).to_csv(folder / "large.csv", index=False)
    with running_desk(folder) as running:
        running.enter()
        yield running


@pytest.fixture
def place(desk: RunningDesk) -> str:
    return desk.open("survey.sav")


def test_a_weight_that_singles_out_records_is_a_warning_with_a_way_out(desk: RunningDesk, place: str):
    assert "120 different values in 120 records" in desk.get(f"{place}/roles").text
    desk.act(place, "keys/look")
    desk.wait(place)
    page = desk.get(f"{place}/keys").text
    assert "The survey weight ‘weight’ alone singles out 120 of 120 records." in page
    assert re.search(r"95 % interval: [\d.]+\s?% to [\d.]+\s?%", page)
    desk.act(place, "roles/release_weight")
    assert "release_weight = false" in desk.get(f"{place}/study.toml").text
    assert "different values in 120 records" not in desk.get(f"{place}/roles").text
    desk.act(place, "keys/look")
    desk.wait(place)
    assert "alone singles out" not in desk.get(f"{place}/keys").text
    desk.act(place, "roles/release_weight", released="1")
    assert "release_weight" not in desk.get(f"{place}/study.toml").text


@pytest.mark.parametrize("role", ["household", "person"])
def test_a_number_that_is_never_released_is_no_warning(desk: RunningDesk, role: str):
    frame = survey(120)
    frame["hhid"] = np.repeat(np.arange(60.0), 2)
    write_spss(desk.server.desk.root.path / "persons.sav", frame)
    place = desk.open("persons.sav")
    desk.act(place, "roles/role", column="hhid", role="non_confidential")
    assert "<b>hhid</b>: " in desk.get(f"{place}/roles").text
    desk.act(place, "roles/role", column="hhid", role=role)
    assert "<b>hhid</b>: " not in desk.get(f"{place}/roles").text


def test_a_weight_that_is_not_released_is_not_called_released(desk: RunningDesk, place: str):
    assert "used in estimates, and released" in desk.get(f"{place}/roles").text
    desk.act(place, "roles/release_weight")
    page = desk.get(f"{place}/roles").text
    assert "used in estimates, not released" in page
    assert "used in estimates, and released" not in page


def test_a_step_for_a_column_that_lost_its_role_is_named_before_the_run(desk: RunningDesk, place: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    study.change(with_release(study.plain, "mine", [{"method": "rounding", "columns": ["income"], "base": 10}]), "release")
    for page in ("masks", "run"):
        assert "masks the column income" not in desk.get(f"{place}/{page}").text
    desk.act(place, "roles/role", column="income", role="none")
    for page in ("masks", "run"):
        assert "‘mine’ masks the column income in the step rounding" in desk.get(f"{place}/{page}").text
    assert desk.act(place, "run/start").status == 422
    assert 'name="setting.columns" value="income" data-submit checked>' in desk.get(f"{place}/masks").text, "it can be unticked"
    desk.act(place, "masks/set", release="0", step="0", **{"setting.base": "10"})
    assert "masks the column income" not in desk.get(f"{place}/run").text


def test_keys_can_be_ticked_while_the_page_is_looking(desk: RunningDesk, place: str):
    """Several ticks in a row, without waiting for the figures after each."""
    page = desk.get(f"{place}/keys").text
    assert "Looking at the keys" in page or "Look at the data" in page
    assert re.search(r'name="key" value="1" data-submit> age<', page)
    assert "leave out" not in page, "without ticks, all columns count"
    desk.act(place, "keys/key", column="age", key="1")
    left_out = re.search(r"The figures above leave out ([^.]*)\.", desk.get(f"{place}/keys").text)[1].split(", ")
    assert "town" in left_out
    assert "age" not in left_out
    assert re.search(r'name="key" value="1" data-submit checked> age<', desk.get(f"{place}/keys").text)


def test_if_the_unmasked_columns_alone_find_too_much_the_page_says_so(desk: RunningDesk, place: str):
    """More masking of the other columns would not help, so it is not recommended."""
    study = desk.server.desk.study(place.rpartition("/")[2])
    study.change({**with_release(study.plain, "noise", [{"method": "additive_noise"}]), **QUICK}, "release")
    desk.act(place, "run/start")
    desk.wait(place)
    page = desk.get(f"{place}/compare").text
    assert "No release passes" in page
    assert "from the unmasked columns alone" in page
    assert "Release fewer columns unmasked" in page
    assert "Mask more strongly" not in page
    assert re.search("Unmasked are [a-z, ]+[.]", page)
    decide = desk.get(f"{place}/decide").text
    assert f'No release passes. The page Compare says what you can do. <a href="{place}/compare">' in decide
    assert " checked>" not in decide, "no release that does not pass is chosen beforehand"
    named = {"method": "local_suppression", "columns": columns_without_steps(study.plain)}
    study.change(with_release({**study.plain, "release": []}, "noise", [named, {"method": "additive_noise"}]), "release")
    page = desk.get(f"{place}/compare").text
    assert "Unmasked are" not in page
    assert "The steps that make the keys coarser do not suffice." in page


def test_a_weight_with_another_role_is_a_warning(desk: RunningDesk, place: str):
    assert "seems to be a survey weight" not in desk.get(f"{place}/roles").text
    desk.act(place, "roles/role", column="weight", role="confidential")
    for page in ("roles", "run"):
        assert "seems to be a survey weight" in desk.get(f"{place}/{page}").text, page


@pytest.mark.parametrize(("column", "role", "said"), [
    ("age", "weight", "does not look like a survey weight"), ("sex", "weight", "this column is read as categories"),
    ("age", "record_id", "must differ in every record"),
])
def test_a_role_that_does_not_suit_a_column_is_a_warning(desk: RunningDesk, place: str, column: str, role: str, said: str):
    assert said not in desk.get(f"{place}/roles").text
    desk.act(place, "roles/role", column=column, role=role)
    for page in ("roles", "run"):
        assert f"<b>{column}</b>: " in desk.get(f"{place}/{page}").text
        assert said in desk.get(f"{place}/{page}").text


def test_an_amount_that_is_read_as_categories_is_a_warning(desk: RunningDesk, place: str):
    assert "different values. If it is an amount" not in desk.get(f"{place}/roles").text
    desk.act(place, "open/kind", column="age", kind="category")
    assert "different values. If it is an amount" in desk.get(f"{place}/roles").text
    desk.act(place, "roles/role", column="age", role="none")
    assert "different values. If it is an amount" not in desk.get(f"{place}/roles").text, "it is not released"


def test_without_results_the_pages_lead_to_the_run(desk: RunningDesk, place: str):
    for page in ("compare", "decide"):
        assert f'class="button" href="{place}/run"' in desk.get(f"{place}/{page}").text


def test_a_question_about_other_roles_is_dropped(desk: RunningDesk):
    """The next question need not wait until the worker has answered one that nobody asks any more.

    The file is so large that an answer takes about a second: no answer is there before the roles change.
    """
    place = desk.open("large.csv")
    worker, study = desk.server.desk.worker, desk.server.desk.study(place.rpartition("/")[2])
    for change in (("roles/role", {"column": "age", "role": "none"}), ("history/undo", {}), ("history/redo", {})):
        desk.act(place, "masks/look")
        desk.act(place, "keys/look")
        running, waiting = worker.latest(study.id, "advise"), worker.latest(study.id, "keys")
        assert not waiting.is_over
        desk.act(place, change[0], **change[1])
        assert waiting.state == "cancelled", change
        desk.wait(place)
        assert running.state == "cancelled", change
    desk.act(place, "keys/look")
    desk.act(place, "open/purpose", purpose="teaching")
    desk.wait(place)
    assert worker.latest(study.id, "keys").state == "done", "the purpose has no bearing on the keys"


def test_every_release_has_a_name_of_its_own(desk: RunningDesk, place: str):
    for name in ("noise", "swap"):
        desk.act(place, "masks/add", method="additive_noise", name=name)
    for name, said in ((" ", "Give the release a name."), ("swap", "Another release is called ‘swap’.")):
        answer = desk.act(place, "masks/rename", release="0", name=name)
        assert answer.status == 422
        assert said in answer.text
    assert desk.act(place, "masks/rename", release="0", name="noise").status == 303, "its own name"


def test_problems_of_releases_lead_to_the_masks(desk: RunningDesk, place: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    study.change(with_release(study.plain, "", [{"method": "additive_noise"}]), "release")
    assert f'<p><a href="{place}/masks">Change the masks</a></p>' in desk.get(f"{place}/run").text
    desk.act(place, "roles/role", column="income", role="none")
    desk.act(place, "roles/role", column="mood", role="none")
    assert f'<p><a href="{place}/roles">Go to Roles</a></p>' in desk.get(f"{place}/run").text


@pytest.mark.parametrize(("language", "typed", "made"), [
    ("de", "0,35", [0.35]), ("fr", "0,1; 0,2", [0.1, 0.2]), ("de", "0.5", [0.5]), ("en", "0.5", [0.5]), ("en", "0,5", None),
])
def test_numbers_are_typed_as_the_language_writes_them(
    desk: RunningDesk, place: str, language: str, typed: str, made: list[float] | None
):
    desk.act(place, "masks/add", method="additive_noise", name="noise")
    version = desk.version(place)
    answer = desk.post(f"{place}/masks/set", {"version": version, "release": "0", "step": "0", "setting.variance": typed},
                       Accept_Language=language)
    study = desk.server.desk.study(place.rpartition("/")[2])
    if made is None:
        assert "must be a number, got &#39;0,5&#39;" in answer.text
    else:
        assert [r["steps"][0]["variance"] for r in study.plain["release"]] == made


def test_without_confidential_columns_the_page_says_what_to_do(desk: RunningDesk, place: str):
    for column in ("income", "mood"):
        desk.act(place, "roles/role", column=column, role="none")
    page = desk.get(f"{place}/run", Accept_Language="de").text
    assert "mindestens einer Spalte die Rolle" in page
    assert "--confidential" not in page
    assert f'href="{place}/roles">Zu den Rollen' in page


def test_without_releases_the_run_leads_to_the_masks(desk: RunningDesk, place: str):
    page = desk.get(f"{place}/run").text
    assert "There is no release to make." in page
    assert f'class="button" href="{place}/masks"' in page


def test_a_broken_file_leads_back_to_the_files_and_leaves_nothing(desk: RunningDesk):
    place = desk.open("broken.sav")
    folder = desk.server.desk.study(place.rpartition("/")[2]).path
    page = desk.get(f"{place}/open").text
    assert "broken.sav is not a file of SPSS" in page
    assert 'name="delimiter"' not in page, "only text files have a delimiter"
    assert desk.act(place, "open/give_up").headers["location"] == "/"
    assert not folder.exists()
    assert folder.name not in desk.get("/").text


def test_a_broken_file_that_nobody_goes_on_with_leaves_nothing(desk: RunningDesk):
    """It is in no list of studies, and its folder goes when another file is opened or the desk ends."""
    place = desk.open("broken.sav")
    folder = desk.server.desk.study(place.rpartition("/")[2]).path
    assert folder.name not in desk.get("/").text.partition('class="recent')[2]
    assert "broken.sav is not a file of SPSS" in desk.get(f"{place}/open").text, "it can still be looked at"
    desk.open("survey.sav")
    assert not folder.exists()


def test_a_broken_file_leaves_nothing_at_the_end(tmp_path: Path):
    (tmp_path / "broken.sav").write_bytes(b"$FL2 nonsense" * 50)
    with running_desk(tmp_path) as one:
        one.enter()
        one.open("broken.sav")
    assert [p.name for p in tmp_path.iterdir()] == ["broken.sav"]


def test_a_text_file_that_cannot_be_read_asks_for_its_format(desk: RunningDesk):
    (desk.server.desk.root.path / "odd.csv").write_text('a;b\n1;"open\n2;3\n4;5\n', encoding="utf-8")
    place = desk.open("odd.csv")
    page = desk.get(f"{place}/open").text
    assert "quotation mark" in page
    assert 'name="quote"' in page


def test_a_study_that_was_read_is_not_given_up(desk: RunningDesk, place: str):
    desk.act(place, "open/give_up")
    assert desk.server.desk.study(place.rpartition("/")[2]).path.exists()


def test_codes_of_missing_values_from_the_file_are_shown(desk: RunningDesk, place: str):
    page = desk.get(f"{place}/open").text
    assert "-9 to -7 (from the file)" in page
    assert "98 (from the file)" in page


def test_a_study_is_opened_from_the_list_of_files_and_named_if_its_file_is_opened_again(desk: RunningDesk, place: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    assert re.search(rf'class="entry folder" href="{place}/open"><span class="name">{study.path.name}<', desk.get("/").text)
    assert f'href="{place}/open">{study.path.name}' in desk.get(f"{desk.open('survey.sav')}/open").text


@needs_browser
@pytest.mark.xdist_group("desk-browser")
def test_a_click_that_the_desk_cannot_answer_is_not_silent(desk: RunningDesk, place: str):
    """If the desk was ended, the page says so, and works again with it."""
    with open_browser() as browser:
        visitor = Visitor(browser, desk)
        visitor.enter()
        page = visitor.page
        page.goto(f"{desk.origin}{place}/roles")
        role = page.get_by_label("Role of age")
        for code, said in ((None, "The desk does not answer."), (500, "Load the page again.")):
            page.route("**/roles/role", lambda r, _, c=code: r.abort() if c is None else r.fulfill(status=c, body="no"))
            role.select_option("none")
            page.get_by_text(said).wait_for(timeout=5000)
            page.unroute("**/roles/role")
        role.select_option("key")
        page.locator("aside code").filter(has_text="key = [").wait_for(timeout=5000)
        visitor.context.close()


@needs_browser
@pytest.mark.xdist_group("desk-browser")
def test_labels_beside_codes_and_a_map_for_the_keyboard(desk: RunningDesk, place: str):
    study = desk.server.desk.study(place.rpartition("/")[2])
    plain = {**study.plain, **QUICK}
    for variance in (0.01, 0.4):
        plain = with_release(plain, f"noise {variance}", [{"method": "additive_noise", "variance": variance}])
    study.change(plain, "release")
    desk.act(place, "run/start")
    desk.wait(place)
    with open_browser() as browser:
        visitor = Visitor(browser, desk)
        visitor.enter()
        page = visitor.page
        page.goto(f"{desk.origin}{place}/open")
        page.locator("#grid tbody td").filter(has_text=re.compile("^1 Male$")).first.wait_for()
        page.locator("#grid tbody td").filter(has_text=re.compile("^-7 refused$")).first.wait_for()
        page.goto(f"{desk.origin}{place}/compare")
        page.locator(".map .wide .point[tabindex='0']").focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("2. ")
        assert axe_findings(page) == []
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "release-2"
        assert visitor.errors == []
        slider = page.get_by_label("Highest mean loss, in per cent")
        slider.focus()
        for key, shown, stated in (("ArrowLeft", "99", {"mean_loss": 0.99}), ("End", "no limit", None)):
            with page.expect_response(lambda a: a.request.method == "POST"):
                page.keyboard.press(key)
            page.locator("#loss-shown").filter(has_text=re.compile(f"^{shown}$")).wait_for()
            assert study.plain.get("limits") == stated, "the right end is no limit"
        tick = page.get_by_label("This release is not shown to be safe.")
        for most, asked in ((1.0, False), (0.5, True)):
            study.change({**study.plain, "limits": {"every_attack": {"at_most": most}}}, "limits")
            page.goto(f"{desk.origin}{place}/decide")
            page.locator(".choice").first.click()
            assert tick.is_visible() is asked, "only a release that does not pass needs a tick"
        visitor.context.close()
