"""What someone types while an answer is on its way: nothing typed is lost, and nothing that was sent is put back."""

from __future__ import annotations

from typing import Any

import pytest

from desk.desk_browser import Visitor, needs_browser, open_browser
from desk.running_desk import RunningDesk
from larvatus.desk.study_edits import with_release, with_role

pytestmark = [needs_browser, pytest.mark.xdist_group("desk-browser")]
FIELD = "input[name='setting.variance']"


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
def study(visitor: Visitor) -> Any:
    """A study with one release, `noise`, and the page of its masks not yet opened."""
    visitor.desk.enter()
    place = visitor.desk.open("survey.sav")
    made = visitor.desk.server.desk.study(place.rpartition("/")[2])
    plain = with_role(with_role(made.plain, "born", "none"), "seen", "none")
    made.change(with_release(plain, "noise", [{"method": "additive_noise"}]), "release")
    return made


def open_masks(visitor: Visitor, study: Any) -> Any:
    visitor.page.goto(f"{visitor.desk.origin}/study/{study.id}/masks")
    return visitor.page


def hold(page: Any, address: str) -> list[Any]:
    """Requests to this address that wait until someone lets them go on."""
    held: list[Any] = []
    page.route(address, lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    return held


def wait_for_request(page: Any, held: list[Any]) -> Any:
    for _ in range(400):
        if held:
            return held[0]
        page.wait_for_timeout(50)
    raise AssertionError("nothing was sent")


def let_go(page: Any, route: Any) -> None:
    """Send it, and wait until its answer was used: then the page is not busy any more."""
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        route.continue_()
    page.locator("body:not(.busy)").wait_for()


def test_a_page_that_asks_by_itself_leaves_alone_what_is_typed(visitor: Visitor, study: Any):
    """The page asks for suggestions as soon as it is shown; the answer can come while someone types a wrong setting."""
    held = hold(visitor.page, "**/masks/look")
    page = open_masks(visitor, study)
    looks = wait_for_request(page, held)
    page.locator("#settings-0-0 > summary").click()
    page.locator(FIELD).fill("-1")
    let_go(page, looks)
    page.wait_for_timeout(1500)  # longer than the page waits before it looks again
    assert page.locator(FIELD).input_value() == "-1"
    assert page.locator(".wrong").count() == 0, "it is not sent before it is finished"
    page.keyboard.press("Tab")
    page.locator(FIELD + "[aria-invalid=true]").wait_for()
    assert page.locator(".wrong").inner_text() == "Must be above 0, got -1."
    visitor.errors.clear()  # the browser reports the refusal of -1


def test_what_is_selected_stays_selected_when_the_page_is_brought_up_to_date(visitor: Visitor, study: Any):
    """The next key replaces it; otherwise -1 over .25 becomes -10.25."""
    held = hold(visitor.page, "**/masks/look")
    page = open_masks(visitor, study)
    looks = wait_for_request(page, held)
    page.locator("#settings-0-0 > summary").click()
    page.locator(FIELD).select_text()
    let_go(page, looks)
    page.keyboard.insert_text("0.5")
    assert page.locator(FIELD).input_value() == "0.5"


def test_a_mistake_is_shown_until_it_is_corrected(visitor: Visitor, study: Any):
    """The page that says what is wrong asks for suggestions, too; that answer knows nothing of the mistake."""
    looks = hold(visitor.page, "**/masks/look")
    page = open_masks(visitor, study)
    wait_for_request(page, looks).abort()
    looks.clear()
    page.locator("#settings-0-0 > summary").click()
    page.locator(FIELD).fill("-1")
    page.keyboard.press("Tab")
    page.locator(FIELD + "[aria-invalid=true]").wait_for()
    let_go(page, wait_for_request(page, looks))
    page.wait_for_timeout(1500)  # longer than the page waits before it looks again
    assert page.locator(FIELD).get_attribute("aria-invalid") == "true"
    assert page.locator(FIELD).input_value() == "-1"
    page.locator(FIELD).fill("0.3")
    page.keyboard.press("Tab")
    page.locator(".wrong").wait_for(state="detached")
    assert study.plain["release"][0]["steps"][0]["variance"] == 0.3
    visitor.errors.clear()  # the browser reports the lost connection and the refusal of -1


def test_a_second_field_is_typed_while_the_first_is_on_its_way(visitor: Visitor, study: Any):
    page = open_masks(visitor, study)
    visitor.see("What the data are like", timeout=180_000)
    page.locator("#settings-0-0 > summary").click()
    held = hold(page, "**/masks/set")
    page.locator(FIELD).fill("0.7")
    page.keyboard.press("Tab")
    name = page.get_by_label("Name of release 1", exact=True)
    name.fill("lou")
    before = study.history.number
    let_go(page, wait_for_request(page, held))
    assert page.locator(FIELD).input_value() == "0.7"
    assert name.input_value() == "lou", "the answer to the first field does not take the second back"
    page.keyboard.press("End")
    page.keyboard.type("der")
    assert study.history.number == before + 1, "half a name is not sent"
    page.keyboard.press("Tab")
    page.locator("aside code").filter(has_text='name = "louder"').wait_for()
    assert study.plain["release"][0]["name"] == "louder"
    assert study.plain["release"][0]["steps"][0]["variance"] == 0.7


def test_what_was_sent_is_not_put_back(visitor: Visitor, study: Any):
    """A name that was sent with the Enter key leaves its field, which is empty in the answer."""
    page = open_masks(visitor, study)
    visitor.see("What the data are like", timeout=180_000)
    name = page.locator("form[action$='/masks/add'] input[name=name]")
    name.fill("second")
    page.keyboard.press("Enter")
    page.locator("aside code").filter(has_text='name = "second"').wait_for()
    page.locator("body:not(.busy)").wait_for()
    assert name.input_value() == ""
    assert [r["name"] for r in study.plain["release"]] == ["noise", "second"]


def test_what_is_typed_before_the_scripts_are_loaded_is_sent(visitor: Visitor, study: Any):
    page = visitor.page
    scripts: list[Any] = []
    page.route("**/static/desk.js", lambda route: scripts.append(route))
    page.goto(f"{visitor.desk.origin}/study/{study.id}/masks", wait_until="commit")
    page.locator("#settings-0-0 > summary").click()
    page.locator(FIELD).fill("-1")
    page.keyboard.press("Tab")
    wait_for_request(page, scripts).continue_()
    page.locator(FIELD + "[aria-invalid=true]").wait_for()
    visitor.errors.clear()  # the browser reports the refusal of -1


def test_a_value_kept_through_an_answer_is_sent_when_its_field_is_left(visitor: Visitor, study: Any):
    """The browser reports no change of a value that a script put back, so the page has to."""
    page = open_masks(visitor, study)
    visitor.see("What the data are like", timeout=180_000)
    page.locator("#settings-0-0 > summary").click()
    held = hold(page, "**/masks/set")
    page.locator(FIELD).fill("0.7")
    page.keyboard.press("Tab")
    page.get_by_label("Name of release 1", exact=True).fill("louder")
    let_go(page, wait_for_request(page, held))
    page.keyboard.press("Tab")
    page.locator("aside code").filter(has_text='name = "louder"').wait_for()
    assert study.plain["release"][0]["name"] == "louder"
