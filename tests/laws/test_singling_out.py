"""Singling out against conditions evaluated by pandas, and its control against SciPy's hypergeometric law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

import larvatus as lv
from larvatus.attacks import singling_out
from larvatus.attacks.unpaired.predicates import subset_probability

SIGNS = {"at most": "<=", "at least": ">=", "equal": "=="}
ROLES = {"confidential": ["a", "b", "c"], "non_confidential": ["job"]}


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=list("abc")).assign(job=rng.choice(list("pqrstu"), n))
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return pd.concat([frame, frame.iloc[: n // 8]], ignore_index=True)


def conditions(predicate: tuple, levels: list[str]) -> list[str]:
    """The predicate as pandas reads it; codes of job are those of the sorted levels."""
    out = []
    for column, sign, value in predicate:
        if np.isnan(value) or (column == "job" and value < 0):
            out.append(f"{column}.isna()")
        else:
            out.append(f"{column} {SIGNS[sign]} {levels[int(value)]!r}" if column == "job" else
                       f"{column} {SIGNS[sign]} {value!r}")
    return out


def tried(monkeypatch: pytest.MonkeyPatch, files: tuple[pd.DataFrame, ...], **settings: int) -> tuple[lv.Score, list[tuple]]:
    """The score, and the predicates that its last count on the training records was about."""
    seen: list[list[tuple]] = []
    counting = singling_out.count_meeting
    monkeypatch.setattr(singling_out, "count_meeting", lambda p, part: seen.append(list(p)) or counting(p, part))
    data = lv.hold_out(lv.read(files[0], **ROLES), files[1])
    score = lv.risk(data, files[2], [lv.attacks.SinglingOut(**settings)], paired=False)[0]
    return score, seen[-1]


@pytest.mark.parametrize(("width", "at_least"), [(2, 20), (3, 120)])
def test_success_and_control_are_those_of_conditions_in_pandas(width, at_least, monkeypatch):
    files = people(300, 1), people(120, 2), people(250, 3)
    score, predicates = tried(monkeypatch, files, predicates=200, width=width)
    levels = sorted({v for f in files for v in f.job.dropna()})
    texts = [" & ".join(conditions(p, levels)) for p in predicates]
    counts = [np.array([len(f.query(t, engine="python")) for t in texts]) for f in files]
    assert (counts[2] == 1).all()  # in the released file, every one holds for one row
    assert len(set(texts)) == len(texts) > at_least  # each once, those with missing values too
    assert score.value == pytest.approx(np.mean(counts[0] == 1), rel=1e-12)
    sizes = len(files[0]), len(files[1])
    here, there = (hypergeom.pmf(1, n, k, min(sizes)).mean() for n, k in zip(sizes, counts[:2], strict=True))
    assert 0.05 < score.value < 0.5
    assert score.s_alone == pytest.approx(min(score.value * there / here, 1), rel=1e-9)
    one = [k for k, p in enumerate(predicates) if len(p) == 1]
    row = next(r for r in score.details["predicates"] if r["predicates"] == "one column")
    assert (row["count"], row["value"]) == (len(one), pytest.approx(np.mean(counts[0][one] == 1), rel=1e-12))


def test_conditions_on_one_column_are_those_of_extremes_and_of_categories_that_occur_once(monkeypatch):
    files = people(300, 1), people(120, 2), people(250, 3).assign(job=["p"] * 280 + ["u"])
    _, predicates = tried(monkeypatch, files, predicates=20)
    alone = {p[0] for p in predicates if len(p) == 1}
    levels = sorted({v for f in files for v in f.job.dropna()})
    expected = {("job", "equal", float(levels.index("u")))}
    for name in "abc":
        for sign, value in (("at most", files[2][name].min()), ("at least", files[2][name].max())):
            if (files[2][name] == value).sum() == 1:
                expected.add((name, sign, value))
    assert alone == expected
    assert len(expected) >= 3


def test_the_law_of_a_random_subset_is_hypergeometric():
    for records, drawn in ((50, 20), (300, 299), (40, 40), (7, 1)):
        count = np.arange(records + 1)
        assert subset_probability(count, records, drawn) == pytest.approx(hypergeom.pmf(1, records, count, drawn), abs=1e-12)
