"""The budget of releases: what two releases tell together, their average, and the file of the next year.

Randomised tests have fixed seeds; their false-alarm rate is 1e-6 unless stated otherwise.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from budget_sample import KEY, people
from larvatus.core.errors import LarvatusError, ManifestError, ReadError
from larvatus.data.budgets.release_information import BudgetEntry
from larvatus.pipeline.budgets.manifest_entries import entry_of, read_entry
from sample import SECRET

FALSE_ALARM = 1e-6


def read(frame: pd.DataFrame, confidential=("a", "b", "c"), **roles) -> lv.Microdata:
    return lv.read(frame, confidential=list(confidential), sub_groups=["g"], **roles)


def made(data: lv.Microdata, step, secret: int = 0, name: str = "release") -> tuple[lv.Microdata, lv.Release]:
    return data, lv.mask(data, step, secret=SECRET + bytes([secret]), name=name)


def test_precisions_add_up():
    """Two releases with noise variance v tell what one with variance v / 2 tells, and less than the sum of both."""
    data = read(people())
    first, second = (made(data, "additive_noise(variance=4.0)", k) for k in (1, 2))
    both = lv.budget([first, second], key=KEY)
    once = lv.budget(first, key=KEY)
    half = lv.budget(made(data, "additive_noise(variance=2.0)"), key=KEY)
    assert both.bits == pytest.approx(half.bits, rel=1e-9)
    assert both.forecast == pytest.approx(half.forecast, rel=0.05)
    assert once.bits < both.bits < 2 * once.bits
    assert both.bits == pytest.approx(sum(p.added for p in both), rel=1e-12)


def test_the_closed_form_is_that_of_the_joint_normal_law():
    """Oracle: mutual information of a normal X with both releases, from the determinants of the joint covariance."""
    data = read(people(shape="normal"))
    steps = ("correlated_noise(variance=2.0)", "additive_noise(variance=3.0)")
    found = lv.budget([made(data, s, k) for k, s in enumerate(steps)], key=KEY)
    frame, total = people(shape="normal"), 0.0
    for _, part in frame.groupby("g"):
        x = part[["a", "b", "c"]].to_numpy()
        sigma, unbiased = np.cov(x.T, ddof=0), np.cov(x.T, ddof=1)
        noise = np.zeros((6, 6))
        noise[:3, :3], noise[3:, 3:] = 2 * unbiased, 3 * np.diag(np.diag(unbiased))
        signal = np.kron(np.ones((2, 2)), sigma)
        total += len(part) * 0.5 * (np.linalg.slogdet(signal + noise)[1] - np.linalg.slogdet(noise)[1])
    assert found.bits * np.log(2) == pytest.approx(total / len(frame), rel=1e-6)


def best_links(frame: pd.DataFrame, released: np.ndarray, noise: float) -> float:
    """The share that the likelihood ratio of normal columns finds, within sub-groups; noise as a fraction of the variance."""
    names = ["a", "b", "c"]
    hits = 0
    for _, part in frame.groupby("g"):
        x, y = part[names].to_numpy(), released[part.index]
        sigma = np.cov(x.T)
        inside, whole = noise * np.diag(np.diag(sigma)), sigma + noise * np.diag(np.diag(sigma))
        apart, away = x[:, None] - y[None], y - x.mean(axis=0)
        score = np.einsum("ijk,kl,ijl->ij", apart, np.linalg.inv(inside), apart) - np.einsum(
            "jk,kl,jl->j", away, np.linalg.inv(whole), away)
        hits += int((score.argmin(axis=1) == np.arange(len(x))).sum())
    return hits / len(frame)


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_an_intruder_who_averages_two_releases_stays_below_the_total(shape):
    """20 secrets: averaging finds more than one release gives, and never more than the bound on both together."""
    frame = people(200, 3, shape)
    data = read(frame)
    alone, averaged = [], []
    for k in range(20):
        pair = [made(data, "additive_noise(variance=1.0)", j)[1] for j in (2 * k, 2 * k + 1)]
        values = [r.frame()[["a", "b", "c"]].to_numpy() for r in pair]
        alone.append(best_links(frame, values[0], 1.0))
        averaged.append(best_links(frame, (values[0] + values[1]) / 2, 0.5))
    found = lv.budget([(data, r) for r in pair], key=KEY)
    one = lv.budget((data, pair[0]), key=KEY)
    assert np.mean(averaged) > 1.3 * np.mean(alone)
    error = stats.t.ppf(1 - FALSE_ALARM, 19) * np.std(averaged, ddof=1) / np.sqrt(20)
    assert np.mean(averaged) - error <= found.links
    assert one.links < found.links < 1
    if shape == "normal":  # the forecast of both is that of the average, which loses nothing
        assert found.forecast == pytest.approx(np.mean(averaged), abs=max(0.03, 3 * error))
        assert np.mean(averaged) - error > one.forecast


def test_the_same_file_next_year_adds_its_own_bound():
    """Other values of the same persons: the sum of both bounds, for data with the same name of the source or persons."""
    this = people()
    next_year = this.assign(a=this["a"] * 1.03 + 0.01)
    now, later = read(this), read(next_year)
    releases = [made(now, "additive_noise(variance=4.0)", 1), made(later, "additive_noise(variance=4.0)", 2, "next year")]
    found = lv.budget(releases, key=KEY, source="register")
    alone = [lv.budget(r, key=KEY).bits for r in releases]
    assert found.bits == pytest.approx(sum(alone), rel=1e-9)
    persons = this.assign(who=[f"p{i}" for i in range(len(this))])
    waves = [lv.read(f, confidential=["a", "b", "c"], sub_groups=["g"], person="who")
             for f in (persons, persons.assign(a=next_year["a"], b=next_year["b"] + 1, c=next_year["c"] * 2))]
    same = lv.budget([made(d, "additive_noise(variance=4.0)", k) for k, d in enumerate(waves)], key=KEY)
    assert same.bits == pytest.approx(sum(p.alone for p in same), rel=1e-9)


def test_the_values_of_two_years_that_share_no_column_are_another_source():
    this = people()
    other = pd.DataFrame({"a": this["a"] + 1, "b": this["b"] + 1, "c": this["c"] + 1, "g": this["g"]})
    releases = [made(read(this), "additive_noise"), made(read(other), "additive_noise", name="other")]
    with pytest.raises(ManifestError, match="not known to be of the same source"):
        lv.budget(releases, key=KEY)
    assert lv.budget(releases, key=KEY, source="register").bits > 0


def test_the_same_release_counts_once_and_the_same_secret_is_no_excuse(tmp_path):
    data = read(people())
    entry = entry_of(*made(data, "additive_noise"), KEY, files=("hash",))
    twice = lv.budget([entry, entry])
    assert twice.bits == lv.budget(entry).bits
    assert any("counts once" in note for note in twice.notes)
    again = replace(entry, files=("another format",))
    assert lv.budget([entry, again]).bits > twice.bits  # a bound on what is told, not an estimate of it


def test_other_columns_and_other_sub_groups_add_their_single_bounds():
    frame = people()
    both, part = read(frame), read(frame, ("a",))
    apart = lv.read(frame, confidential=["a", "b", "c"])
    wide, narrow, whole = (made(d, "additive_noise(variance=4.0)", k) for k, d in enumerate((both, part, apart)))
    nested = lv.budget([wide, narrow], key=KEY)
    assert nested.bits < sum(p.alone for p in nested) - 1e-6  # the columns of one contain those of the other
    halves = [made(read(frame, names), "additive_noise(variance=4.0)", k) for k, names in enumerate((("a", "b"), ("b", "c")))]
    crossed = lv.budget(halves, key=KEY)
    assert crossed.bits == pytest.approx(sum(p.alone for p in crossed), rel=1e-9)
    groups = lv.budget([wide, whole], key=KEY)
    assert groups.bits == pytest.approx(sum(p.alone for p in groups), rel=1e-9)
    assert groups.links is None
    assert groups.forecast is None
    assert any("different unmasked columns" in note for note in groups.notes)


def test_masks_that_forget_who_is_who_add_nothing():
    data = read(people())
    noise, shuffled, drawn = (made(data, s) for s in ("additive_noise(variance=4.0)", "data_shuffling", "linear_model"))
    found = lv.budget([shuffled, noise, drawn], key=KEY)
    assert [round(p.added, 9) for p in found][::2] == [0, 0]
    assert found.bits == pytest.approx(lv.budget(noise, key=KEY).bits)
    none = lv.budget([shuffled, drawn], key=KEY)
    assert none.bits == 0
    assert none.links == none.chance == pytest.approx(2 / 240)


@pytest.mark.parametrize("step", ["sufficiency_based(similarity=0.5)", "rank_swap", "additive_noise(positive=true)",
                                  "additive_noise(where='a > 1')"])
def test_what_is_not_proved_counts_as_everything(step):
    data = read(people())
    found = lv.budget(made(data, step), key=KEY)
    assert found.bits == pytest.approx(found.most)
    assert found.links == 1
    assert any("No bound is proved" in note for note in found.notes)


def test_masks_that_keep_moments_have_a_forecast_and_no_bound():
    data = read(people(shape="normal"))
    exact, noise = made(data, "sufficiency_based(similarity=0.5)"), made(data, "additive_noise(variance=4.0)")
    found = lv.budget([exact, noise], key=KEY)
    assert found.links == 1
    assert found.forecast > max(lv.budget(r, key=KEY).forecast for r in (exact, noise))
    assert any("independent over records" in note for note in found.notes)


def test_rounding_tells_no_more_than_its_equal_rows():
    """Oracle: log n! − Σ log m! over sets of equal rows, in every sub-group."""
    frame = people()
    found = lv.budget(made(read(frame), "rounding(base=2.0)"), key=KEY)
    rounded = lv.mask(read(frame), "rounding(base=2.0)").frame()
    total = 0.0
    for _, part in rounded.groupby("g"):
        sizes = part.groupby(["a", "b", "c"]).size().to_numpy()
        total += np.log(np.arange(1, len(part) + 1)).sum() - sum(np.log(np.arange(1, m + 1)).sum() for m in sizes)
    assert found.bits * np.log(2) == pytest.approx(total / len(frame), rel=1e-12)


def test_a_file_masked_elsewhere_counts_as_everything():
    data, release = made(read(people()), "additive_noise")
    elsewhere = replace(release, steps=())
    assert lv.budget((data, elsewhere), key=KEY).links == 1


def test_fingerprints_need_the_key_and_tell_nothing_without_it():
    data, release = made(read(people()), "additive_noise")
    one, other = (entry_of(data, release, key).marks for key in (KEY, KEY + b"!"))
    assert not set(one.columns.values()) & set(other.columns.values())
    assert one.cells != other.cells
    assert not one.same_source(other)
    frame = people()
    frame.loc[0, "a"] += 1e-9
    changed = entry_of(*made(read(frame), "additive_noise"), KEY).marks
    assert changed.columns["a"] != one.columns["a"]
    assert changed.columns["b"] == one.columns["b"]
    assert one.units == ""  # positions in a file identify nobody
    with pytest.raises(ManifestError, match="at least 16 bytes"):
        lv.budget((data, release), key=b"short")
    with pytest.raises(ManifestError, match="key: is needed"):
        lv.budget((data, release))


def test_fingerprints_do_not_depend_on_the_order_of_rows_with_ids():
    frame = people().assign(id=np.arange(240) + 1000)
    mixed = frame.sample(frac=1, random_state=3)
    one, other = (entry_of(*made(lv.read(f, confidential=["a", "b", "c"], sub_groups=["g"], record_id="id"), "additive_noise"),
                           KEY).marks for f in (frame, mixed))
    assert one == other
    assert one.units


def test_an_entry_survives_storage():
    entry = entry_of(*made(read(people()), "additive_noise"), KEY, "register")
    stored = json.loads(json.dumps(entry.plain()))
    assert BudgetEntry.from_plain(entry.name, stored, privacy=entry.privacy) == entry
    assert str(people()["a"].max()) not in json.dumps(stored)


def test_manifests_without_an_entry_are_refused(tmp_path):
    data = read(people())
    from larvatus.documents.manifest import write_beside

    release = lv.mask(data, "additive_noise")
    release.write(tmp_path / "out.csv")
    write_beside(release, data, tmp_path / "out.csv")
    with pytest.raises(ManifestError, match="records nothing for budgets"):
        read_entry(tmp_path / "out.internal.json")
    (tmp_path / "text.json").write_text("no manifest")
    for name in ("text.json", "missing.json"):
        with pytest.raises(ReadError):
            read_entry(tmp_path / name)
    with pytest.raises(LarvatusError, match="no release is given"):
        lv.budget([])


def test_sub_groups_under_other_names_are_matched_by_their_records():
    """The same partition with reversed labels: the total is that of two releases in one of the two codings."""
    frame = people()
    frame.loc[frame["g"] == "m", "a"] *= 50  # the sub-groups differ
    frame["h"] = frame["g"].map({"m": "z", "n": "y"})
    one, two = (lv.read(frame, confidential=["a", "b", "c"], sub_groups=[name]) for name in ("g", "h"))
    noise = "additive_noise(variance=4.0, scope='file')"
    mixed = lv.budget([made(one, noise, 1), made(two, noise, 2)], key=KEY)
    same = lv.budget([made(one, noise, 1), made(one, noise, 2)], key=KEY)
    assert mixed.bits == pytest.approx(same.bits, rel=1e-9)
    assert mixed.forecast is not None


def test_rows_in_the_original_order_tell_everything(tmp_path):
    from larvatus.documents.manifest import DecisionFacts, write_beside

    data, release = made(read(people()), "data_shuffling")
    entry = entry_of(data, release, KEY)
    release.write(tmp_path / "out.csv", row_order="keep")
    write_beside(release, data, tmp_path / "out.csv", decided=DecisionFacts(row_order="keep", budget=entry.plain()))
    found = lv.budget(tmp_path / "out.internal.json")
    assert found.links == 1
    assert found.bits == pytest.approx(found.most)
    assert any("original order" in note for note in found.notes)


def test_very_small_files_tell_something_because_some_draws_are_refused():
    """Five records, one of which differs: a shuffle may not keep it in place, so its row is one of four, and links are .25."""
    data = lv.read(pd.DataFrame({"a": [0.0, 0, 0, 0, 7]}), confidential=["a"])
    shuffled = data, lv.mask(data, "data_shuffling", secret=SECRET)
    assert lv.budget(shuffled, key=KEY).links >= 0.25
    levels = lv.read(pd.DataFrame({"p": list("xyzxyzxyzxyz")}), confidential=["p"])
    for pair in (shuffled, (levels, lv.mask(levels, "post_randomisation(stay=0.8, invariant=false)", secret=SECRET))):
        assert "drawn again" in entry_of(*pair, KEY).information.reasons[0]


def test_the_same_secret_with_another_s_counts_as_telling_everything():
    """Some sub-groups were corrected: both releases have the same draws at another scale, and two rows give the value."""
    frame = people()
    moved = frame.assign(g=np.where(np.arange(len(frame)) % 5 == 0, frame["g"].to_numpy()[::-1], frame["g"]))
    pairs = [made(read(f), "additive_noise(variance=8.0)", name=n) for f, n in ((frame, "first"), (moved, "corrected"))]
    noise = [(r.frame()["a"] - frame["a"]).to_numpy() for _, r in pairs]
    assert len(np.unique((noise[0] / noise[1]).round(6))) <= 4
    found = lv.budget(pairs, key=KEY)
    assert found.bits == pytest.approx(found.most)
    assert any("same secret" in note for note in found.notes)
    other = [pairs[0], made(read(moved), "additive_noise(variance=8.0)", secret=1, name="corrected")]
    assert lv.budget(other, key=KEY).bits < found.most / 4


def test_the_same_secret_in_pooled_sub_groups_counts_as_telling_everything():
    """The shuffle of b needs larger sub-groups, so q and r are pooled: the noise of a has another scale, with the same draws.

    Whoever knows both scales solves for a. The budget said .2 bits; the pairing of these 30 records takes 1.6 bits a record.
    """
    draws = np.random.default_rng(1)
    g = np.repeat(["p", "q", "r"], [30, 27, 3])
    frame = pd.DataFrame({"a": draws.normal(size=60) * np.where(g == "r", 10, 1), "b": draws.normal(size=60), "g": g})
    data = lv.read(frame, confidential=["a", "b"], sub_groups=lv.SubGroups(columns=("g",), small="pool"))
    noise, shuffle = "additive_noise(variance=9.0, columns=['a'])", "data_shuffling(columns=['b'])"
    steps = {"first": [noise, "additive_noise(variance=9.0, columns=['b'])"], "second": [noise, shuffle]}
    first, second = (lv.mask(data, s, secret=SECRET, name=n) for n, s in steps.items())
    x, y, z = frame["a"], first.frame()["a"], second.frame()["a"]
    for some in (g == "q", g == "r"):
        ratio = ((z - x) / (y - x))[some].mean()
        assert abs(ratio - 1) > 0.1
        assert ((z - ratio * y) / (1 - ratio))[some].to_numpy() == pytest.approx(x[some].to_numpy(), abs=1e-6)
    found = lv.budget([(data, first), (data, second)], key=KEY)
    assert found.bits >= 1.6
    again = lv.mask(data, steps["second"], secret=SECRET + b"another", name="second")
    assert lv.budget([(data, first), (data, again)], key=KEY).bits < 0.5


@pytest.mark.parametrize("step", ["correlated_noise(variance=0.5)", "linear_model(similarity=0.8)"])
def test_small_differences_between_columns_count_like_large_ones(step):
    """Columns that are one but for 1e-8 of it have noise as small as these differences: a release tells all the same."""
    draws = np.random.default_rng(1)
    a = draws.normal(size=100)
    near, equal = (pd.DataFrame({"g": 1, "a": a, "b": 2 * a + far * draws.normal(size=100), "c": 3 * a}) for far in (1e-8, 0.0))
    told, small = (lv.budget(made(read(frame), step), key=KEY).bits for frame in (near, equal))
    assert told > 5
    assert small < 1


def test_bounds_in_the_sentence_are_rounded_up():
    """.004 bits are not "at most 0.00 bits"."""
    from larvatus.data.budgets.release_budget import BudgetShare, ReleaseBudget

    found = ReleaseBudget(0.004, 1.0, 1 / 3, None, 0.1, 30, (BudgetShare("one", 0.004, 0.004, "a proof"),))
    assert "at most 0.01 bits" in found.sentence()
    assert "at most 33.4\N{NO-BREAK SPACE}%" in found.sentence()
