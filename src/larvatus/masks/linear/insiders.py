"""Shared by masks that keep moments exactly: the smallest sub-group in which insiders cannot compute the other records.

    c ≥ m − r − (r + 1)/2        if the noise is orthogonal to X as well,
    c ≥ m − (r + 1)/2            if the residuals are rotated at random

insiders suffice in a sub-group with m = n − 1 − q residual dimensions and rank r of X given S: each knows r numbers, and the
residuals of X on S, given those of Y, have r (m − r) − r (r + 1)/2 or r m − r (r + 1)/2 degrees of freedom. Fewer insiders can
still come near (`stats.linear.insider_intervals`): a sub-group is refused in which many intervals are narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.core.errors import MaskError
from larvatus.data.contracts import Block
from larvatus.data.design import Design, design_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import reduce_groups

_LEAST = 2  # residual dimensions that any release needs
NARROW_INTERVAL = 0.1  # standard deviations; a narrower interval gives a value away
_OFTEN = 0.1  # share of values with such an interval that is refused
_MOST_RECORDS, _MOST_GROUPS = 64, 200  # of the sub-groups in which intervals are computed


def smallest_for(data: Microdata, insiders: int, rotated: bool, with_s: bool = True) -> int:
    """Smallest sub-group in which more than this number of insiders are needed; r is the number of confidential columns.

    `with_s` says whether covariances with S are exact too.
    """
    given, r = len(design_of(data, data.non_confidential).terms) if with_s else 0, len(data.confidential)
    if insiders == 0:
        return 1 + given + _LEAST
    halves = 2 * insiders + (r + 1) + (0 if rotated else 2 * r)  # twice the number that m must exceed
    return 1 + given + max(halves // 2 + 1, _LEAST)


def rare_categories(insiders: int) -> int:
    """A category of S with at most this number of records is too rare, because its sum is exact."""
    return max(2, insiders + 1)


def insiders_reason(insiders: int) -> str:
    """Why a smaller sub-group is refused."""
    if insiders == 0:
        return ""
    who = "one person who knows the own record" if insiders == 1 else f"{insiders} persons who know their own records"
    return (f"With fewer, {who} could compute the records of the others, because means and covariances are exact "
            f"(insiders = {insiders}).")


def insiders_notes(insiders: int) -> list[Note]:
    """A warning if the limit is switched off."""
    if insiders:
        return []
    return [Note("insiders = 0: in small sub-groups, persons who know their own records may be able to compute the records of "
                 "the others", "warning")]


def groups_to_examine(data: Microdata, insiders: int) -> frozenset[int]:
    """The smallest sub-groups, in which insiders may come near the values of others without computing them."""
    small = sorted((n, g) for g, n in enumerate(data.groups.sizes) if n <= _MOST_RECORDS)
    return frozenset(g for _, g in small[:_MOST_GROUPS]) if insiders else frozenset()


def pinned_shares(data: Microdata, present: Sequence[tuple[str, ...]], design: Design, insiders: int) -> dict[int, float]:
    """How often insiders come near the values of others if residuals are rotated, by sub-group, for the small ones."""
    groups = groups_to_examine(data, insiders)
    if not groups:
        return {}

    def look(group: int, block: Block) -> float | None:
        from larvatus.stats.linear.insider_intervals import share_pinned

        names = present[group]
        if group not in groups or not names:
            return None
        return share_pinned(block.matrix(names), design.matrix(group, block), None, insiders, NARROW_INTERVAL)

    columns = list(dict.fromkeys([*data.confidential, *design.columns]))
    found = reduce_groups(data, columns, look, lambda one, other: one if other is None else other)
    return {g: share for g, share in enumerate(found) if share is not None}


def refuse_pinned(data: Microdata, shares: Mapping[int, float], insiders: int, method: str) -> None:
    """Raise an error if insiders pin down too many values of others: `shares` by sub-group."""
    near = [g for g, share in sorted(shares.items()) if share > _OFTEN]
    if not near:
        return
    named = "; ".join(f"({data.groups.name(g)})" for g in near[:5]) + (f"; and {len(near) - 5} more" if len(near) > 5 else "")
    worst = max(shares[g] for g in near)
    raise MaskError(
        f"{method}: in {len(near)} of {len(data.groups)} sub-groups, {insiders} persons who know their own records come too "
        f"near to the values of the others: {named}. Up to {worst:.0%} of the values lie in an interval under a tenth of a "
        "standard deviation, because means and covariances are exact. Pool small sub-groups (small = \"pool\"), drop a "
        "sub-group column, or use a smaller similarity."
    )
