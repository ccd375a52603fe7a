"""Tables of what the key variables reveal: population uniques, special uniques, k-anonymity, diversity, risk without a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from larvatus.attacks.keys.class_risk import ClassRisk, mean_with_interval
from larvatus.attacks.keys.key_population import Population, class_totals
from larvatus.attacks.keys.key_table import KeyTable, class_values, without_key
from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.singled_out import count_singled_out
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Row, Rows
from larvatus.stats.estimates.calibration import design_effect
from larvatus.stats.key_risk.class_diversity import class_diversity
from larvatus.stats.key_risk.individual_risk import individual_risk
from larvatus.stats.key_risk.missing_keys import (
    CONVENTIONS,
    MOST_MISSING_PATTERNS,
    Missing,
    matching_records,
    pattern_count,
    records_below,
)
from larvatus.stats.key_risk.model_risk import KeyModels
from larvatus.stats.key_risk.special_uniques import can_examine, sets_of_keys, special_uniques
from larvatus.stats.key_risk.superpopulation import population_uniques

BY_MODEL = "mean individual risk by the log-linear model"
BY_WEIGHTS = "mean individual risk by weights; sdcMicro's global risk"
ANONYMITY = (2, 3, 5, 10)
_MOST_SETS = 15
_LEAST_HIGH = 0.1
_SIZES = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, None))


def sub_group_rows(found: ClassRisk, by_group: Rows, threshold: float) -> Rows:
    """Expected re-identifications with their interval, sample uniques and records above the threshold, by sub-group."""
    table, n = found.table, len(by_group)
    alone, above = (np.bincount(table.group, weights=table.group_count * which[table.place], minlength=n)
                    for which in (found.size == 1, found.risk > threshold))
    rows: list[Row] = []
    for g, row in enumerate(by_group):
        expected = {name: float(row[end] or 0) * float(row["records"] or 0)
                    for name, end in (("re-identifications", "value"), ("low", "low"), ("high", "high"))}
        rows.append({"sub_group": row["sub_group"], "records": row["records"], **expected, "sample uniques": int(alone[g]),
                     f"risk above {threshold:g}": int(above[g])})
    return Rows.of(rows) if n > 1 else Rows()


def class_size_rows(size: Ints, count: Ints, risk: Floats, threshold: float) -> Rows:
    """Records by the size of their class, with their risk. Combinations are counted, not named."""
    rows: list[Row] = []
    for low, high in _SIZES:
        there = (size >= low) & (size <= (high or size.max(initial=0)))
        records = int(count[there].sum())
        if records:
            name = str(low) if high == low else f"{low} to {high}" if high else f"{low} or more"
            rows.append({"records that agree": name, "combinations": int(there.sum()), "records": records,
                         "mean risk": float((count[there] * risk[there]).sum() / records),
                         "highest risk": float(risk[there].max()),
                         f"risk above {threshold:g}": int(count[there & (risk > threshold)].sum())})
    return Rows.of(rows)


def records_above_main_part(count: Ints, risk: Floats) -> int:
    """Records with a risk above median + 2 · MAD of all records, and above .1, as `measure_risk` of sdcMicro counts them.

    MAD is 1.4826 times the median absolute deviation from the median.
    """
    centre = _median(count, risk)
    spread = 1.4826 * _median(count, np.abs(risk - centre))
    return int(count[(risk > centre + 2 * spread) & (risk > _LEAST_HIGH)].sum())


def _median(count: Ints, value: Floats) -> float:
    """Median of values that occur `count` times each."""
    order = np.argsort(value, kind="stable")
    upto = np.cumsum(count[order])
    n = int(upto[-1]) if len(upto) else 0
    if not n:
        return 0.0
    low, high = np.searchsorted(upto, [(n - 1) // 2 + 1, n // 2 + 1])
    return float(value[order[low]] + value[order[high]]) / 2


def log_linear_rows(table: KeyTable, models: KeyModels) -> Rows:
    """τ₁ and τ₂ under log-linear models, in the order tried."""
    uniques = int((table.count == 1).sum())
    keys = len(table.names)
    rows: list[Row] = []
    for i, found in enumerate(models.path):
        pairs = [f"{table.names[a]}:{table.names[b]}" for a, b in (m for m in found.margins if len(m) == 2)]
        rows.append({
            "model": "independence" if not pairs else "all two-way" if len(pairs) == keys * (keys - 1) // 2 else
            "with " + ", ".join(pairs) if len(pairs) <= 6 else f"with {len(pairs)} two-way interactions",
            "tau1": found.tau1, **_ends("tau1", found.interval1, uniques),
            "tau2": found.tau2, **_ends("tau2", found.interval2, uniques),
            "B1 / sd": found.test1, "B2 / sd": found.test2, "converged": found.converged,
            "chosen": i == len(models.path) - 1 and found.converged,
        })
    return Rows.of(rows)


def mean_risk_rows(found: ClassRisk) -> list[Row]:
    """The mean risk by the log-linear model and by weights, each with its own interval; none if the file is the population."""
    if found.models is None:
        return []
    weights = found.by_weights or found
    rows: list[Row] = [{"figure": BY_WEIGHTS, **dict(zip(("value", "low", "high"), weights.whole, strict=True))}]
    if found.model is not None:
        own = mean_with_interval(found.table.count, found.risk, found.spread, float(found.table.records), found.doubt)
        rows.insert(0, {"figure": BY_MODEL, **dict(zip(("value", "low", "high"), own, strict=True))})
    return rows


def _ends(tau: str, interval: tuple[float, float], most: int) -> dict[str, float | None]:
    """The ends of the 95 % interval of τ, within 0 and the number of sample uniques."""
    low, high = interval
    known = np.isfinite(low)
    return {f"{tau} low": max(low, 0.0) if known else None, f"{tau} high": min(high, float(most)) if known else None}


def superpopulation_rows(table: KeyTable, population: Population) -> Rows:
    """Population uniques under superpopulation models; a model that has not converged has no estimate."""
    size = table.records / population.fraction
    rows: list[Row] = []
    for e in population_uniques(table.count, population.fraction):
        low, high = e.ends or (None, None)
        rows.append({"model": e.model, "population uniques": e.uniques if e.converged else None, "low": low,
                     "high": None if high is None else min(high, size),
                     "share of population": e.uniques / size if e.converged else None, "converged": e.converged,
                     "chosen": e.chosen})
    return Rows.of(rows)


def suda_rows(table: KeyTable, most: int, fraction: float) -> tuple[dict[str, Rows], str]:
    """Minimal sample uniques by size, contributions of keys, and records by DIS score; a note if there are too many sets."""
    if not can_examine(len(table.count), len(table.names), most):
        return {}, (f"special uniques are not searched: {sets_of_keys(len(table.names), most):,} sets of keys in "
                    f"{len(table.count):,} combinations are too many. Set a smaller suda_size, or name fewer keys")
    found = special_uniques(table.codes, table.count, most, fraction)
    sizes: list[Row] = [
        {"keys in the set": m, "minimal uniques": int(found.by_size[:, m - 1].sum()),
         "records": int((found.by_size[:, m - 1] > 0).sum())} for m in range(1, found.by_size.shape[1] + 1)
    ]
    if not found.score.any():
        return {"suda_sizes": Rows.of(sizes)}, ""
    keys: list[Row] = [{"variable": n, "contribution": float(c)} for n, c in zip(table.names, found.contribution, strict=True)]
    dis: list[Row] = [{"figure": "DIS (probability that a unique match is right)", "value": found.dis},
                      {"figure": "records with a SUDA score", "value": int((found.score > 0).sum())},
                      {"figure": "highest SUDA score", "value": float(found.score.max(initial=0.0))}]
    dis += [{"figure": f"records with a DIS score above {limit}", "value": int((found.dis_score > limit).sum())}
            for limit in (0.1, 0.3, 0.5, 0.7)]
    worst = sorted(found.sets, key=lambda pair: (-pair[1], pair[0]))[:_MOST_SETS]
    sets: list[Row] = [{"keys": " × ".join(table.names[j] for j in chosen), "records": n, "share": n / max(table.records, 1)}
                       for chosen, n in worst]
    return {"suda_sizes": Rows.of(sizes), "suda_sets": Rows.of(sets), "suda_keys": Rows.of(keys),
            "suda_scores": Rows.of(dis)}, ""


def anonymity_rows(table: KeyTable) -> tuple[Rows, str]:
    """Records in classes smaller than k under each convention for missing keys."""
    words = {"value": "is a value", "any": "agrees with any value", "none": "agrees with nothing"}
    many = pattern_count(table.codes) > MOST_MISSING_PATTERNS
    rows: list[Row] = []
    for convention in CONVENTIONS if (table.codes < 0).any() else CONVENTIONS[:1]:
        if convention == "any" and many:
            continue
        size = matching_records(table.codes, table.count, convention)
        rows.append({"a missing key": words[convention] if (table.codes < 0).any() else "does not occur",
                     "smallest": int(size.min(initial=table.records)),
                     **{f"below {k}": records_below(size, table.count, k) for k in ANONYMITY}})
    note = "k-anonymity with missing keys that agree with any value is not computed: too many patterns of missing keys occur"
    return Rows.of(rows), note if many else ""


def diversity_rows(data: Microdata, table: KeyTable, names: Sequence[str]) -> Iterator[Row]:
    """l-diversity, t-closeness, δ-disclosure and β-likeness of each column: the worst class, and the mean over records."""
    for name in names:
        ordered = data.table.columns[name].kind == "number" or name in data.roles.ordered
        d = class_diversity(*class_values(data, table, name), ordered)
        if not len(d.records):
            continue
        c2, c3 = (float(x.max()) for x in (d.recursive2, d.recursive3))
        yield {
            "variable": name, "distinct l": int(d.distinct.min()), "entropy l": float(d.entropy.min()),
            "c for l = 2": c2 if np.isfinite(c2) else None, "c for l = 3": c3 if np.isfinite(c3) else None,
            "t": float(d.closeness.max()), "mean t": float((d.closeness * d.records).sum() / d.records.sum()),
            "delta": float(d.disclosure.max()), "beta": float(d.likeness.max()),
            "records with one value": int(d.records[d.distinct == 1].sum()),
        }


def without_key_rows(found: ClassRisk, population: Population, missing: Missing) -> Rows:
    """The mean individual risk and the sample uniques that remain if a key is not released."""
    table, value = found.table, found.whole[0]
    rows: list[Row] = []
    for j, name in enumerate(table.names):
        size, weight = class_totals(without_key(table, j), missing)
        if found.model is not None:
            risk = found.model.without(j, table.count, table.weight if population.weight else None)[0]
        else:
            risk = individual_risk(size, population.share(size, weight))
        left = float((table.count * risk).sum() / max(table.records, 1))
        rows.append({"variable": name, "levels": len(np.unique(table.codes[:, j])), "risk without it": left,
                     "reduction": value - left, "sample uniques without it": int(table.count[size == 1].sum())})
    return Rows.of(rows)


def weight_rows(original: Microdata, data: Microdata, keys: Sequence[str]) -> dict[str, Rows]:
    """Records that the weight singles out, alone and with the keys, and its design effect; none without a released weight.

    A weight with noise is compared by distance, and singles out nobody by itself.
    """
    name = data.roles.weight
    if name is None or not data.roles.release_weight or name not in data.table.columns or name not in original.table.columns:
        return {}
    if original.table.columns[name].kind != "number" or data.table.columns[name].kind != "number":
        return {}
    others = [n for n in keys if n != name]
    what_for = "records whose household is singled out by" if original.roles.household else "records singled out by"
    sets = {"the weight alone": [name], "the keys": others, "the keys and the weight": [*others, name]}
    noisy = data.table.columns[name].noisy
    figures: list[Row] = [
        {"figure": f"{what_for} {what}", "original": _alone(original, names),
         "release": None if noisy and name in names else _alone(data, names)}
        for what, names in sets.items() if names
    ]
    before, after = (design_effect(collect(d, [name])[2][name]) for d in (original, data))
    figures.append({"figure": "design effect of the weights (1 + cv²)", "original": before, "release": after})
    return {"weight": Rows.of(figures)}


def _alone(data: Microdata, names: Sequence[str]) -> int | None:
    """Number of records alone in these columns; None if the file lacks one of them."""
    return count_singled_out(data, names) if all(n in data.table.columns for n in names) else None
