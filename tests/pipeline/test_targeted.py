"""Masking where it matters: records chosen by a file of ids, and two walks of which the second masks those most at risk."""

from __future__ import annotations

import json
import stat

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.data.record_selection import record_numbers, text_id
from sample import SECRET

N = 300
RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({"id": [f"P-{i:03}" for i in range(N)], "x": np.exp(RNG.normal(size=N)), "y": RNG.normal(size=N)})
NOISE = lv.masks.AdditiveNoise(variance=0.05)


def read(table: pd.DataFrame = TABLE, record_id: str | None = None, engine: str = "memory") -> lv.Microdata:
    return lv.read(table, confidential=["x", "y"], record_id=record_id, engine=engine)


def changed(release: lv.Release) -> set[int]:
    after = pd.DataFrame(release.frame())
    return set(np.flatnonzero((after[["x", "y"]].to_numpy() != TABLE[["x", "y"]].to_numpy()).any(axis=1)))


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
@pytest.mark.parametrize(("record_id", "ids"), [(None, [3, 50, 7]), ("id", ["P-003", "P-050", "P-007"])])
def test_a_list_and_a_file_of_ids_choose_the_same_records(tmp_path, engine, record_id, ids):
    file = tmp_path / "ids.csv"
    file.write_text("\n".join(["chosen", *map(str, ids)]) + "\n")
    data = read(record_id=record_id, engine=engine)
    listed = lv.mask(data, lv.masks.AdditiveNoise(where=ids), secret=SECRET)
    filed = lv.mask(data, lv.masks.AdditiveNoise(where="@ids.csv"), secret=SECRET, folder=tmp_path)
    assert changed(listed) == changed(filed) == {3, 7, 50}


def test_text_that_is_a_number_may_be_an_id_of_either_kind():
    assert set(record_numbers(["12", "-3", "a"])) == {12, -3, text_id("12"), text_id("-3"), text_id("a")}
    assert record_numbers([5, 1]).tolist() == [1, 5]
    digits = TABLE.assign(id=[f"{i:04}" for i in range(N)])
    release = lv.mask(read(digits, "id"), lv.masks.AdditiveNoise(where=["0012"]), secret=SECRET)
    assert changed(release) == {12}


def test_the_named_column_is_used_and_other_columns_are_not(tmp_path):
    (tmp_path / "ids.csv").write_text("remark,id\nfirst,P-004\nsecond,P-009\n\n")
    release = lv.mask(read(record_id="id"), lv.masks.AdditiveNoise(where=f"@{tmp_path / 'ids.csv'}"), secret=SECRET)
    assert changed(release) == {4, 9}


def test_draws_depend_on_what_the_file_holds_and_nothing_else_shows_it(tmp_path):
    file = tmp_path / "ids.csv"
    mask = lv.masks.AdditiveNoise(where="@ids.csv")
    frames, texts = [], []
    for ids in ("3\n50\n77\n", "3\n50\n78\n"):
        file.write_text("id\n" + ids)
        release = lv.mask(read(), mask, secret=SECRET, folder=tmp_path)
        frames.append(release.frame())
        texts.append(release.name + str(release.steps) + " ".join(str(n) for n in release.notes))
    assert frames[0].x[3] != frames[1].x[3], "two lists never share draws"
    assert all("@ids.csv" in t and "77" not in t and "78" not in t for t in texts)
    assert release.steps == (mask,)
    listed = lv.mask(read(), lv.masks.AdditiveNoise(where=(3, 50, 77)), secret=SECRET)
    assert listed.name == 'additive_noise(where="3 record ids")'


@pytest.mark.parametrize(("text", "said"), [
    (None, "cannot be read"), ("", "no record ids"), ("id\n\n", "no record ids"),
    ("larvatus_record\nsecret\n", "whole numbers"),
    ("id\n9999\n", "a list of 1 record ids selects no record"),
])
def test_files_that_cannot_be_used_are_refused_without_quoting_them(tmp_path, text, said):
    if text is not None:
        (tmp_path / "ids.csv").write_text(text)
    with pytest.raises(lv.LarvatusError, match=said) as error:
        lv.mask(read(), lv.masks.AdditiveNoise(where="@ids.csv"), folder=tmp_path)
    assert "secret" not in str(error.value)
    assert "9999" not in str(error.value)


