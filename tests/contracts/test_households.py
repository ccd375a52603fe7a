"""Every mask keeps households consistent, or refuses the role with a sentence."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, MASKS, engine_of
from family_sample import inconsistent, with_families, with_waves
from sample import ROLES, SECRET, people, roles_for
from shrinking import Shrunk

# Every setting keeps households consistent, and persons in them. What else holds is shown for the first settings of each mask.
SLOWLY = [m if m.id.endswith("-0") else pytest.param(*m.values, id=m.id, marks=pytest.mark.slow) for m in MASKS]


@cache
def families() -> pd.DataFrame:
    return with_families(people())


def steps(mask) -> list:
    chosen = {"where": mask.where, "scope": mask.scope}
    return [lv.masks.AdditiveNoise(**chosen), Shrunk(**chosen), mask] if mask.follows else [mask]


@cache
def families_on(engine: str, confidential: tuple[str, ...], household: str | None, person: str | None) -> lv.Microdata:
    """The families, read once for each engine and roles; masks share them, as the releases of a study do."""
    roles = {**ROLES, "confidential": confidential, "household": household, "person": person}
    return lv.read(families(), **roles, engine=engine_of(engine))


def release_of(
    mask, engine: str = "memory", confidential: list[str] | None = None, household: str | None = "family",
    person: str | None = None,
) -> pd.DataFrame:
    names = roles_for(mask)["confidential"] if confidential is None else confidential
    return lv.mask(families_on(engine, tuple(names), household, person), *steps(mask), secret=SECRET).frame()


@cache
def in_memory(mask) -> pd.DataFrame:
    """The release by the engine that the others are compared with; tests must not change it."""
    return release_of(mask)


def household_columns(mask) -> list[str]:
    return [n for n in roles_for(mask)["confidential"] if n in ("wealth", "house", "entry")]


def release_or_refusal(mask, **roles: object) -> pd.DataFrame | None:
    try:
        return release_of(mask, **roles)
    except lv.LarvatusError as refusal:
        if len(str(refusal)) < 40:
            raise  # a refusal is a sentence
        return None


REFUSED: set[str] = set()  # masks that refuse households; each says why


@pytest.mark.parametrize("mask", MASKS)
def test_no_household_becomes_inconsistent(mask):
    release = release_or_refusal(mask)
    assert (release is None) == (mask.name() in REFUSED)
    if release is not None:
        assert inconsistent(release, families().family, household_columns(mask)) == 0
        first = household_columns(mask)[0]
        assert mask.drops or mask.blanks or (release[first] != families()[first]).any()


@pytest.mark.parametrize("mask", SLOWLY)
def test_a_selection_of_members_masks_the_household_variables_of_whole_households(mask):
    release = release_or_refusal(mask.model_copy(update={"where": "age > 60"}))
    if release is not None:
        frame = families()
        assert inconsistent(release, frame.family, household_columns(mask)) == 0
        chosen = frame.family.isin(frame.family[frame.age > 60])
        for name in household_columns(mask):
            before, after = frame[name].loc[release.index], release[name]
            same = (before == after) | (before.isna() & after.isna())
            assert same[~chosen.loc[release.index]].all()


@pytest.mark.parametrize("mask", SLOWLY)
def test_household_variables_alone(mask):
    release = release_or_refusal(mask, confidential=household_columns(mask))
    assert release is None or inconsistent(release, families().family, household_columns(mask)) == 0


@pytest.mark.parametrize("mask", SLOWLY)
def test_values_that_all_rows_of_a_person_share_are_masked_once(mask):
    """Otherwise the mean over the rows of a person would remove the noise."""
    release = release_or_refusal(mask, household=None, person="family")
    assert release is not None
    assert inconsistent(release, families().family, household_columns(mask)) == 0


@cache
def waves() -> pd.DataFrame:
    return with_waves(people())


@cache
def waves_read(confidential: tuple[str, ...]) -> lv.Microdata:
    return lv.read(waves(), **{**ROLES, "confidential": confidential, "household": "family", "person": "person"})


def release_of_waves(mask) -> pd.DataFrame:
    return lv.mask(waves_read(tuple(roles_for(mask)["confidential"])), *steps(mask), secret=SECRET).frame()


@pytest.mark.parametrize("mask", MASKS)
def test_persons_in_households_stay_consistent_too(mask):
    """Columns that households share are masked once per household; of the others, those of a person once per person."""
    frame, names = waves(), roles_for(mask)["confidential"]
    release = release_of_waves(mask)
    assert inconsistent(release, frame.family, [n for n in names if n in ("wealth", "entry")]) == 0
    assert inconsistent(release, frame.person, [n for n in names if n in ("income", "house")]) == 0


@pytest.mark.parametrize("mask", [m for m in MASKS if m.id.endswith("-0")])
def test_a_selection_of_rows_masks_what_persons_share_in_whole_persons(mask):
    frame, names = waves(), roles_for(mask)["confidential"]
    release = release_of_waves(mask.model_copy(update={"where": "age > 60"}))
    assert inconsistent(release, frame.person, [n for n in names if n in ("income", "house")]) == 0


def test_an_exchange_that_would_split_persons_is_refused():
    """Whole households exchange values row by row, so the rows of a person would get those of several persons."""
    frame = waves().sample(frac=1, random_state=1, ignore_index=True)
    data = lv.read(frame, confidential=["income"], household="family", person="person")
    with pytest.raises(lv.LarvatusError, match=r"records of a person would differ .* record_swap exchanges whole households"):
        lv.mask(data, "record_swap(rate=0.8)", secret=SECRET)


def test_draws_of_persons_and_of_households_differ():
    """Two equal columns, one shared by the households and one by the persons, get different noise."""
    frame = waves().drop_duplicates("person").assign(other=lambda f: np.arange(len(f), dtype=float))
    twice = pd.concat([frame, frame], ignore_index=True)
    data = lv.read(twice, confidential=["wealth", "other"], household="family", person="person")
    noise = lv.mask(data, "additive_noise", secret=SECRET).frame()[["wealth", "other"]] - twice[["wealth", "other"]]
    first = twice.drop_duplicates("family").index
    assert abs(np.corrcoef(noise.loc[first].T)[0, 1]) < 6 / np.sqrt(len(first))  # false alarms: 2e-9


def test_single_member_households_do_not_hide_the_persons():
    """A household column in which everybody is alone forms no units; the rows of a person still do."""
    frame = waves().assign(alone=np.arange(len(waves())))
    data = lv.read(frame, confidential=["income"], household="alone", person="person")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert inconsistent(release.frame(), frame.person, ["income"]) == 0


def test_persons_are_drawn_whole_and_named_so():
    data = lv.read(families(), confidential=["income", "wealth"], person="family")
    drawn = lv.mask(data, "sampling(rate=0.5)", "additive_noise", secret=SECRET)
    frame = families()
    sizes = frame.family.loc[drawn.frame().index].value_counts()
    assert set(sizes.items()) <= set(frame.family.value_counts().items())
    said = " ".join(n.text for n in drawn.notes)
    assert "persons were drawn whole: all records of a person are released, or none" in said
    assert "wealth: one value per person, masked once for all records of the person" in said


@pytest.mark.parametrize("engine", [
    pytest.param(e, marks=pytest.mark.slow if e == "duckdb" else ()) for e in ENGINES if e not in ("memory", *CLUSTERS)
])
@pytest.mark.parametrize("mask", [m for m in MASKS if m.id.endswith("-0")])
def test_engines_make_the_same_release(mask, engine):
    one, other = in_memory(mask), release_of(mask, engine)
    assert one.index.equals(other.index)
    for name in roles_for(mask)["confidential"]:
        pd.testing.assert_series_equal(one[name], other[name], rtol=1e-9)


@pytest.mark.parametrize("mask", [m for m in MASKS if m.values[0].drops])
def test_households_are_drawn_whole(mask):
    release, frame = release_of(mask), families()
    drawn = frame.family.loc[release.index]
    assert set(drawn.value_counts().items()) <= set(frame.family.value_counts().items())
    assert 0 < len(release) < len(frame)


def test_weights_of_sampled_households_are_divided_by_the_share_of_households():
    """Members have weights of their own; the factor is that of their household."""
    rng = np.random.default_rng(1)
    frame = families().assign(weight=rng.uniform(1, 9, len(families())))
    data = lv.read(frame, confidential=["income"], household="family", weight="weight")
    release = lv.mask(data, "sampling(rate=0.5)", secret=SECRET).frame()
    households = frame.family.nunique()
    drawn = frame.family.loc[release.index].nunique()
    assert drawn == pytest.approx(households / 2, abs=1)
    np.testing.assert_allclose(release.weight, frame.weight.loc[release.index] * households / drawn, rtol=1e-12)


def test_without_household_variables_the_role_changes_no_value():
    data = lv.read(families(), confidential=["income", "rooms"], non_confidential=["age"])
    same = lv.read(families(), confidential=["income", "rooms"], non_confidential=["age"], household="family")
    one, other = (lv.mask(d, "additive_noise", secret=SECRET).frame() for d in (data, same))
    pd.testing.assert_frame_equal(one, other)


def test_draws_of_households_are_not_those_of_records():
    """With the noise of records scaled differently, two releases of one secret would give the original away."""
    roles = {"confidential": ["wealth"], "non_confidential": ["age"]}
    plain = lv.mask(lv.read(families(), **roles), "additive_noise", secret=SECRET).frame()
    shared = lv.mask(lv.read(families(), **roles, household="family"), "additive_noise", secret=SECRET).frame()
    first = families().drop_duplicates("family").index
    noise = [(r.wealth - families().wealth)[first] for r in (plain, shared)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 6 / np.sqrt(len(first))  # false alarms: 2e-9


def test_settings_by_column_follow_their_columns():
    data = lv.read(families(), confidential=["income", "wealth", "rooms"], household="family")
    release = lv.mask(data, "rounding(base=[1000, 500, 2])", secret=SECRET).frame()
    assert (release.wealth % 500 == 0).all()
    assert (release.rooms % 2 == 0).all()
    assert (release.income.dropna() % 1000 == 0).all()
    by_name = lv.mask(data, "rounding(base={income=1000, wealth=500, rooms=2})", secret=SECRET).frame()
    pd.testing.assert_frame_equal(release, by_name)


def test_columns_masked_together_must_be_of_one_kind():
    data = lv.read(families(), confidential=["income", "wealth"], household="family")
    with pytest.raises(lv.LarvatusError, match="household variables apart"):
        lv.mask(data, "random_swap(together=['income', 'wealth'])", secret=SECRET)


def test_stated_household_columns_must_be_equal_within_households():
    data = lv.read(families(), confidential=["income", "wealth"], household="family", household_columns=["wealth", "income"])
    with pytest.raises(lv.LarvatusError, match=r"'income' in .* households"):
        lv.mask(data, "additive_noise", secret=SECRET)
    stated = lv.read(families(), confidential=["income", "wealth"], household="family", household_columns=["wealth"])
    release = lv.mask(stated, "additive_noise", secret=SECRET)
    assert inconsistent(release.frame(), families().family, ["wealth"]) == 0
    assert any("masked once for all its members" in n.text and n.public for n in release.notes)


def test_rules_that_would_split_a_household_are_refused():
    data = lv.read(families(), confidential=["income", "wealth"], household="family")
    with pytest.raises(lv.LarvatusError, match="members of a household would differ"):
        lv.mask(data, "additive_noise(variance=4)", secret=SECRET, constraints=["wealth >= income"])


def test_local_suppression_keeps_its_promise_and_the_households():
    data = lv.read(families(), confidential=["rooms", "house"], household="family", sub_groups=["region"])
    release = lv.mask(data, "local_suppression(k=4)", secret=SECRET).frame()
    assert inconsistent(release, families().family, ["house"]) == 0
    counts = release[["region", "rooms", "house"]].astype(object).fillna("missing").groupby(["region", "rooms", "house"]).size()
    assert counts.min() >= 4


def test_households_with_a_suppressed_member_are_suppressed_whole():
    frame = families().copy()
    frame["part"] = np.where(np.arange(len(frame)) % 97 == 0, "rare", "common")
    data = lv.read(frame, confidential=["income"], household="family",
                   sub_groups=lv.SubGroups(columns=("part",), smallest=20, small="suppress"))
    release = lv.mask(data, "additive_noise", secret=SECRET)
    after = release.frame()
    broken = frame.family.isin(frame.family[frame.part == "rare"])
    assert set(after.index) == set(frame.index[~broken])
    assert any("other members of their households" in n.text for n in release.notes)
