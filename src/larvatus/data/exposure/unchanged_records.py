"""Records released with confidential values unchanged: all, those that S identifies, whole sub-groups and households."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.number_format import plural, share
from larvatus.data.households.record_units import RecordUnits
from larvatus.data.score import Row, Rows
from larvatus.data.sub_groups import Groups

UNCHANGED_RECORDS = "unchanged_records"
ALL, ALONE, WHOLE_GROUP, WHOLE_HOUSEHOLDS = "all", "alone in S", "whole sub-group", "whole households"
WHOLE_COLUMN = "a column in a part of the file"
TOLD_BY_BLANK = "a missing value stands for a value"
KEPT_DIFFERENCE = "a difference that a rule keeps"
GIANT = "a value far from all others"
WHOLE_ELSEWHERE = "whole in another row"
LEFT_OVER = "left over between two releases"
NEAR_ALONE, NEAR_PAIR = "alone in S, a value nearly unchanged", "one of two in S, a value nearly unchanged"
_IN_SHORT = {
    ALONE: "{count} that the unmasked columns identify: all values unchanged", WHOLE_GROUP: "no value is masked in {where}",
    WHOLE_HOUSEHOLDS: "{count} in households without any masked value", WHOLE_COLUMN: "nearly unchanged: {where}",
    TOLD_BY_BLANK: "missing values stand for a value: {where}", KEPT_DIFFERENCE: "a difference is released as it is: {where}",
    GIANT: "{where} can be read from the release", NEAR_ALONE: "{count} that the unmasked columns identify: a value nearly "
    "unchanged", NEAR_PAIR: "{count} with only one look-alike: a value nearly unchanged",
    LEFT_OVER: "{count} that one of two releases lacks or has in another sub-group: their values are the difference",
}
_MOST_NAMED = 3
_RARE = 0.01  # a record whose values are shared more often than this may be unchanged by coincidence
_SURE = 0.99  # quantile of the number of coincidences
_LEAST_GROUP = 5  # a sub-group with fewer records may be unchanged by coincidence
_LEVEL = 0.02  # probability that noise of an ordinary size, a ninth of the variance, counts as nearly unchanged
_SLACK = 3.0  # such noise comes this much nearer to the original than values drawn anew
_NEAR = 0.05  # a value is not near if values drawn anew are as near more often than this


def unchanged_records(
    groups: Groups, group: Ints, same: NDArray[np.bool_], alone: NDArray[np.bool_], alike: Floats
) -> Rows:
    """Counts of records with all confidential values unchanged: all, those alone in S, and whole sub-groups.

    `alike` is the probability that a record is unchanged by coincidence. `beyond` counts the records alone in S beyond the
    number that coincidence explains, and all records of a sub-group of which every record is unchanged.
    """
    from scipy.stats import poisson

    n = max(len(same), 1)
    counted = alone & (alike <= _RARE)
    lucky = float(poisson.ppf(_SURE, float(alike[counted].sum()))) if counted.any() else 0.0
    beyond = max(0, int((same & counted).sum()) - int(lucky))
    rows: list[Row] = [
        {"records": ALL, "sub_group": None, "count": int(same.sum()), "share": float(same.sum() / n), "beyond": 0},
        {"records": ALONE, "sub_group": None, "count": int((same & alone).sum()), "share": float((same & alone).sum() / n),
         "beyond": beyond},
    ]
    size, kept = (np.bincount(group, weights=w, minlength=len(groups)) for w in (np.ones(len(same)), same))
    varied = np.bincount(group, weights=alike < 1, minlength=len(groups))
    for g in np.flatnonzero((size >= _LEAST_GROUP) & (kept == size) & (varied > 0)):
        rows.append({"records": WHOLE_GROUP, "sub_group": groups.name(int(g)), "count": int(size[g]),
                     "share": float(size[g] / n), "beyond": int(size[g])})
    return Rows.of(rows)


def unchanged_households(units: RecordUnits, same: NDArray[np.bool_], alike: Floats, shared: bool) -> Rows:
    """Counts of records in households of two or more of which every member is unchanged; no row if there are none.

    An intruder who knows all members finds such a household, whatever S is. `shared`: all confidential columns are equal within
    households, so that a coincidence in one member is one in all of them; otherwise members coincide independently.
    """
    from scipy.stats import poisson

    unit, size = units.unit, units.size
    kept = np.bincount(unit, weights=same, minlength=len(size)) == size
    luck = alike[units.first] if shared else np.exp(np.bincount(unit, weights=np.log(alike), minlength=len(size)))
    counted = (size > 1) & (luck <= _RARE)
    found = np.flatnonzero(kept & counted)
    spare = int(poisson.ppf(_SURE, float(luck[counted].sum()))) if counted.any() else 0
    if not len(found):
        return Rows()
    count = int(size[found].sum())
    beyond = int(np.sort(size[found])[::-1][: max(0, len(found) - spare)].sum())
    return Rows.of([{"records": WHOLE_HOUSEHOLDS, "sub_group": None, "count": count, "share": count / max(len(same), 1),
                     "beyond": beyond}])


def nearly_unchanged_records(chances: Mapping[str, Floats], n: int) -> Rows:
    """Counts of records that S identifies with a confidential value nearer to the original than chance explains.

    `chances` are, by kind of record, the probabilities that a value drawn anew is as near. `n` is the number of all records.
    """
    from larvatus.stats.estimates.nearness import beyond_chance

    count = {kind: beyond_chance(np.minimum(_SLACK * q, 1.0), _LEVEL, _SLACK * _NEAR) for kind, q in chances.items()}
    return Rows.of({"records": kind, "sub_group": None, "count": k, "share": k / max(n, 1), "beyond": k}
                   for kind, k in count.items())


def unchanged_in_words(tables: Iterable[Rows]) -> tuple[str, ...]:
    """Sentences on the table with most unchanged records: how many there are, and which sub-groups are not masked at all."""
    rows = max((t for t in tables if len(t)), key=count_unchanged, default=Rows())
    counts = {str(r["records"]): (int(r["count"] or 0), float(r["share"] or 0.0)) for r in rows if r["sub_group"] is None}
    number, part = counts.get(ALL, (0, 0.0))
    alone = counts.get(ALONE, (0, 0.0))[0]
    out = []
    if number:
        also = f"; {alone:,} of these records are alone in the unmasked columns" if alone else ""
        one = "record is" if number == 1 else "records are"
        out.append(f"{number:,} {one} released with all confidential values unchanged ({share(part)}{also}).")
    if whole := _named(rows, WHOLE_GROUP):
        of = "this sub-group" if whole[0] == 1 else "these sub-groups"
        out.append(f"No confidential value is masked in {of}: {whole[1]}.")
    if columns := _named(rows, WHOLE_COLUMN):
        out.append("Nearly all values of a confidential column are unchanged, or can be recognised, in a part of the file: "
                   f"{columns[1]}.")
    if blanks := _named(rows, TOLD_BY_BLANK):
        out.append(f"Missing values stand for nearly the same original value, so that they give it away: {blanks[1]}.")
    if differences := _named(rows, KEPT_DIFFERENCE):
        out.append(f"A rule keeps a difference, which is released as it is: {differences[1]}.")
    if giants := [str(r["sub_group"]) for r in rows if r["records"] == GIANT]:
        more = f" and {len(giants) - _MOST_NAMED:,} more" if len(giants) > _MOST_NAMED else ""
        out.append(f"A value far from all others can be read from the release by everyone who knows whose it is: "
                   f"{'; '.join(giants[:_MOST_NAMED])}{more}. Top-code the column first.")
    if members := counts.get(WHOLE_HOUSEHOLDS, (0, 0.0))[0]:
        out.append(f"{members:,} records are in households of which no member is masked.")
    if moved := counts.get(WHOLE_ELSEWHERE, (0, 0.0))[0]:
        out.append(f"{moved:,} {'record is' if moved == 1 else 'records are'} released in another row with all confidential "
                   "values together: whoever knows some of them can find the others.")
    if left := counts.get(LEFT_OVER, (0, 0.0))[0]:
        out.append(f"{left:,} {'record is' if left == 1 else 'records are'} in one release and not in another one, or in "
                   f"another sub-group there: values of {'this record' if left == 1 else 'these records'} are what the two "
                   "releases differ by.")
    for kind, others in ((NEAR_ALONE, "no other record"), (NEAR_PAIR, "only one other record")):
        near = counts.get(kind, (0, 0.0))[0]
        if near:
            said, keep = ("record shares its", "keeps") if near == 1 else ("records share their", "keep")
            out.append(f"{near:,} {said} unmasked values with {others} and {keep} a confidential value almost unchanged.")
    return tuple(out)


def recognisable_in_words(rows: Rows) -> str:
    """What is released recognisably, in a few words: the kind that concerns most records; empty if there is none."""
    found = [r for r in rows if int(r["beyond"] or 0) > 0]
    if not found:
        return ""
    worst = max(found, key=lambda r: int(r["beyond"] or 0))
    template = _IN_SHORT.get(str(worst["records"]), "{count} are released recognisably")
    number = int(worst["beyond"] or 0)
    return template.format(count=plural(number, "record"), where=worst["sub_group"])


def _named(rows: Rows, kind: str) -> tuple[int, str] | None:
    """How many rows of a kind there are, and the first of them by name; None if there are none."""
    found = [f"{r['sub_group']} ({int(r['count'] or 0):,} records)" for r in rows if r["records"] == kind]
    more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
    return (len(found), "; ".join(found[:_MOST_NAMED]) + more) if found else None


def count_unchanged(rows: Rows) -> int:
    """Number of records that a table reports as unchanged, or as nearly unchanged; for the choice between tables."""
    return max((int(r["count"] or 0) for r in rows), default=0)
