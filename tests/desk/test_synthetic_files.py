"""Files without pairs at the desk: records held out, the training part for a generator, and synthetic files on the map."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from desk.desk_browser import LONG, Visitor, axe_findings, needs_browser, open_browser
from desk.running_desk import RunningDesk, running_desk
from larvatus.desk.study_edits import (
    columns_that_lost_their_role,
    columns_without_steps,
    planned_steps,
    with_release,
    with_role,
)
from larvatus.desk.study_folder import StudyFolder

FOREIGN = {"name": "synthetic", "file": "../synthetic.csv", "paired": False}
QUICK = {
    "attack": [{"method": "near_copies"}, {"method": "closest_record"},
               {"method": "membership_inference", "shadow_files": 0}],
    "measure": [{"method": "moments"}],
}
N = 300


def people(seed: int, n: int = N) -> str:
    random = np.random.default_rng(seed)
    numbers = random.multivariate_normal([0, 0, 0, 0], 0.5 * np.eye(4) + 0.5, n)
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{d:.4f},{'ab'[i % 2]}" for i, (a, b, c, d) in enumerate(numbers)]
    return "\n".join(["income,wealth,age,debt,sex", *rows]) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three files; each test makes a study of its own of them."""
    made = tmp_path_factory.mktemp("synthetic")
    (made / "people.csv").write_text(people(1))
    (made / "synthetic.csv").write_text(people(2, 200))
    (made / "others.csv").write_text(people(3, 150))
    return made


@pytest.fixture(scope="module")
def desk(folder: Path):
    with running_desk(folder) as running:
        running.enter()
        yield running


def ready_study(desk: RunningDesk) -> tuple[str, StudyFolder]:
    place = desk.open("people.csv")
    study = desk.server.desk.study(place.rpartition("/")[2])
    plain = study.plain
    for name in ("income", "wealth", "age", "debt"):
        plain = with_role(plain, name, "confidential")
    study.change({**with_role(plain, "sex", "key"), **QUICK}, "role")
    assert study.check().problems == ()
    (study.path / "secret.txt").write_bytes(base64.b64encode(b"the same records are held out here") + b"\n")
    (study.path / "secret.txt").chmod(0o600)
    return place, study


def test_a_release_from_a_file_has_no_steps():
    plain = {"roles": {"confidential": ["income"], "key": ["age"]}, "release": [FOREIGN]}
    assert columns_without_steps(plain) == ["age"]
    assert columns_that_lost_their_role(plain) == []
    assert planned_steps(plain, 0) == []


def test_every_page_shows_a_study_with_a_release_from_a_file(desk: RunningDesk):
    place, study = ready_study(desk)
    study.change({**with_release(study.plain, "noise", [{"method": "additive_noise"}]), "holdout": {"share": 0.3}}, "release")
    study.change({**study.plain, "release": [FOREIGN, *study.plain["release"]]}, "release")
    for step in ("open", "roles", "keys", "masks", "run", "compare", "decide"):
        assert desk.get(f"{place}/{step}").status == 200, step
    for action, fields in {
        "masks/copy": {"release": "0"}, "masks/rename": {"release": "0", "name": "other"},
        "masks/set": {"release": "0", "step": "0"}, "masks/remove_step": {"release": "0", "step": "0"},
        "masks/move_step": {"release": "0", "step": "0"}, "masks/coarser": {},
    }.items():
        assert desk.act(place, action, **fields).status in (303, 422), action
    assert [r.get("file") for r in study.plain["release"]].count("../synthetic.csv") >= 1, "no click loses the file"


