"""Released files of which someone removed or coarsened columns of S after the mask, or that keep the order of the rows.

The masks ran with these columns, so released values may tell them. Randomised tests have a false-alarm rate of 1e-6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.certificates.proofs import EQUAL_S
from sample import SECRET

FALSE_ALARM = 1e-6
RECORDS, RELEASES = 16, 100


def people() -> pd.DataFrame:
    """In the half with s = q all values are larger than in the other."""
    s = np.repeat(["p", "q"], RECORDS // 2)
    draws = np.random.default_rng(1)
    return pd.DataFrame({"a": 20 * (s == "q") + draws.normal(size=RECORDS), "s": s})


def read(role: str, **settings) -> lv.Microdata:
    return lv.read(people(), confidential=["a"], **{role: ["s"]}, **settings)


def certified(data: lv.Microdata, folder, steps, **changes) -> lv.Certificates:
    """The certificates of a file of which the column s was replaced, or removed, after the steps."""
    lv.mask(data, steps, secret=SECRET).write(folder / "r.csv", pairing=folder / "p.parquet", overwrite=True)
    frame = pd.read_csv(folder / "r.csv")
    (frame.assign(**changes) if changes else frame[["a"]]).to_csv(folder / "later.csv", index=False)
    return lv.certify(data, folder / "later.csv", pairing=folder / "p.parquet", steps=steps)


def found_by_halves(data: lv.Microdata, steps) -> float:
    """What an intruder finds for certain who knows the target's s, sees only values, and guesses in the right half."""
    s, links = people()["s"].to_numpy(), 0.0
    draws = np.random.default_rng(2)
    for k in range(RELEASES):
        y = lv.mask(data, steps, secret=SECRET + bytes([k])).to_pandas()["a"].to_numpy()
        half = np.where(y > np.sort(y)[RECORDS // 2 - 1], "q", "p")
        links += np.mean([draws.choice(np.flatnonzero(half == s[t])) == t for t in range(RECORDS)])
    count = round(links * RECORDS)
    return float(stats.beta.ppf(FALSE_ALARM, count, RECORDS * RELEASES - count + 1))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("steps", [["data_shuffling"], ["linear_model(similarity=0.3)"]], ids=["shuffled", "model"])
def test_values_tell_a_column_of_s_that_was_removed(tmp_path, steps, engine):
    """The certificate said one link in 16 records for the shuffle; values give s away, and two are found."""
    data = read("non_confidential", engine=engine)
    found = certified(data, tmp_path, steps)
    whole = lv.certify(data, lv.mask(data, steps, secret=SECRET))
    assert [c.expected for c in found] == [c.expected for c in whole]
    assert not any(c.exact for c in found)
    assert all(c.expected >= found_by_halves(data, steps) for c in found)


@pytest.mark.parametrize("role", ["key", "sub_groups"])
def test_keys_and_sub_groups_that_were_removed_count_too(tmp_path, role):
    found = certified(read(role), tmp_path, ["data_shuffling"])
    assert found.whole_file.expected == pytest.approx(2 / RECORDS, rel=1e-6)


def test_keys_that_were_coarsened_later_count_as_the_mask_saw_them(tmp_path):
    """No stated step changes the key, and the file has it as one category."""
    data = read("key")
    found = certified(data, tmp_path, ["data_shuffling"], s="p or q")
    assert found.whole_file.expected >= found_by_halves(data, ["data_shuffling"])
    assert found.whole_file.expected == pytest.approx(2 / RECORDS, rel=1e-6)
    assert not found.whole_file.exact
    same = certified(data, tmp_path, ["data_shuffling"], number=0)  # an undeclared column: no bound, for another reason
    assert same.whole_file.expected == 1


def test_a_key_that_a_step_changed_must_be_in_the_file(tmp_path):
    """Nobody knows any more which keys the shuffle saw."""
    steps = ["post_randomisation(columns=['s'])", "data_shuffling"]
    found = certified(read("key"), tmp_path, steps)
    assert all(c.proof != EQUAL_S for c in found)
    assert any("a key that a step changed is not in the file" in why for why in found.refusals)


@pytest.mark.parametrize("pairing", ["p.parquet", "p.csv"])
def test_a_pairing_file_may_show_that_the_order_was_kept(tmp_path, pairing):
    """The product wrote the rows in the original order, with a pairing file: which row is whose is known, whatever the mask."""
    data = read("non_confidential")
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    release.write(tmp_path / "kept.csv", row_order="keep", pairing=tmp_path / pairing)
    kept = lv.certify(data, tmp_path / "kept.csv", pairing=tmp_path / pairing, steps=["data_shuffling"])
    assert all(c.expected == c.upper == 1 for c in kept)
    assert any("original order" in why for why in kept.refusals)
    release.write(tmp_path / "random.csv", pairing=tmp_path / pairing, overwrite=True)
    drawn = lv.certify(data, tmp_path / "random.csv", pairing=tmp_path / pairing, steps=["data_shuffling"])
    assert drawn.whole_file.expected == pytest.approx(2 / RECORDS, rel=1e-6)


def test_a_sentence_never_says_less_than_was_proved(tmp_path):
    """A third is reached by guessing, so "at most 33.3 %" was wrong."""
    frame = pd.DataFrame({"a": np.random.default_rng(3).normal(size=60), "s": np.repeat(np.arange(20), 3)})
    found = lv.certify(lv.read(frame, confidential=["a"], non_confidential=["s"]), "data_shuffling").single_target
    assert found.exact
    assert found.expected == pytest.approx(1 / 3)
    assert "at most 33.4\N{NO-BREAK SPACE}% of records in expectation" in found.sentence()
