"""Files whose rows are no records of the original: opened, attacked, compared, run in a study, and checked."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import PairingError, RiskError, StudyError
from larvatus.data.holdout import check_apart
from larvatus.data.microdata import collect
from larvatus.data.pairing import as_release
from larvatus.pipeline.finished_run import open_run
from sample import SECRET

ROLES = {"confidential": ["a", "b", "c", "d"], "sub_groups": ["g"]}
QUICK = ["near_copies", "closest_record", "nearest_record"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4)) @ np.linalg.cholesky(0.5 * np.eye(4) + 0.5).T
    return pd.DataFrame({"g": rng.integers(0, 2, n), **dict(zip("abcd", z.T, strict=True))})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people(600, 1).to_csv("people.csv", index=False)
    people(350, 2).to_csv("synthetic.csv", index=False)
    people(200, 3).to_csv("others.csv", index=False)
    return tmp_path


def test_a_share_is_held_out_by_secret_and_record_id():
    data = lv.read(people(2000, 1), **ROLES)
    one, again, other = (lv.hold_out(data, 0.2, secret=s) for s in (SECRET, SECRET, b"another secret, long"))
    ids = [set(collect(d.holdout, ())[0].tolist()) for d in (one, again, other)]
    assert ids[0] == ids[1] != ids[2]
    assert 300 < len(ids[0]) < 500  # 400 +- 5.6 standard deviations
    assert ids[0] | set(collect(one, ())[0].tolist()) == set(range(2000))
    assert one.frame().shape[0] + one.holdout.rows == 2000


def test_members_of_a_household_are_held_out_together():
    table = people(1200, 1).assign(h=np.arange(1200) // 3, c=np.repeat(np.arange(400) * 1.5, 3))
    data = lv.hold_out(lv.read(table, **ROLES, household="h"), 0.3, secret=SECRET)
    held = set((collect(data.holdout, ())[0] // 3).tolist())
    assert not held & set((collect(data, ())[0] // 3).tolist())


def test_no_mask_sees_the_holdout():
    """A release of the training part is the same whether the data know their holdout or not."""
    data = lv.hold_out(lv.read(people(600, 1), **ROLES), 0.2, secret=SECRET)
    alone = lv.read(data.frame(), **ROLES)
    seen: list[object] = []

    class Looks(lv.Mask):
        def apply(self, current, original, random):
            seen.extend([current.holdout, original.holdout])
            return lv.masks.Rounding(base=0.5).apply(current, original, random)

        def public_sentence(self):
            return "Values were rounded."

    lv.mask(data, Looks(), secret=SECRET)
    assert seen == [None, None]
    released = [lv.mask(d, "microaggregation(k=3)", secret=SECRET).to_pandas() for d in (data, alone)]
    pd.testing.assert_frame_equal(released[0].reset_index(drop=True), released[1].reset_index(drop=True))


def test_a_file_is_paired_unless_it_is_said_not_to_be(folder):
    data = lv.read("people.csv", **ROLES)
    with pytest.raises(PairingError, match="350 rows and the original 600"):
        lv.risk(data, "synthetic.csv")
    release = as_release(data, "synthetic.csv", paired=False)
    assert (release.is_paired, release.data.rows) == (False, 350)
    assert "not paired with the original (350 rows, 600 records" in str(release.notes[-1])
    with pytest.raises(PairingError, match="said to be not paired"):
        as_release(data, "synthetic.csv", paired=False, row_order="keep")


def test_attacks_that_need_pairs_are_left_out_by_name_and_raise_if_asked_for(folder):
    data = lv.hold_out(lv.read("people.csv", **ROLES), "others.csv")
    found = lv.risk(data, "synthetic.csv", paired=False)
    assert any(w.startswith("not run: nearest_record: ") and "not paired" in w for w in found.not_run)
    with pytest.raises(RiskError, match=r"nearest_record.*not paired"):
        lv.risk(data, "synthetic.csv", ["nearest_record"], paired=False)


def test_measures_are_the_same_as_of_a_paired_file(folder):
    data = lv.read("people.csv", **ROLES)
    masked = lv.mask(data, "additive_noise", secret=SECRET)
    frame = masked.to_pandas().sample(frac=1, random_state=1)
    names = ["moments", "correlation", "marginal"]
    paired, alone = lv.utility(data, masked, names), lv.utility(data, frame, names, paired=False)
    assert [s.value for s in alone] == pytest.approx([s.value for s in paired], rel=1e-9)


@pytest.mark.parametrize("paired", [True, False])
def test_codes_of_a_confidential_column_are_categories_in_a_file_too(folder, paired):
    """Whole numbers that the roles call nominal: the written file has the figures of the release, in attacks and measures."""
    table = people(600, 1)
    table = table.assign(e=np.digitize(table.a + table.b, [-1, 0, 1]), key=np.arange(600))
    roles = {"confidential": ["a", "b", "e"], "nominal": ["e"], "record_id": "key" if paired else None}
    data = lv.hold_out(lv.read(table, **roles), 0.3, secret=SECRET)
    release = lv.mask(data, "sequential_trees", secret=SECRET)
    release.write("written.csv", pairing="pairing.parquet")
    found = as_release(data, "written.csv", "pairing.parquet" if paired else None, paired=paired)
    assert found.data.table.columns["e"].levels == data.table.columns["e"].levels == (0, 1, 2, 3)
    measures, attacks = ["table", "utility_tables", "propensity"], ["key_attribution(keys=['e'])", "near_copies"]
    for score, made in ((lv.utility, measures), (lv.risk, attacks)):
        mine, theirs = score(data, release, made), score(data, found, made)
        assert [s.value for s in theirs] == pytest.approx([s.value for s in mine], rel=1e-9)


STUDY = """
source = "people.csv"
purpose = "for teaching"
roles = { confidential = ["a", "b", "c", "d"] }
sub_groups = { columns = ["g"] }
holdout = HOLDOUT
attack = [{ method = "near_copies" }, { method = "closest_record" }]
measure = [{ method = "moments" }]
[[release]]
name = "noise"
steps = [{ method = "additive_noise" }]
[[release]]
name = "synthetic"
file = "synthetic.csv"
paired = false
"""


@pytest.mark.parametrize("holdout", ["{ share = 0.2 }", '{ file = "others.csv" }'])
def test_masked_and_foreign_files_in_one_study(folder, holdout):
    Path("study.toml").write_text(STUDY.replace("HOLDOUT", holdout))
    study = lv.Study.read("study.toml")
    assert lv.Study.of(tomllib.loads(study.toml()), Path()).plain() == study.plain()
    comparison = lv.run(study, "results", secret=SECRET)
    assert [c.name for c in comparison.candidates] == ["noise", "synthetic"]
    for candidate in comparison.candidates:
        assert {s.method for s in candidate.scores} == {"near_copies", "closest_record", "moments"}
    written = pd.read_csv("results/releases/synthetic.csv")
    assert len(written) == 350
    assert not Path("results/internal/pairings/synthetic.parquet").exists()
    assert "not paired with the original" in Path("results/report.html").read_text()

    run = open_run(Path("results"))
    data_again = run.study()
    from larvatus.pipeline.read_source import read_for_study

    data = read_for_study(data_again.source_path(), data_again)  # without the secret
    assert data.holdout is not None
    again = run.read_release(run.release("synthetic"), data, data_again)
    assert not again.is_paired
    mine = lv.risk(data, again, ["near_copies"])[0]
    assert mine.value == next(s.value for s in comparison.candidates[1].scores if s.method == "near_copies")


def test_a_share_needs_the_secret_outside_a_run(folder):
    Path("study.toml").write_text(STUDY.replace("HOLDOUT", "{ share = 0.2 }"))
    from larvatus.pipeline.read_source import read_for_study

    study = lv.Study.read("study.toml")
    with pytest.raises(StudyError, match=r"holdout.share: .*secret"):
        read_for_study(study.source_path(), study)


@pytest.mark.parametrize(("common", "refused"), [(0, False), (15, False), (60, True), (200, True)])
def test_a_holdout_with_records_of_the_data_is_refused(common, refused):
    """Continuous numbers coincide by no chance, so that the rule has no false alarms here."""
    table, more = people(600, 1), people(200, 3)
    more.iloc[:common] = table.iloc[:common].to_numpy()
    data = lv.read(table, **ROLES)
    if not refused:
        assert lv.hold_out(data, more).holdout.rows == 200
        return
    with pytest.raises(RiskError, match=f"{common} of 200 records held out are in the data"):
        lv.hold_out(data, more)


def test_a_holdout_of_few_whole_numbers_is_accepted_although_most_of_its_rows_are_in_the_data():
    """1,000 pairs of files; by the rule, a false alarm has 8 standard deviations and 20 records (below 1e-9 in all)."""
    rng = np.random.default_rng(5)
    for levels in (3, 8, 20, 45):
        for _ in range(250):
            own, held = ({n: rng.integers(0, levels, k) for n in "ab"} for k in (400, 200))
            data, other = (lv.read(pd.DataFrame(t), confidential=["a", "b"]) for t in (own, held))
            check_apart(data, other)


def test_without_a_holdout_a_foreign_file_is_not_compared_and_breaks_every_tier(folder):
    data = lv.read("people.csv", **ROLES)
    plan = [{"name": "noise", "steps": ["additive_noise"]}, {"name": "synthetic", "file": "synthetic.csv", "paired": False}]
    comparison = lv.compare(data, plan, measures=["moments"], secret=SECRET)
    assert [(n.name, "lv.hold_out" in n.reason) for n in comparison.not_made] == [("synthetic", True)]
    judged = lv.check(data, "synthetic.csv", "secure", paired=False)
    assert [r["figure"] for r in judged.broken] == ["records held out"]


def test_check_finds_a_file_that_copies_and_passes_an_honest_one():
    data = lv.hold_out(lv.read(people(1200, 1), **ROLES), 0.5, secret=SECRET)
    honest = people(600, 77)
    copied = pd.concat([honest.iloc[:450], data.to_pandas().iloc[:150]], ignore_index=True)
    assert lv.check(data, honest, "secure", paired=False).meets_limits
    broken = lv.check(data, copied, "secure", paired=False).broken
    assert {"near_copies", "singling_out"} & {r["score"] for r in broken}
    three = ["near_copies", "closest_record", "membership_inference"]
    assert all("WARNING" in s.notes[0] for s in lv.risk(data, copied, three, paired=False))
    assert not any("WARNING" in n for s in lv.risk(data, honest, three[1:], paired=False) for n in s.notes)


def test_the_command_line_scores_a_synthetic_file(folder, capsys):
    given = ["--confidential", "a,b,c,d", "--sub-groups", "g", "--not-paired", "--holdout", "others.csv"]
    assert main(["risk", "people.csv", "synthetic.csv", *given]) == 0
    said = capsys.readouterr()
    assert "closest_record" in said.out
    assert sum("not paired with the original" in line and "not run" in line for line in said.err.splitlines()) == 1
    assert "nearest_record, " in said.err
    assert main(["utility", "people.csv", "synthetic.csv", *given, "--method", "moments"]) == 0
    assert main(["check", "people.csv", "synthetic.csv", *given, "--tier", "secure"]) in (0, 4)
    assert main(["risk", "people.csv", "synthetic.csv", *given[:4]]) != 0


@pytest.mark.parametrize(("text", "problem"), [
    ('{ share = 0.2, file = "x.csv" }', "exclude each other"), ("{ share = 1.5 }", "holdout.share"),
    ("{ part = 0.2 }", "no such setting|there is no setting"),
])
def test_a_wrong_holdout_is_reported(folder, text, problem):
    Path("study.toml").write_text(STUDY.replace("HOLDOUT", text))
    with pytest.raises(StudyError, match=problem):
        lv.Study.read("study.toml")


@pytest.mark.parametrize(("line", "problem"), [
    ('steps = ["additive_noise"]\nfile = "x.csv"', "give steps, or the file"),
    ('steps = ["additive_noise"]\npaired = false', "paired is for the file"),
    ('file = "x.csv"\npairing = "p.parquet"\npaired = false', "no pairing file"),
])
def test_a_wrong_planned_file_is_reported(folder, line, problem):
    Path("study.toml").write_text(STUDY.replace("HOLDOUT", "{}") + f'[[release]]\nname = "third"\n{line}\n')
    with pytest.raises(StudyError, match=problem):
        lv.Study.read("study.toml")
