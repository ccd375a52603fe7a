"""The non-confidential columns that single out records, and the records released with all confidential values unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Row, Rows
from larvatus.data.sub_groups import Groups

SINGLED_OUT, UNCHANGED_RECORDS = "singled_out", "unchanged_records"
ALL, ALONE, WHOLE_GROUP = "all", "alone in S", "whole sub-group"
_MOST_ROWS = 200_000
_RARE = 0.01  # a record whose values are shared more often than this may be unchanged by coincidence
_SURE = 0.99  # quantile of the number of coincidences
_LEAST_GROUP = 5  # a sub-group with fewer records may be unchanged by coincidence


def singled_out(data: Microdata, names: Sequence[str], share: float) -> Rows:
    """Share of records alone in S, and the columns that do it, in the order in which each adds most.

    The columns are chosen from the first 200,000 records of a larger file.
    """
    from larvatus.stats.linkage.row_hash import combination
    from larvatus.stats.linkage.separating_columns import separating_columns

    if not names or share <= 0:
        return Rows.of([{"column": ALL, "singled_out": share}])
    codes = [scratch("code", n) for n in names]

    def hashed(group: int, block: Block) -> Mapping[str, Floats]:
        return {c: combination([block[n]], len(block)) for c, n in zip(codes, names, strict=True)}

    _, _, values = collect(data.map_rows(hashed, list(names), [Column(c, "number") for c in codes]), codes)
    chosen = separating_columns({n: values[c][:_MOST_ROWS] for n, c in zip(names, codes, strict=True)})
    rows: list[Row] = [{"column": ALL, "singled_out": share}]
    return Rows.of([*rows, *({"column": n, "singled_out": v} for n, v in chosen)])


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


def unchanged_notes(rows: Rows, total: int) -> list[str]:
    """Warnings on unchanged records and on sub-groups left unmasked."""
    count = {str(r["records"]): int(r["count"] or 0) for r in rows if r["sub_group"] is None}
    out = []
    if count[ALL]:
        alone = f", {count[ALONE]:,} of them alone in S" if count[ALONE] else ""
        out.append(f"WARNING: all confidential values are unchanged in {count[ALL]:,} of {total:,} records{alone}")
    whole = [r for r in rows if r["sub_group"] is not None]
    out += [f"WARNING: no confidential value is masked in sub-group {r['sub_group']} ({r['count']:,} records)" for r in whole[:5]]
    return out + ([f"WARNING: {len(whole) - 5:,} more sub-groups are not masked"] if len(whole) > 5 else [])