@pytest.mark.parametrize("apart", [{"share": 0.3}, {"file": "../others.csv"}])
def test_every_job_knows_the_records_held_out(desk: RunningDesk, folder: Path, apart: dict):
    """A share is drawn with the secret of the study, so that every job and the run hold out the same records."""
    place, study = ready_study(desk)
    study.change({**study.plain, "holdout": apart, "limits": {"every_attack": {"above_baseline": 1.0}}}, "holdout")
    left = N if "file" in apart else None
    for action, job in (("keys/look", "keys"), ("masks/look", "advise"), ("keys/coarser", "coarser")):
        assert desk.act(place, action, least="2").status == 303
        desk.wait(place)
        done = desk.server.desk.worker.latest(study.id, job)
        assert done.state == "done", done.error
        if job == "keys":
            left = left or done.found["records"]
            assert done.found["records"] == left < N + ("file" in apart)
        if job == "advise":
            assert sum(size for _, size in done.found["groups"]) == left
    study.change(with_release(study.plain, "noise", [{"method": "additive_noise"}]), "release")
    asked = {"vary": "additive_noise.variance", "low": "0.5", "high": "4", "trials": "1"}
    assert desk.act(place, "compare/search", **asked).status == 303
    desk.wait(place, 200)
    done = desk.server.desk.worker.latest(study.id, "search")
    assert done.state == "done", done.error
    masked = pd.read_csv(folder / "people.csv")
    masked["income"] += 0.1
    masked.to_csv(folder / "masked.csv", index=False)
    answer = desk.act(place, "compare/elsewhere", path="masked.csv", row_order="keep")
    if "share" in apart:
        assert answer.status == 422
        assert "cannot be paired with the others row by row" in answer.text
        return
    desk.wait(place)
    done = desk.server.desk.worker.latest(study.id, "elsewhere")
    assert done.state == "done", done.error
    assert done.found["about"]["records"] == left


def test_findings_are_asked_again_for_other_records_held_out(desk: RunningDesk):
    _, study = ready_study(desk)
    keys = set()
    for apart in ({}, {"share": 0.3}, {"share": 0.2}, {"file": "../others.csv"}):
        study.change({**{n: v for n, v in study.plain.items() if n != "holdout"}, **({"holdout": apart} if apart else {})}, "x")
        keys.add(desk.server.desk.data_key(study))
    others = study.path / "../others.csv"
    others.write_text(people(4, 160))
    keys.add(desk.server.desk.data_key(study))
    assert len(keys) == 5


def test_the_walk_of_a_synthetic_file(desk: RunningDesk, folder: Path):
    """Hold out, write the training part, add two files that a generator made of it, and read three lines on each."""
    place, study = ready_study(desk)
    add = {"path": "synthetic.csv", "name": "honest"}
    for page in ("masks", "compare"):
        refused = desk.act(place, f"{page}/add_file", **add)
        assert refused.status == 422
        assert "cannot be judged" in refused.text
    assert "First hold records out." in desk.get(f"{place}/masks").text
    for share in ("0", "100", "x", "nan", ""):
        assert desk.act(place, "masks/holdout", share=share).status == 422, share
    assert desk.act(place, "masks/holdout", path="../outside.csv").status == 422
    assert desk.act(place, "masks/training").status == 422
    assert desk.act(place, "masks/holdout", share="30").status == 303
    assert study.plain["holdout"] == {"share": 0.3}
    assert "[holdout]\nshare = 0.3" in study.text()
    desk.act(place, "masks/training")
    desk.wait(place)
    training = study.path / "training" / "people-training.csv"
    seen, source = pd.read_csv(training), pd.read_csv(folder / "people.csv")
    assert len(seen.merge(source, how="inner")) == len(seen) < len(source)
    assert training.stat().st_mode & 0o077 == 0
    page = desk.get(f"{place}/masks").text
    assert f"{len(seen)} records for the generator. {len(source) - len(seen)} records are held out." in page
    assert "people-training.csv" not in desk.get(f"{place}/compare").text, "the training part is no release"

    copied = pd.concat([pd.read_csv(folder / "synthetic.csv")[:150], seen[:40]])
    copied.to_csv(folder / "copied.csv", index=False)
    assert desk.act(place, "masks/add_file", **add).status == 303
    desk.act(place, "masks/add", method="additive_noise", name="noise")
    assert study.plain["release"][0] == {"name": "honest", "file": "../synthetic.csv", "paired": False}
    assert 'file = "../synthetic.csv"\npaired = false' in study.text()
    answer = desk.act(place, "compare/add_file", path="copied.csv", name="")
    assert answer.headers["location"] == f"{place}/run", "it is tested at once"
    desk.wait(place, 300)
    assert desk.server.desk.worker.latest(study.id, "run").state == "done"
    page = desk.get(f"{place}/compare").text
    honest, cheat = (page.partition(f"Is ‘{name}’ safe?")[2].partition("</section>")[0] for name in ("honest", "copied"))
    assert "No sign of copies" in honest
    assert "The file has copies" in cheat
    assert honest.count("<li") == cheat.count("<li") == 3
    assert page.count(">not paired</span>") == 2
    assert page.count(">paired</span>") == 1
    assert "honest (not paired)" in page, "on the map"
    assert page.count("Is ‘") == 2, "no lines on the masked release"
    report = desk.get(f"{place}/report/internal").text
    assert ">not paired</span>" in report
    assert re.search(r"<td[^>]*>not paired<", report), "in the table of all releases"
    for step in ("open", "roles", "keys", "masks", "run", "decide"):
        assert desk.get(f"{place}/{step}").status == 200, step
    desk.act(place, "decide/approve", release="honest", by="A. Keeper", reason="It serves the course.", despite="1")
    desk.wait(place)
    public = desk.get(f"{place}/report/public").text
    assert "no row is the record of a person" in public
    for untrue in ("released unchanged", "columns were masked", "masking method", "Changed by masking"):
        assert untrue not in public, "nothing in a synthetic file is an original value"
    book = next((study.results() / "releases").glob("honest.codebook.csv")).read_text()
    assert "released unchanged" not in book
    assert book.count("generated") == 5
    desk.act(place, "decide/export", release="honest", name="shared", format=".csv")
    desk.wait(place)
    shared = pd.read_csv(study.path / "shared" / "shared.csv").sort_values(["income", "wealth"], ignore_index=True)
    given = pd.read_csv(folder / "synthetic.csv").sort_values(["income", "wealth"], ignore_index=True)
    pd.testing.assert_frame_equal(shared, given[list(shared.columns)])
    assert "· not paired" in desk.get(f"{place}/decide").text
    desk.act(place, "masks/no_holdout")
    assert "holdout" not in study.plain


