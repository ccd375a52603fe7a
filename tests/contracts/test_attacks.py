"""What every attack must keep: full success on the original, chance on an unrelated file, deaf to row order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ATTACKS, CLUSTERS, ENGINES, KNOWS_STEPS, attacked_mask, engine_of
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import all_of
from larvatus.data.pairing import as_release
from sample import SECRET, close, people

FALSE_ALARM = 1e-6
WIDER = 2.5  # a 95 % interval, widened to one that leaves out the truth once in a million
ROLES = {"confidential": ["a", "b", "c"], "sub_groups": ["g"]}
BY_FIRM = {"shared_values"}  # attacks on values that the records of a firm share
BY_KEYS = {"key_risk"}  # attacks by unmasked keys: full success needs a key that singles out every record


def stated(attack: lv.Attack, data: lv.Microdata, table: pd.DataFrame) -> lv.Release:
    """A file from elsewhere, with the steps that the attack needs."""
    release = as_release(data, table)
    return replace(release, steps=all_of(Mask, [KNOWS_STEPS[attack.name()][0]])) if attack.name() in KNOWS_STEPS else release


def untied(n: int, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"g": rng.integers(0, 4, n), **{c: rng.normal(size=n) for c in "abc"}})


def roles(attack: lv.Attack) -> dict[str, list[str]]:
    if attack.name() in BY_KEYS:
        return {**ROLES, "non_confidential": ["place"]}
    return {**ROLES, "non_confidential": ["firm"]} if attack.name() in BY_FIRM else ROLES


def suited(table: pd.DataFrame, attack: lv.Attack) -> pd.DataFrame:
    """The table as the attack needs it: with a key, categories in place of numbers, or values that three records share."""
    if attack.name() in BY_KEYS:
        return table.assign(place=table.b)
    if attack.name() in BY_FIRM:
        firm = np.arange(len(table)) // 3 * 3
        return table.assign(firm=firm, **{c: table[c].to_numpy()[firm] for c in "abc"})
    if "date" in attack.handles:
        return table.assign(**{c: pd.to_datetime(np.rint(11_000 + 3e3 * table[c]), unit="D") for c in "abc"})
    if "number" in attack.handles:
        return table
    return table.assign(**{c: table[c].map(lambda v: None if np.isnan(v) else f"class {np.floor(v):.0f}") for c in "abc"})


@pytest.mark.parametrize("attack", ATTACKS)
def test_full_success_on_the_original_itself(attack):
    table = suited(untied(400), attack)
    data = lv.read(table, **roles(attack))
    score = lv.risk(data, stated(attack, data, table), [attack])[0]
    assert score.value == pytest.approx(1.0, abs=1e-9)
    assert score.kind == "risk"
    assert score.interval[0] <= score.value <= score.interval[1]


@pytest.mark.parametrize("attack", ATTACKS)
def test_chance_on_an_unrelated_file(attack):
    """With 1000 records the widened interval ends within some points of chance; an attack that sees the truth finds most."""
    table = suited(untied(1000), attack)
    other = suited(untied(1000, seed=99), attack).assign(g=table.g)
    data = lv.read(table, **(ROLES if attack.name() in BY_KEYS else roles(attack)))
    score = lv.risk(data, stated(attack, data, other), [attack])[0]
    low, high = score.interval
    reach = WIDER * max(high - score.value, score.value - low)
    assert abs(score.value - score.chance) <= reach
    assert score.s_alone <= score.value + reach


@pytest.mark.parametrize("attack", ATTACKS)
def test_row_order_changes_nothing(attack):
    table = untied(500)
    released = suited(table.assign(a=table.a + 0.3 * np.random.default_rng(1).normal(size=500)), attack)
    table = suited(table, attack)
    order = np.random.default_rng(3).permutation(500)
    data, other = lv.read(table, **roles(attack)), lv.read(table.iloc[order], **roles(attack))
    plain = lv.risk(data, stated(attack, data, released), [attack])[0]
    turned = lv.risk(other, stated(attack, other, released.iloc[order]), [attack])[0]
    assert turned.value == pytest.approx(plain.value, abs=1e-12)
    assert [r["value"] for r in turned.by_group] == pytest.approx([r["value"] for r in plain.by_group], abs=1e-12)


@cache
def released_on(engine: str, mask: str, confidential: tuple[str, ...]) -> tuple[lv.Microdata, lv.Release]:
    """The sample and its release by a mask, held by an engine; attacks of the same mask share them.

    300 records lie in five parts of 60 rows, in three of 110 on a cluster; more records would only add parts.
    """
    roles = {"confidential": confidential, "non_confidential": ["job"], "sub_groups": ["region", "sex"]}
    data = lv.read(people(300), **roles, engine=engine_of(engine))
    return data, lv.mask(data, mask, secret=SECRET)


@pytest.fixture(scope="module")
def shared_releases():
    """Releases that engines hold on disk go with the module."""
    yield
    released_on.cache_clear()


def on(engine: str, attack: lv.Attack) -> dict:
    """The score of an attack on a mask of the sample, held by an engine."""
    masked = {"number": ["income", "wealth", "rooms"], "date": ["entry", "leave"], "nominal": ["house"]}[
        next(kind for kind in ("number", "date", "nominal") if kind in attack.handles)]
    return lv.risk(*released_on(engine, attacked_mask(attack), tuple(masked)), [attack])[0].plain()


@cache
def in_memory(attack: lv.Attack) -> dict:
    return on("memory", attack)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_engines_agree(attack, engine, shared_releases):
    if engine in CLUSTERS and "date" in attack.handles:
        pytest.skip("engine spark masks no dates")
    assert close(in_memory(attack), on(engine, attack))


@pytest.mark.parametrize("attack", ATTACKS)
def test_is_not_fooled_by_constants_duplicates_and_missing_cells(attack):
    table = untied(300).assign(c=1.0)
    table = pd.concat([table, table.iloc[:100]], ignore_index=True)
    holes = table.copy()
    holes.loc[::7, "a"] = np.nan
    table, holes = suited(table, attack), suited(holes, attack)
    data = lv.read(table, **roles(attack))
    for released in (table, holes):
        score = lv.risk(data, stated(attack, data, released), [attack])[0]
        assert 0.6 < score.value <= 1.0
        assert np.isfinite([r["value"] for r in score.by_group]).all()


@pytest.mark.parametrize("attack", ATTACKS)
def test_scores_say_everything_they_must(attack):
    table = suited(untied(200), attack)
    data = lv.read(table, **roles(attack))
    score = lv.risk(data, lv.mask(data, attacked_mask(attack), secret=SECRET), [attack])[0]
    assert score.meaning
    assert score.chance is not None
    assert score.s_alone is not None
    assert len(score.by_group) == 4
    assert "by_record" not in score.plain()
