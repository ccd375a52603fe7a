"""Scores that count columns missing from the release, or released with another type, as a complete loss.

Measures compare the columns in both files. Without this step, dropping a column would improve every score.
"""

from __future__ import annotations

from dataclasses import replace

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_NOTHING = "no column that the measure uses can be compared, which counts as a complete loss"


def lost_columns(original: Microdata, released: Microdata, any_kind: bool = False) -> dict[str, str]:
    """The confidential columns that cannot be compared with the release, each with the reason."""
    mine, theirs = original.table.columns, released.table.columns
    out = {n: "is not in the release" for n in original.confidential if n not in theirs}
    what = {"number": "numeric", "nominal": "categorical"}
    for n in original.confidential:
        if n in theirs and mine[n].kind != theirs[n].kind and not any_kind:
            out[n] = f"is {what[theirs[n].kind]} in the release but {what[mine[n].kind]} in the original"
    return out


def score_with_lost_columns(measure: Measure, original: Microdata, release: Release, random: RecordRandom) -> Score:
    """The score of a measure, with every column or pair that cannot be compared counted at the worst loss."""
    released = release.data
    worst = measure.worst_value(original, released)
    gone = lost_columns(original, released, measure.any_kind)
    parts = measure.parts(original, released) if gone else []
    lost = [p for p in parts if any(n in gone for n in p)]
    if not lost:
        return _stated(measure, measure.score(original, release, random), worst)
    kept = [p for p in parts if p not in lost]
    why = {n: text for n, text in gone.items() if any(n in p for p in lost)}
    notes = tuple(f"{n} {text} and counts as completely lost" for n, text in why.items())
    variables: list[Row] = [{"variable": n, "loss": worst} for n in why]
    if not any(n in original.confidential for p in kept for n in p):
        groups: list[Row] = [
            {"sub_group": name, "records": original.groups.sizes[a], "value": worst}
            for name, a, _ in common_groups(original, released)
        ]
        return _stated(measure, Score(
            measure.name(), "loss", worst, _NOTHING, measure.settings(), by_variable=Rows.of(variables),
            by_group=Rows.of(groups), notes=notes,
        ), worst)
    left = original.with_confidential([n for n in original.confidential if n not in gone])
    found = measure.restrict_to(kept).score(left, release, random)
    share = len(lost) / len(parts)
    pairs: list[Row] = [{"first": p[0], "second": " × ".join(p[1:]), "loss": worst} for p in lost if len(p) > 1]
    return _stated(measure, replace(
        found, value=_mixed(found.value, worst, share), settings=measure.settings(),
        by_variable=Rows.of([*found.by_variable, *variables]),
        by_pair=Rows.of([*found.by_pair, *pairs]) if len(found.by_pair) else found.by_pair,
        by_group=Rows.of({**r, "value": _mixed(r["value"], worst, share)} for r in found.by_group),
        notes=(*notes, *found.notes),
    ), worst)


def _stated(measure: Measure, score: Score, worst: float) -> Score:
    return replace(score, worst_value=worst, square_root_scale=measure.square_root_scale, decides=measure.decides)


def _mixed(value: object, worst: float, share: float) -> float:
    return (1 - share) * value + share * worst if isinstance(value, int | float) else float("nan")

