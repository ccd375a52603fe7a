"""Levels of the keys searched together with suppression, against brute force over all levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.attacks.key_risk import KeyRisk
from larvatus.comparison.key_figures import key_figure, key_loss
from larvatus.comparison.limits import limits_of
from larvatus.core.errors import StudyError
from larvatus.searching.lattice import solve_lattice
from larvatus.searching.lattice_settings import Lattice
from larvatus.stats.grouping import recoding_lattice
from larvatus.stats.grouping.lattice_sweep import rare_losses
from larvatus.stats.grouping.rare_classes import ClassLimits, KeyClasses
from sample import SECRET

TREES = {
    "job": {"hand": {"craft": ["smith", "joiner"], "field": ["farmer"]},
            "head": {"desk": ["clerk", "judge"], "school": ["tutor"]}},
    "town": {"north": ["a", "b"], "south": ["c", "d", "e"]},
}
WIDTHS = {"age": (10.0, 20.0)}
LIMITS = ({"k": 5}, {"k": 3, "l": 2}, {"k": 2, "t": 0.45}, {"above_threshold": 0}, {"at_most": 0.12},
          {"re_identifications": 14})


def people(n: int = 120, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.choice([22, 27, 34, 38, 45, 61, 66, 70], n).astype(float),
        "job": rng.choice(["smith", "joiner", "farmer", "clerk", "judge", "tutor"], n, p=[0.3, 0.05, 0.2, 0.3, 0.05, 0.1]),
        "town": rng.choice(list("abcde"), n, p=[0.4, 0.1, 0.3, 0.15, 0.05]),
        "ill": rng.choice(["no", "flu", "cold"], n, p=[0.7, 0.2, 0.1]),
        "w": rng.uniform(1, 9, n).round(2),
    })


def read(frame: pd.DataFrame, **roles: object) -> lv.Microdata:
    given = {"confidential": ["ill"], "key": ["age", "job", "town"], "taxonomies": TREES, **roles}
    return lv.read(frame, **given)


def steps_at(levels: dict[str, int]) -> list[dict[str, object]]:
    raised = {n: level for n, level in levels.items() if level}
    widths = {"widths": WIDTHS} if "age" in raised else {}
    return [{"method": "recoding", "columns": list(raised), "level": raised, "rare": 1, "replacement": "label", **widths}]


WEIGHTS = KeyRisk(estimate="weights")  # the search estimates the risk by weights


def loss_and_score(data: lv.Microdata, steps: list[dict[str, object]]) -> tuple[float, object]:
    release = lv.mask(data, *steps, "post_randomisation(columns=['ill'])", secret=SECRET)
    score = lv.risk(data, release, [WEIGHTS])[0]
    return key_loss([score]) or 0.0, score


def brute_force(frame: pd.DataFrame, limits: dict[str, float], weight: bool) -> tuple[float, dict[str, int]]:
    """The least loss over all levels, computed record by record, with the rule of suppression written out again."""
    job = {v: (g, f) for g, below in TREES["job"].items() for f, names in below.items() for v in names}
    town = {v: g for g, names in TREES["town"].items() for v in names}
    maps = {
        "age": [lambda v: v, lambda v: v // 10, lambda v: v // 20, lambda v: 0],
        "job": [lambda v: v, lambda v: job[v][1], lambda v: job[v][0], lambda v: 0],
        "town": [lambda v: v, lambda v: town[v], lambda v: 0],
    }
    n, w = len(frame), frame.w if weight else pd.Series(1.0, frame.index)
    share = frame.ill.value_counts() / n

    def risk(f: int, total: float) -> float:
        from scipy.integrate import quad

        p = min(f / total, 1.0)
        return 1 / f if p == 1 else quad(lambda v: v ** (f - 1) / (1 + (1 - p) / p * v), 0, 1)[0]

    def breaks(part: pd.Index, tau: float | None) -> bool:
        if len(part) < limits.get("k", 1):
            return True
        if tau is not None:
            return risk(len(part), w[part].sum()) > tau
        if limits.keys() == {"k"}:
            return False
        values = frame.ill[part]
        distance = 0.5 * (values.value_counts() / len(part)).reindex(share.index, fill_value=0).sub(share).abs().sum()
        return bool(values.nunique() < limits.get("l", 1) or distance > limits.get("t", 9))

    def suppressed(classes: list[pd.Index], tau: float | None) -> set[int] | None:
        gone = {i for i, part in enumerate(classes) if breaks(part, tau)}
        while gone and breaks(pd.Index(np.concatenate([classes[i] for i in sorted(gone)])), tau):
            rest = [i for i in range(len(classes)) if i not in gone]
            if not rest:
                return None
            gone.add(min(rest, key=lambda i: len(classes[i])))
        return gone

    best: tuple[float, dict[str, int]] = (np.inf, {})
    for levels in product(range(4), range(4), range(3)):
        now = pd.DataFrame({c: frame[c].map(maps[c][level]) for c, level in zip(maps, levels, strict=True)})
        keyed = now.apply(tuple, axis=1)
        classes = [pd.Index(part) for _, part in sorted(keyed.groupby(keyed).groups.items(), key=lambda kv: str(kv[0]))]
        gone = suppressed(classes, 0.1 if limits.get("above_threshold") == 0 else None)
        if gone is None:
            continue
        lost = np.zeros(n, dtype=bool)
        for i in gone:
            lost[classes[i]] = True
        total = 0.0
        for c in maps:
            size, joined = frame[c].map(frame[c].value_counts()), now[c].map(now[c].value_counts())
            cost, full = np.log(joined / size), np.log(n / size)
            total += (np.where(lost, full, cost)).sum() / full.sum() / 3
        if total < best[0] - 1e-12:
            best = (float(total), dict(zip(maps, levels, strict=True)))
    return best


@pytest.mark.parametrize(("limits", "weight"), [
    ({"k": 3}, False), ({"k": 3, "l": 2}, True), ({"k": 2, "t": 0.45}, False), ({"above_threshold": 0}, True),
], ids=str)
def test_the_least_loss_is_that_of_brute_force(limits, weight):
    frame = people()
    data = read(frame, **({"weight": "w"} if weight else {}))
    found = solve_lattice(data, Lattice(widths=WIDTHS), limits_of({"key_risk": limits}), WEIGHTS, "keys")
    expected, levels = brute_force(frame, limits, weight)
    assert found.result.exact
    assert found.result.best is not None
    assert found.result.best.loss == pytest.approx(expected, abs=1e-12)
    assert found.levels == levels
    assert found.result.nodes == 48
    assert found.result.examined < 48


@pytest.mark.parametrize(("estimate", "weight", "noted"), [
    ("model", True, True), ("weights", True, False), ("model", False, False),
])
def test_a_note_says_that_the_search_estimates_by_weights(estimate, weight, noted):
    data = read(people(seed=2), **({"weight": "w"} if weight else {}))
    method = KeyRisk(estimate=estimate)
    found = solve_lattice(data, Lattice(widths=WIDTHS), limits_of({"key_risk": {"at_most": 0.12}}), method, "keys")
    assert ("searched with the risk by weights" in found.note) == noted


@pytest.mark.parametrize(("limits", "weight"), [
    ({"at_most": 0.025}, 10.0), ({"re_identifications": 3}, 10.0), ({"above_threshold": 0}, 3.0),
    ({"above_threshold": 10}, 3.0),
], ids=str)
def test_the_release_meets_the_limits_by_the_log_linear_model_too(limits, weight):
    """The risk by weights is lower than that of the model here, so the search is repeated with tighter limits."""
    data = read(people(seed=2).assign(w=weight), weight="w")
    method = KeyRisk(threshold=0.15)
    found = solve_lattice(data, Lattice(widths=WIDTHS), limits_of({"key_risk": limits}), method, "keys")
    assert "rounds with tighter and tighter limits, until the release met the limits by the log-linear model" in found.note
    release = lv.mask(data, *found.steps, "post_randomisation(columns=['ill'])", secret=SECRET)
    score = lv.risk(data, release, [method])[0]
    summary = {row["figure"]: row for row in score.details["key_summary"]}
    assert score.interval[1] <= limits.get("at_most", 1)
    assert summary["expected re-identifications"]["high"] <= limits.get("re_identifications", 1e9)
    assert summary["records with a risk above 0.15"]["value"] <= limits.get("above_threshold", 1e9)


@pytest.mark.parametrize(("limits", "weight"), [(m, i % 2 == 0) for i, m in enumerate(LIMITS)], ids=str)
def test_the_steps_meet_the_limits_and_have_the_stated_loss(limits, weight):
    """The release of the steps has exactly the loss of the search, and the attack finds every limit met."""
    data = read(people(seed=2), **({"weight": "w"} if weight else {}))
    found = solve_lattice(data, Lattice(widths=WIDTHS), limits_of({"key_risk": limits}), WEIGHTS, "keys")
    loss, score = loss_and_score(data, list(found.steps))
    assert found.result.best is not None
    assert loss == pytest.approx(found.result.best.loss, abs=1e-12)
    for name in (n for n in limits if n not in ("at_most", "l", "t")):
        figure = key_figure(score, name, upper=True)
        assert figure is not None
        assert figure >= limits[name] if name == "k" else figure <= limits[name] + 1e-9
    if "at_most" in limits:
        assert score.interval is not None
        assert score.interval[1] <= limits["at_most"] + 1e-9


@pytest.mark.slow
def test_brute_force_over_releases_agrees():
    """All 48 levels made as releases: none that is 3-anonymous without suppression loses less."""
    data = read(people())
    found = solve_lattice(data, Lattice(widths=WIDTHS, suppress="none"), limits_of({"key_risk": {"k": 3}}), KeyRisk(), "keys")
    losses = []
    for levels in product(range(4), range(4), range(3)):
        if any(levels):
            loss, score = loss_and_score(data, steps_at(dict(zip(("age", "job", "town"), levels, strict=True))))
            if (key_figure(score, "k") or 0) >= 3:
                losses.append(loss)
    assert found.result.best is not None
    assert found.result.best.suppressed == 0
    assert found.result.best.loss == pytest.approx(min(losses), abs=1e-12)


def test_single_cells_lose_less_than_records_and_not_less_than_the_bound():
    data = read(people(), weight="w")
    limits = limits_of({"key_risk": {"k": 4}})
    records = solve_lattice(data, Lattice(widths=WIDTHS), limits, KeyRisk(), "keys").result
    cells = solve_lattice(data, Lattice(widths=WIDTHS, suppress="cells"), limits, KeyRisk(), "keys")
    assert cells.result.best is not None
    assert records.best is not None
    assert 0 < cells.result.bound <= cells.result.best.loss < records.best.loss
    assert "no solution loses less than" in cells.note
    loss, score = loss_and_score(data, list(cells.steps))
    assert key_figure(score, "k") >= 4
    assert loss >= cells.result.bound - 1e-12


def test_more_levels_than_can_be_listed_give_a_bound(monkeypatch):
    """With at most ten nodes allowed, the best node found is not below the bound, and the exact one lies between."""
    from larvatus.stats.grouping import recoding_lattice

    data, limits = read(people()), limits_of({"key_risk": {"k": 3}})
    exact = solve_lattice(data, Lattice(widths=WIDTHS), limits, KeyRisk(), "keys").result
    monkeypatch.setattr(recoding_lattice, "MOST_LATTICE_NODES", 10)
    whole = solve_lattice(data, Lattice(widths=WIDTHS), limits, KeyRisk(), "keys").result
    assert whole.best is not None
    assert exact.best is not None
    assert whole.best.loss == pytest.approx(exact.best.loss, abs=1e-12)
    assert whole.exact
    monkeypatch.setattr(recoding_lattice, "_MOST_PASSED", 3)
    few = solve_lattice(data, Lattice(widths=WIDTHS), limits, KeyRisk(), "keys")
    assert few.result.best is not None
    assert few.result.bound <= exact.best.loss <= few.result.best.loss
    assert not few.result.exact
    assert "no other loses less than" in few.note


def test_a_lattice_in_a_search():
    frame = people()
    data = read(frame)
    space = {"name": "coarser", "lattice": {"widths": WIDTHS}, "steps": ["post_randomisation(columns=['ill'])"]}
    found = lv.search(data, space, {"key_risk": {"k": 3}}, "key_loss", goal=lv.Goal(trials=2, secrets=2), secret=SECRET)
    assert found.release is not None
    assert found.chosen is not None
    out = found.release.to_pandas()
    assert out.groupby(["age", "job", "town"], dropna=False).size().min() >= 3
    direct = solve_lattice(data, Lattice(widths=WIDTHS), limits_of({"key_risk": {"k": 3}}), KeyRisk(), "x")
    assert direct.result.best is not None
    assert found.chosen.loss == pytest.approx(direct.result.best.loss, abs=1e-12)
    assert any("combinations of levels were examined" in n for n in found.notes)


@pytest.mark.parametrize(("lattice", "limits", "said"), [
    ({}, {"nearest_record": 0.5}, "no limit on key_risk"),
    ({"columns": ["ill"]}, {"key_risk": {"k": 3}}, "not a key that steps can change"),
    ({"suppress": "cells"}, {"key_risk": {"l": 2}}, "single cells are suppressed for a limit on k alone"),
    ({"widths": {"age": [10, 15]}}, {"key_risk": {"k": 3}}, "multiple of the one before"),
    ({"suppress": "some"}, {"key_risk": {"k": 3}}, "suppress"),
    ({}, {"key_risk": {"k": 500}}, "no levels of the keys meet the limits"),
])
def test_problems_are_named(lattice, limits, said):
    with pytest.raises(StudyError, match=said):
        lv.search(read(people()), {"lattice": lattice}, limits, "key_loss", goal=lv.Goal(trials=1, secrets=1))


STUDY = """
source = "people.csv"

