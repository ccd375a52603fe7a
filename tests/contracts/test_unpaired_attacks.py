"""What attacks that need no pairs must keep: success on the training records, none on an honest file, deaf to row order."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ATTACKS, ENGINES, SPARK, UNPAIRED_ATTACKS, engine_of
from larvatus.comparison.detail_titles import known_title
from larvatus.core.errors import RiskError
from sample import SECRET, close

ROLES = {"confidential": ["a", "b", "c", "d"], "non_confidential": ["job"], "sub_groups": ["g"]}
NEEDS_NO_HOLDOUT = {"key_attribution"}


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4)) @ np.linalg.cholesky(0.5 * np.eye(4) + 0.5).T
    columns = dict(zip("abcd", z.T, strict=True))
    return pd.DataFrame({"g": rng.integers(0, 3, n), "job": rng.choice(list("pqrst"), n), **columns})


def keyed(attack: lv.Attack) -> lv.Attack:
    """An attack by keys gets one that singles out every record."""
    if attack.name() not in NEEDS_NO_HOLDOUT:
        return attack
    return attack.model_copy(update={"keys": ("a", "b", "c"), "quantiles": 1000})


@cache
def population(engine: str = "memory") -> lv.Microdata:
    return lv.hold_out(lv.read(people(1300, 1), **ROLES, engine=engine_of(engine)), 0.2, secret=SECRET)


def attacked(data: lv.Microdata, rows: pd.DataFrame, attack: lv.Attack) -> lv.Score:
    return lv.risk(data, rows, [attack], paired=False)[0]


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_full_success_on_the_training_records_themselves(attack):
    data = population()
    score = attacked(data, data.to_pandas(), keyed(attack))
    assert score.value == pytest.approx(1.0, abs=1e-9)
    assert max(score.chance, score.s_alone) < 0.7 < score.interval[0]


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_an_honest_file_is_at_its_baseline(attack):
    """Means over 20 honest files: |mean of (value - baseline)| stays within 5 standard errors (false alarms below 1e-5)."""
    beyond = []
    for seed in range(20):
        data = lv.hold_out(lv.read(people(400, 100 + seed), **ROLES), 0.3, secret=SECRET)
        score = attacked(data, people(300, 900 + seed), attack)
        beyond.append(score.value - max(score.s_alone, score.chance if score.chance == 0.5 else 0.0))
    room = 5 * np.std(beyond, ddof=1) / np.sqrt(len(beyond))
    assert abs(np.mean(beyond)) <= room + 1e-3


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_a_leak_of_outlying_records_alone_is_seen_among_them(attack):
    """An honest file with copies of the twentieth of the records that is farthest out: the others stay near their baseline."""
    data = population()
    seen = data.to_pandas()
    numbers = seen[list("abcd")]
    far = (((numbers - numbers.median()) / numbers.std()) ** 2).sum(axis=1)
    copied = seen[far >= far.quantile(0.95)]
    score = attacked(data, pd.concat([people(900, 5), copied]), keyed(attack))
    outlying, interior = ({**r} for r in score.details["outliers"])
    assert (outlying["records"], interior["records"]) == ("outlying tenth", "interior")
    beyond = [r["value"] - r["s_alone"] for r in (outlying, interior)]
    assert beyond[0] > 0.05 + max(beyond[1], 0)
    assert abs(beyond[1]) < 0.1


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_row_order_changes_nothing(attack):
    table, held, rows = people(500, 3), people(200, 4), people(300, 5)
    rng = np.random.default_rng(6)
    found = []
    for again in range(2):
        parts = [t.iloc[rng.permutation(len(t))] if again else t for t in (table, held, rows)]
        data = lv.hold_out(lv.read(parts[0], **ROLES), parts[1])
        found.append(attacked(data, parts[2], attack).plain())
    assert close(*found)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("memory", SPARK)])
@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_engines_agree(attack, engine):
    rows = people(300, 5)
    assert close(attacked(population(), rows, attack).plain(), attacked(population(engine), rows, attack).plain())


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_constants_duplicates_and_missing_cells(attack):
    def holed(n: int, seed: int) -> pd.DataFrame:
        table = people(n, seed).assign(d=1.0)
        table.loc[::7, "a"] = np.nan
        table.loc[::11, "job"] = None
        return pd.concat([table, table.iloc[: n // 4]], ignore_index=True)

    data = lv.hold_out(lv.read(holed(400, 7), **ROLES), holed(200, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (holed(300, 9), data.to_pandas()):
            score = attacked(data, rows, keyed(attack))
            assert 0 <= score.interval[0] <= score.value <= score.interval[1] <= 1
            assert np.isfinite([r["value"] for r in score.by_group]).all()
    assert score.value > max(score.chance, score.s_alone) + 0.1


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_scores_say_everything_they_must(attack):
    score = attacked(population(), people(300, 5), attack)
    assert score.meaning
    assert score.chance is not None
    assert score.s_alone is not None
    assert [r["sub_group"] for r in score.by_group] == ["g=0", "g=1", "g=2"]
    assert [key for key in score.details if known_title(score.method, key) is None] == []
    assert "outliers" in score.details


@pytest.mark.parametrize("attack", UNPAIRED_ATTACKS)
def test_without_a_holdout_it_is_refused_by_name(attack):
    data, rows = lv.read(people(300, 1), **ROLES), people(200, 2)
    if attack.name() in NEEDS_NO_HOLDOUT:
        assert attacked(data, rows, attack).s_alone is not None
        return
    with pytest.raises(RiskError, match=rf"{attack.name()}.*no holdout.*lv\.hold_out"):
        attacked(data, rows, attack)
    found = lv.risk(data, rows, paired=False)
    assert any(attack.name() in why and "holdout" in why for why in found.not_run)
    assert attack.name() not in [s.method for s in found]


def test_the_default_set_of_an_unpaired_file_is_these_attacks():
    found = lv.risk(population(), people(300, 5), paired=False)
    assert {s.method for s in found} == {a.values[0].name() for a in UNPAIRED_ATTACKS}
    left_out = {why.removeprefix("not run: ").partition(":")[0] for why in found.not_run}
    assert left_out == {a.values[0].name() for a in ATTACKS}
    assert all("not paired" in why for why in found.not_run)


def test_a_paired_release_gets_them_if_there_is_a_holdout():
    data = lv.hold_out(lv.read(people(400, 1), **ROLES), 0.3, secret=SECRET)
    names = [a.values[0].name() for a in UNPAIRED_ATTACKS]
    with_holdout = {s.method for s in lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET))}
    assert {*names} <= with_holdout
    alone = lv.read(people(200, 1), **ROLES)
    without = lv.risk(alone, lv.mask(alone, "additive_noise", secret=SECRET))
    assert not {*names} & {s.method for s in without}
    assert not any(n in why for n in names for why in without.not_run)
