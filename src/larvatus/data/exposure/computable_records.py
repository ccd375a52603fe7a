"""Records that a few insiders can compute, because a step keeps means and covariances exactly.

`exact_equations` gives, for each sub-group, the number of insiders who suffice: persons who know their own records only.
"""

from __future__ import annotations

from larvatus.data.score import Row, Rows

INSIDERS = "insiders"  # the table of the score: one row per sub-group
SAFE_AGAINST = 3  # insiders who must not be able to compute the records of others (docs/decisions/0025-exact-equations.md)


def computable_share(rows: Rows) -> float:
    """The share of records in sub-groups in which at most `SAFE_AGAINST` insiders suffice."""
    total = sum(int(str(r["records"])) for r in rows)
    return sum(int(str(r["records"])) for r in rows if _solvable(r)) / total if total else 0.0


def computable_in_words(rows: Rows) -> str:
    """One sentence with the number of records and the first sub-groups; empty if there are none."""
    weak = [r for r in rows if _solvable(r)]
    if not weak:
        return ""
    records = sum(int(str(r["records"])) for r in weak)
    fewest = min(int(str(r[INSIDERS])) for r in weak)
    who = "Anyone" if fewest == 0 else "One insider" if fewest == 1 else f"{fewest} insiders"
    names = "; ".join(str(r["sub_group"]) for r in weak[:3]) + (f" and {len(weak) - 3:,} more" if len(weak) > 3 else "")
    return (f"{who} can compute the values of others from exact means and covariances in small sub-groups "
            f"({records:,} records): {names}.")


def _solvable(row: Row) -> bool:
    return int(str(row["rank"])) > 0 and int(str(row[INSIDERS])) <= SAFE_AGAINST