[roles]
confidential = ["ill"]
key = ["age", "job", "town"]

[roles.taxonomies]
town = { north = ["a", "b"], south = ["c", "d", "e"] }

[limits]
key_risk = { k = 4 }

[goal]
objective = "key_loss"
secrets = 1
finalists = 1

[[search]]
name = "coarser"
lattice = { widths = { age = [10.0, 20.0] }, suppress = "records" }
steps = [{ method = "post_randomisation", columns = ["ill"] }]

[[attack]]
method = "key_risk"

[[measure]]
method = "table"
"""


def test_a_study_with_a_lattice_on_the_command_line(tmp_path, capsys):
    from larvatus.cli.main import main

    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    study = lv.Study.read(tmp_path / "study.toml")
    study.write(tmp_path / "again.toml")
    assert lv.Study.read(tmp_path / "again.toml").search == study.search
    assert study.search[0].lattice == Lattice(widths=WIDTHS)
    main(["search", str(tmp_path / "study.toml"), "-o", str(tmp_path / "out"), "--jobs", "1"])
    assert "no other loses less" in capsys.readouterr().out
    out = pd.read_csv(tmp_path / "out" / "releases" / "chosen.csv")
    assert out.groupby(["age", "job", "town"], dropna=False).size().min() >= 4
    assert "record_suppression" in (tmp_path / "out" / "study.toml").read_text() or out.age.notna().all()


@pytest.mark.parametrize("engine", ["duckdb", "pieces"])
def test_engines_find_the_same_levels(engine):
    limits = limits_of({"key_risk": {"k": 3, "l": 2}})
    found = [solve_lattice(read(people(), weight="w", engine=name), Lattice(widths=WIDTHS), limits, KeyRisk(), "keys")
             for name in ("memory", engine)]
    assert found[0].steps == found[1].steps
    assert found[0].result.best.loss == pytest.approx(found[1].result.best.loss, rel=1e-12)


def test_a_search_that_takes_too_long_ends_with_a_bound(monkeypatch):
    """After no turn the best levels so far are used, and no other loses less than the bound, which the full search keeps."""
    data = read(people())
    asked = (data, Lattice(widths=WIDTHS), limits_of({"key_risk": {"k": 3}}), KeyRisk(), "keys")
    full = solve_lattice(*asked)
    monkeypatch.setattr(recoding_lattice, "_MOST_TURNS", 0)
    short = solve_lattice(*asked)
    assert full.result.exact
    assert not short.result.exact
    assert short.result.bound <= full.result.best.loss <= short.result.best.loss
    assert "no other loses less than" in short.note


@pytest.mark.parametrize("limits", LIMITS)
def test_nodes_looked_at_one_by_one_give_the_same_result(monkeypatch, limits):
    """Without boxes the sweep counts rare classes at every node that is left; the result and the exactness stay the same."""
    data = read(people(), weight="w")
    asked = (data, Lattice(widths=WIDTHS), limits_of({"key_risk": limits}), WEIGHTS, "keys")
    full = solve_lattice(*asked)
    monkeypatch.setattr(recoding_lattice, "_TURNS_WITH_BOXES", 0)
    swept = solve_lattice(*asked)
    assert swept.result.exact == full.result.exact
    assert swept.steps == full.steps


def test_the_sweep_counts_what_must_be_suppressed():
    rng = np.random.default_rng(4)
    codes, place = np.unique(rng.integers(0, 6, (300, 3)), axis=0, return_inverse=True)
    records = np.bincount(place.reshape(-1))
    new = tuple(tuple(np.minimum(np.arange(6), 5 - level) for level in range(6)) for _ in range(3))
    loss = tuple(np.sort(rng.random((7, 6)), axis=0) for _ in range(3))
    classes = KeyClasses(np.arange(len(codes)) % 2, records, None, 0.1, ())
    search = recoding_lattice.LatticeSearch(recoding_lattice.RecodedKeys(codes, classes, new, loss), ClassLimits(4), 40)
    nodes = np.array(list(product(range(6), repeat=3)))
    found = np.concatenate(list(rare_losses(codes, classes.part, records, new, loss, 4, 40, nodes)))
    for node, more in zip(nodes.tolist(), found, strict=True):
        forced = search.forced_at(tuple(node))
        lost = search.keys.cell_losses(forced, suppressed=True) if forced is not None else ()
        assert more == pytest.approx(sum(float(x[level]) for x, level in zip(lost, node, strict=True)) if lost else np.inf)
    assert np.isinf(found).any()
    assert (found == 0).any()