def test_a_holdout_is_a_file_below_the_root(desk: RunningDesk):
    place, study = ready_study(desk)
    assert desk.act(place, "masks/holdout", path="others.csv").status == 303
    assert study.plain["holdout"] == {"file": "../others.csv"}
    page = desk.get(f"{place}/masks").text
    assert "The records of others.csv are held out." in page
    assert "The generator may see your whole file" in page
    assert desk.act(place, "masks/training").status == 422, "there is no part to write"


@needs_browser
@pytest.mark.xdist_group("desk-browser")
def test_a_person_judges_a_synthetic_file_by_clicks(desk: RunningDesk):
    """On a telephone, and as wide as a screen: nothing is wider than the page, and axe finds nothing wrong."""
    place, study = ready_study(desk)
    desk.act(place, "masks/look")
    desk.wait(place)
    with open_browser() as browser:
        visitor = Visitor(browser, desk, viewport={"width": 390, "height": 900})
        visitor.enter()
        page = visitor.page

        def looks_right() -> None:
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 900})
                fits = page.evaluate("[window.innerWidth, document.documentElement.scrollWidth <= window.innerWidth]")
                assert fits == [width, True]
                assert axe_findings(page) == []

        page.goto(f"{desk.origin}{place}/compare")
        visitor.press("Hold records out")
        visitor.write("Share to hold out, in per cent", "30")
        visitor.press("Hold out this share")
        visitor.see("30 % of the records are held out.")
        looks_right()
        visitor.press("Write the training part")
        visitor.see("records for the generator.", timeout=LONG)
        synthetic = page.locator("#synthetic")
        synthetic.locator("select[name=path]").select_option(label="synthetic.csv")
        synthetic.get_by_label("Name", exact=True).fill("made by trees")
        visitor.press("Add as not paired")
        visitor.see("Made elsewhere: synthetic.csv.")
        page.locator("aside code").filter(has_text="paired = false").wait_for()
        assert "synthetic.csv" not in synthetic.locator("select[name=path]").inner_text(), "it is added already"
        looks_right()
        visitor.press("Next: Run →")
        visitor.press("Start")
        visitor.press("Compare the releases", timeout=2 * LONG)
        visitor.see("Is ‘made by trees’ safe? Three lines")
        assert page.locator("ul.lines li").count() == 3
        assert page.locator(".card .badge").filter(has_text="not paired").count() == 1
        assert "made by trees (not paired)" in page.locator("figure.map svg").first.text_content()
        looks_right()
        assert visitor.errors == []
        visitor.context.close()
    assert study.plain["release"] == [{"name": "made by trees", "file": "../synthetic.csv", "paired": False}]
