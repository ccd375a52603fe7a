"""One release per mask: its picture, what its attacks find, what analysts lose, and how its time grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
from example_data import RECORDS, SECRET, people, people_for, processor_seconds
from pictures import draw_category_pair, draw_scatter_pair

import larvatus as lv
from larvatus.comparison.excess_risk import baseline
from larvatus.core.number_format import share
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release

# Steps that show a mask better than its defaults, or that it needs before it.
STEPS: dict[str, tuple[str, ...]] = {
    "local_suppression": ("local_suppression(k=5, columns=['age', 'job', 'district'])", "data_shuffling"),
    "record_suppression": ("record_suppression(k=5, columns=['age', 'job', 'district'])", "data_shuffling"),
    "record_swap": ("record_swap(rate=0.2, match=['job'])",),
    "restore_covariance": ("microaggregation(k=10)", "restore_covariance"),
    "reverse_map": ("correlated_noise(variance=0.25)", "reverse_map"),
    "rounding": ("rounding(base=10)",),
    "top_coding": ("top_coding(tail=0.05)",),
    "blank_and_impute": ("blank_and_impute(rate=0.3)",),
    "random_blanking": ("random_blanking(rate=0.2)",),
    "microaggregation": ("microaggregation(k=5)",),
    "sufficiency_based": ("sufficiency_based(similarity=0.5)",),
    "linear_model": ("linear_model(similarity=0.5)",),
    "least_loss_model": ("least_loss_model(bits=2)",),
    "weight_calibration": ("data_shuffling", "weight_grouping(k=50)", "weight_calibration(margins=['sex'])"),
    "weight_grouping": ("data_shuffling", "weight_grouping(k=50)"),
    "weight_noise": ("data_shuffling", "weight_noise(sd=0.2)"),
    "weight_rounding": ("data_shuffling", "weight_rounding(base=5)"),
}
MEASURES = ("moments", "marginal", "correlation", "rank_correlation")
SIZES = (10_000, 40_000)


def steps_of(mask: type[Mask]) -> tuple[str, ...]:
    """The steps of the example, as text."""
    return STEPS.get(mask.name(), (mask.name(),))


def mask_example(mask: type[Mask]) -> tuple[str, dict[str, Any]]:
    """The picture of a mask as SVG, and its figures."""
    data = people_for(mask)
    release = lv.mask(data, *steps_of(mask), secret=SECRET)
    found = lv.risk(data, release)
    decides = [s for s in found if s.kind == "risk" and s.decides and s.value == s.value]
    strongest = max(decides, key=lambda s: s.value - baseline(s), default=None)
    shown = [s for s in decides if s.method in mask.nemesis or s is strongest]
    lost = () if mask.masks_weight else lv.utility(data, release, [m for m in MEASURES if _numeric(data)])
    return draw_release(mask, data, release), {
        "steps": list(steps_of(mask)), "records": RECORDS,
        "attacks": [[s.method, round(s.value, 4), round(baseline(s), 4)] for s in sorted(shown, key=lambda s: s.method)],
        "strongest": strongest.method if strongest else None,
        "losses": [[s.method, float(f"{s.value:.3g}")] for s in lost],
        "unchanged": _unchanged(data, release),
    }


def mask_seconds(mask: type[Mask]) -> list[float]:
    """Processor seconds to mask two file sizes, the shorter of two runs: the first one may compile."""
    files = [people_for(mask, people(n)) for n in SIZES]
    return [round(min(processor_seconds(lambda: lv.mask(data, *steps_of(mask), secret=SECRET)) for _ in range(2)), 3)  # noqa: B023
            for data in files]


def draw_release(mask: type[Mask], data: Microdata, release: Release) -> str:
    """Two columns that the mask changes, as points; or one categorical column, as bars."""
    before, after = (nw.from_native(f, eager_only=True) for f in (data.frame(), release.frame()))
    title = " + ".join(steps_of(mask))
    if mask.masks_weight:
        names = ("age", "weight")
    elif mask.name() in ("local_suppression", "record_suppression", "record_swap"):
        column = "district" if mask.name() == "record_swap" else "job"
        return _bars(title, column, before, after)
    elif "number" in mask.handles:
        names = ("income", "wealth")
    elif "nominal" in mask.handles:
        return _bars(title, "illness", before, after)
    else:
        names = ("admitted", "discharged")
    return draw_scatter_pair(title, names, _points(before, names), _points(after, names))


def _bars(title: str, column: str, before: Any, after: Any) -> str:
    old, new = ([str(v) if v is not None else "missing" for v in f[column].to_list()] for f in (before, after))
    moved = sum(a != b for a, b in zip(old, new, strict=True)) / len(old)
    return draw_category_pair(title, old, new, f"{share(moved)} of the records have another value than before.")


def _points(frame: Any, names: tuple[str, str]) -> list[tuple[float, float] | None]:
    pairs = zip(*(frame[n].to_list() for n in names), strict=True)
    return [(_number(a), _number(b)) if a is not None and b is not None and a == a and b == b else None for a, b in pairs]


def _number(value: Any) -> float:
    """A number, or the day of a date within its data set's first year."""
    from datetime import date, datetime

    if isinstance(value, date | datetime):
        return float(value.toordinal() - date(2024, 1, 1).toordinal())
    return float(value)


def _numeric(data: Microdata) -> bool:
    return all(data.table.columns[n].kind == "number" for n in data.confidential)


def _unchanged(data: Microdata, release: Release) -> float | None:
    """The share of confidential cells that are equal to the original ones, if no record was dropped."""
    before, after = (nw.from_native(f, eager_only=True) for f in (data.frame(), release.frame()))
    if len(before) != len(after):
        return None
    pairs: Sequence[tuple[Any, Any]] = [
        pair for n in data.confidential for pair in zip(before[n].to_list(), after[n].to_list(), strict=True)]
    return round(sum(a == b for a, b in pairs) / len(pairs), 4)