def test_two_walks(tmp_path):
    """Half the records leave as linkable as they came; masking the list of the first walk strongly takes that away."""
    data = read()
    first = lv.mask(data, NOISE, secret=SECRET)
    scores = lv.risk(data, first, ["nearest_record"])
    file = tmp_path / "at_risk.csv"
    ids = scores.at_risk(0.1, file)
    assert len(ids) == N // 10
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    credit = dict(zip(scores[0].records.tolist(), scores[0].by_record.tolist(), strict=True))
    assert min(credit[i] for i in ids) >= max(v for k, v in credit.items() if k not in ids)
    strong = lv.masks.AdditiveNoise(variance=25.0, where=f"@{file}")
    second = lv.mask(data, NOISE, strong, secret=SECRET)
    again = lv.risk(data, second, ["nearest_record"])[0]
    after = dict(zip(again.records.tolist(), again.by_record.tolist(), strict=True))
    assert np.mean([after[i] for i in ids]) < 0.3 * np.mean([credit[i] for i in ids])
    with pytest.raises(lv.LarvatusError, match="exists already"):
        scores.at_risk(0.1, file)
    assert str(file) not in str(scores[0].plain())


def test_records_that_no_attack_found_are_not_listed_and_ids_of_text_come_back():
    data = read(record_id="id")
    scores = lv.risk(data, lv.mask(data, lv.masks.AdditiveNoise(variance=1.0), secret=SECRET), ["nearest_record"])
    ids = scores.at_risk(1.0)
    assert len(ids) == int((scores[0].by_record > 0).sum()) < N
    assert set(ids) <= {text_id(t) for t in TABLE.id}
    assert changed(lv.mask(data, lv.masks.AdditiveNoise(where=ids), secret=SECRET)) == {
        i for i in range(N) if text_id(TABLE.id[i]) in ids
    }


def test_what_has_no_records_at_risk_is_refused():
    data = read()
    release = lv.mask(data, NOISE, secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="none of these attacks gives"):
        lv.risk(data, release, ["aggregate_disclosure"]).at_risk()
    with pytest.raises(lv.LarvatusError, match="share must be"):
        lv.risk(data, release, ["nearest_record"]).at_risk(0)


def test_on_the_command_line_and_in_a_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secret").chmod(0o600)
    roles = ["--confidential", "x,y", "--identifiers", "id"]
    assert main(["mask", "people.csv", "-o", "one.csv", *roles, "--method", "additive_noise", "--variance", "0.05",
                 "--row-order", "keep", "--secret-file", "secret"]) == 0
    attack = ["risk", "people.csv", "one.csv", *roles, "--row-order", "keep", "--at-risk", "ids.csv", "--at-risk-share", "0.1"]
    assert main(attack) == 0
    said = capsys.readouterr()
    ids = (tmp_path / "ids.csv").read_text().split()[1:]
    assert len(ids) == 30
    assert "30 records most at risk" in said.err + said.out
    assert main(attack) == 2, "the list is not overwritten unasked"
    assert main(["mask", "people.csv", "-o", "two.csv", *roles, "--method", "additive_noise", "--where", "@ids.csv",
                 "--row-order", "keep", "--secret-file", "secret"]) == 0
    out = pd.read_csv("two.csv")
    assert set(np.flatnonzero(~np.isclose(out.x, TABLE.x, rtol=1e-12))) == {int(i) for i in ids}
    (tmp_path / "plan").mkdir()
    (tmp_path / "ids.csv").rename(tmp_path / "plan" / "ids.csv")
    (tmp_path / "plan" / "study.toml").write_text(
        'source = "../people.csv"\n[roles]\nconfidential = ["x", "y"]\nidentifiers = ["id"]\n'
        '[[release]]\nname = "targeted"\nsteps = [{ method = "additive_noise", where = "@ids.csv" }]\n'
        '[[attack]]\nmethod = "nearest_record"\n[[measure]]\nmethod = "moments"\n'
    )
    run = ["run", "plan/study.toml", "-o", "out", "--secret-file", "secret", "--format", "csv", "--row-order", "keep"]
    assert main(run) == 0
    out = pd.read_csv("out/releases/targeted.csv")
    assert set(np.flatnonzero(~np.isclose(out.x, TABLE.x, rtol=1e-12))) == {int(i) for i in ids}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "@ids.csv" in report
    assert ", ".join(ids[:3]) not in report


def test_ids_reach_nothing_that_is_kept_beside_scores():
    table = pd.DataFrame({"id": [f"kezia{i}" for i in range(40)], "x": np.arange(40.0)})
    data = lv.read(table, confidential=["x"], record_id="id")
    again = lv.masks.AdditiveNoise(variance=0.5, where=("kezia3", "kezia7"))
    release = lv.mask(data, ["additive_noise", again], secret=SECRET)
    compared = lv.compare(data, [release], attacks=["rank_disclosure"], measures=["moments"])
    kept = [str(release.plain()), json.dumps(compared.plain()), compared.html(), compared.html("public"), repr(release)]
    assert not any("kezia" in text for text in kept)
    assert all("2 record ids" in text for text in kept[:3])
