"""Files without pairs at the desk: records held out, the training part for a generator, and synthetic files on the map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
    "attack": [{"method": "nearest_record"}, {"method": "near_copies"}, {"method": "closest_record"},
               {"method": "membership_inference", "shadow_files": 0}],
    "measure": [{"method": "moments"}],
}
N = 300


def people(seed: int, n: int = N) -> str:
    random = np.random.default_rng(seed)
    numbers = random.multivariate_normal([0, 0, 0, 0], 0.5 * np.eye(4) + 0.5, n)
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{d:.4f},{'ab'[i % 2]}" for i, (a, b, c, d) in enumerate(numbers)]
    return "\n".join(["income,wealth,age,debt,sex", *rows]) + "\n"


@pytest.fixture
def desk(tmp_path: Path):
    (tmp_path / "people.csv").write_text(people(1))
    (tmp_path / "synthetic.csv").write_text(people(2, 200))
    (tmp_path / "others.csv").write_text(people(3, 150))
    with running_desk(tmp_path) as running:
        running.enter()
        yield running


def ready_study(desk: RunningDesk) -> tuple[str, StudyFolder]:
    place = desk.open("people.csv")
    study = desk.server.desk.study(place.rpartition("/")[2])
    plain = study.plain
    for name in ("income", "wealth", "age", "debt"):
        plain = with_role(plain, name, "confidential")
    study.change({**with_role(plain, "sex", "non_confidential"), **QUICK}, "role")
    assert study.check().problems == ()
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
