"""A released file and its original: paired by a pairing file, an id or position, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import PairingError, RolesError
from sample import ROLES, SECRET, people

FRAME = people(200)
POOLED = lv.SubGroups(columns=("region", "sex"), smallest=30, small="pool")
PAIRED = ["nearest_record", "exact_match", "posterior_match", "value_disclosure", "attribute_inference", "uniqueness"]
SUPPRESSED = POOLED.model_copy(update={"small": "suppress"})


def plain(scores: lv.Scores) -> list[dict]:
    """All but what publishing the parameters would add, which is known of a release made here only."""
    told = [s.plain() for s in scores]
    return [{**s, "details": {k: v for k, v in s["details"].items() if k != "published"}} for s in told]


def flat(value: object) -> list[float]:
    """Every number in nested plain values, in order."""
    if isinstance(value, dict):
        return [n for v in value.values() for n in flat(v)]
    if isinstance(value, list):
        return [n for v in value for n in flat(v)]
    return [float(value)] if isinstance(value, int | float) else []


PAIRED_ROLES = {
    "id": ROLES, "position": {**ROLES, "record_id": None}, "no groups": {**ROLES, "sub_groups": ()},
    "suppressed": {**ROLES, "sub_groups": SUPPRESSED, "record_id": None},
}


@pytest.mark.parametrize(("name", "roles"), [
    pytest.param(name, roles, id=f"{name}-{which}",
                 marks=() if (name == "out.csv") == (which == "position") else pytest.mark.slow)
    for name in ("out.csv", "out.parquet") for which, roles in PAIRED_ROLES.items()
])
def test_a_file_with_its_pairing_scores_as_the_release_in_memory(tmp_path, roles, name):
    data = lv.read(FRAME, **roles)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / name, pairing=tmp_path / "pairs.parquet")
    untold = {"attacks": PAIRED, "intruder": lv.Intruder(published="none")}
    for score, who in ((lv.risk, untold), (lv.utility, {})):
        inside, outside = (
            score(data, release, **who), score(data, tmp_path / name, pairing=tmp_path / "pairs.parquet", **who)
        )
        assert [s.method for s in inside] == [s.method for s in outside]
        np.testing.assert_allclose(flat(plain(outside)), flat(plain(inside)), rtol=1e-9, atol=1e-12)


def test_sub_group_columns_that_were_pooled_away_still_tell_records_apart(tmp_path):
    data = lv.read(FRAME, **{**ROLES, "sub_groups": POOLED})
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert "region=south" in release.data.groups.names
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairs.csv")
    inside = lv.risk(data, release, "nearest_record")[0]
    outside = lv.risk(data, tmp_path / "out.csv", "nearest_record", pairing=tmp_path / "pairs.csv")[0]
    assert inside.s_alone == pytest.approx(outside.s_alone)
    knows = lv.Intruder(known=["income", "wealth", "region", "sex"])
    fewer = lv.Intruder(known=["income", "wealth", "region"])
    one, other = (lv.risk(data, release, "nearest_record", intruder=who)[0] for who in (knows, fewer))
    assert one.s_alone == pytest.approx(6 / 200)
    assert other.s_alone == pytest.approx(3 / 200)


def test_codes_kept_as_text_are_recognised_in_csv(tmp_path):
    frame = FRAME.assign(sex=FRAME["sex"].astype(str), age=FRAME["age"].astype(str), job=FRAME["job"].fillna(""))
    data = lv.read(frame, **{**ROLES, "non_confidential": ["job"], "sub_groups": ["sex"]})
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairs.csv")
    inside = lv.risk(data, release, "nearest_record")
    outside = lv.risk(data, tmp_path / "out.csv", "nearest_record", pairing=tmp_path / "pairs.csv")
    assert outside[0].value == pytest.approx(inside[0].value)
    assert outside[0].by_group.column("sub_group") == ["sex=1", "sex=2"]


def test_rows_kept_in_order_are_paired_by_position(tmp_path):
    data = lv.read(FRAME, **{**ROLES, "record_id": None})
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.parquet", row_order="keep")
    inside = lv.risk(data, release, "nearest_record")[0].value
    assert lv.risk(data, tmp_path / "out.parquet", "nearest_record")[0].value == inside
    assert lv.risk(data, release.frame(), "nearest_record")[0].value == inside


def test_a_file_in_random_order_is_not_paired_by_position(tmp_path):
    data = lv.read(FRAME, **{**ROLES, "record_id": None})
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.parquet")
    release.write(tmp_path / "out.csv")
    alone = lv.read(FRAME, confidential=["income", "wealth", "rooms"])
    for original in (data, alone):
        with pytest.raises(PairingError, match=r"was written in random row order.*--pairing"):
            lv.risk(original, tmp_path / "out.parquet")
    with pytest.raises(PairingError, match=r"'region', which is not masked, differs in \d+ of 200 rows"):
        lv.risk(data, tmp_path / "out.csv")


def test_a_released_frame_with_the_record_id_is_paired_by_it():
    data = lv.read(FRAME, **ROLES)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    mixed = release.frame().assign(id=FRAME["id"]).sample(frac=1, random_state=2)
    assert lv.risk(data, mixed, "nearest_record")[0].value == lv.risk(data, release, "nearest_record")[0].value
    with pytest.raises(PairingError, match=r"no column 'id', which is needed to pair records"):
        lv.risk(data, release.frame())


BY_POSITION = {**ROLES, "record_id": None}
WRONG = {
    "rows missing": (lambda f: f.iloc[:-3], r"has 197 rows and the original 200"),
    "rows moved": (lambda f: f.iloc[::-1], "do not match those of the original"),
    "one S changed": (lambda f: f.assign(age=[99, *f["age"][1:]]), r"'age', which is not masked, differs in 1 of 200"),
    "S as text": (lambda f: f.assign(age="old"), r"'age' is numeric in the original and categorical in the released file"),
    "another S level": (lambda f: f.assign(job="other"), r"'job'.*differs in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_released_file_whose_rows_do_not_match(case):
    change, said = WRONG[case]
    data = lv.read(FRAME, **BY_POSITION)
    with pytest.raises(PairingError, match=said):
        lv.risk(data, change(FRAME))


def test_a_file_without_confidential_columns_is_the_wrong_file():
    with pytest.raises(RolesError, match=r"none of the confidential columns \(income, wealth, rooms\)"):
        lv.risk(lv.read(FRAME, **BY_POSITION), FRAME[["age", "region", "sex"]])


def test_a_file_that_cannot_be_paired_is_still_measured_as_a_whole():
    data = lv.read(FRAME, **BY_POSITION)
    shuffled = lv.utility(data, FRAME.iloc[::-1], ["moments"])
    assert shuffled.moments.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("content", "said"), [
    ("record\n" + "7\n" * 200, "contains some records twice"),
    ("record\n" + "text\n" * 200, "something other than the record ids"),
    ("record\n" + "1\n" * 3, "pairs 3 rows and the released file has 200"),
    ("a,b\n1,2\n", "is not a pairing file"),
    ("record\n" + "".join(f"{i}\n" for i in range(900, 1100)), "200 of 200 records have no counterpart"),
])
def test_pairing_files_that_do_not_fit(tmp_path, content, said):
    (tmp_path / "pairs.csv").write_text(content, encoding="utf-8")
    with pytest.raises(PairingError, match=said):
        lv.risk(lv.read(FRAME, **BY_POSITION), FRAME, pairing=tmp_path / "pairs.csv", row_order="keep")


def test_columns_the_release_lacks_are_noted():
    from larvatus.data.pairing import as_release

    data = lv.read(FRAME, **BY_POSITION)
    release = as_release(data, pa.Table.from_pandas(pd.DataFrame(FRAME.drop(columns=["wealth", "name", "id"]))))
    said = "wealth is not in the released file; there are: region, sex, age, job, income, rooms, house, entry … (9 in all)."
    assert [str(n) for n in release.notes] == [said]
    assert release.data.confidential == ("income", "rooms")


ALONE = {"confidential": ["income", "wealth"]}  # no column but masked ones, so that only the digests can tell


def written(folder, name: str, suffix: str, engine: str = "memory", steps: str = "additive_noise") -> lv.Microdata:
    data = lv.read(people(200, missing=False), **ALONE, engine=engine)
    lv.mask(data, steps).write(folder / f"{name}{suffix}", pairing=folder / f"{name}.pairing{suffix}")
    return data


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_pairing_file_of_another_release_is_refused(tmp_path, suffix, engine):
    """Both pairings have the right records; with the wrong one, values would be compared with those of other records."""
    data = written(tmp_path, "one", suffix, engine)
    written(tmp_path, "two", suffix, engine)
    own = lv.risk(data, tmp_path / f"one{suffix}", "value_disclosure", pairing=tmp_path / f"one.pairing{suffix}")[0]
    assert own.value > 0.3
    for score in (lambda *a, **k: lv.risk(*a, "value_disclosure", **k), lambda *a, **k: lv.utility(*a, "moments", **k)):
        with pytest.raises(PairingError, match=r"two\.pairing.* was not written with this release.*all 2 confidential columns"):
            score(data, tmp_path / f"one{suffix}", pairing=tmp_path / f"two.pairing{suffix}")


def test_a_pairing_file_serves_every_copy_and_other_formats_of_its_release(tmp_path):
    data = lv.read(people(200, missing=False).assign(income=lambda f: f["income"].astype("float32")), **ALONE)
    lv.mask(data, "multiple_imputation(copies=2)").write(tmp_path / "out.parquet", pairing=tmp_path / "pairs.parquet")
    for copy in (1, 2):
        pd.read_parquet(tmp_path / f"out-{copy}.parquet").to_csv(tmp_path / f"{copy}.csv", index=False)
    for files in (["out-1.parquet", "out-2.parquet"], ["1.csv", "2.csv"], ["2.csv"]):
        found = lv.risk(data, [tmp_path / f for f in files], "value_disclosure", pairing=tmp_path / "pairs.parquet")
        assert not [n for n in found[0].notes if "digest" in n]


def test_one_column_that_agrees_is_enough_and_none_is_not(tmp_path):
    """A file whose columns were changed after it was written is paired as long as one of them still shows the order."""
    data = written(tmp_path, "one", ".csv")
    frame = pd.read_csv(tmp_path / "one.csv")
    frame.assign(income=frame["income"].round(-3)).to_csv(tmp_path / "rounded.csv", index=False)
    lv.utility(data, tmp_path / "rounded.csv", "moments", pairing=tmp_path / "one.pairing.csv")
    frame.round(-3).to_csv(tmp_path / "rounded.csv", index=False)
    with pytest.raises(PairingError, match="a pairing file that has only the column 'record'"):
        lv.utility(data, tmp_path / "rounded.csv", "moments", pairing=tmp_path / "one.pairing.csv")


def test_a_constant_column_proves_nothing():
    from larvatus.data.pairings.column_digests import column_digests

    frame = people(200, missing=False)
    data = lv.read(frame.assign(rooms=3.0, house="owned"), confidential=["income", "rooms", "house"])
    assert list(column_digests(data)) == ["income"]
    empty = lv.read(frame.assign(rooms=[np.nan] * 199 + [1.0]), confidential=["income", "rooms"])
    assert list(column_digests(empty)) == ["income", "rooms"]


def test_a_pairing_file_without_digests_is_refused_unless_its_order_is_stated(tmp_path):
    from larvatus.data.pairing import as_release

    data = written(tmp_path, "one", ".csv")
    own = tmp_path / "one.pairing.csv"
    assert not as_release(data, tmp_path / "one.csv", own).notes
    pd.read_csv(own)[["record"]].to_csv(tmp_path / "former.csv", index=False)
    with pytest.raises(PairingError, match="nothing shows that it was written with this release"):
        as_release(data, tmp_path / "one.csv", tmp_path / "former.csv")
    note, = as_release(data, tmp_path / "one.csv", tmp_path / "former.csv", row_order="keep").notes
    assert (note.kind, "former.csv has no digest of a release" in str(note)) == ("warning", True)
    damaged = own.read_text(encoding="utf-8").replace(",\"ey", ",\"no", 1)
    (tmp_path / "damaged.csv").write_text(damaged, encoding="utf-8")
    with pytest.raises(PairingError, match=r"damaged\.csv: the digests of its release cannot be read"):
        as_release(data, tmp_path / "one.csv", tmp_path / "damaged.csv")
