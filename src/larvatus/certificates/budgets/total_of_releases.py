"""What several releases tell together, from the figures in their manifests.

    linear noise in the same sub-groups   ½ log det(I + Σ (P₁ + P₂ + …)) + …
    anything else                         the sum of the single bounds

Proofs: docs/science/release-budget.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from larvatus.core.arrays import Floats, Matrix
from larvatus.core.errors import ManifestError
from larvatus.core.number_format import quote
from larvatus.data.budgets.release_budget import NATS_PER_BIT, BudgetShare, ReleaseBudget
from larvatus.data.budgets.release_information import BudgetEntry, LinearInformation
from larvatus.data.privacy.privacy_loss import joint_statement
from larvatus.stats.information.link_limit import largest_share
from larvatus.stats.information.noise_information import gaussian_nats, joint_correlations
from larvatus.stats.linkage_law.link_probability import link_probability_in_groups

_SAME_DRAWS = ("the same secret drew a release with other values of S or in other sub-groups, so that one may undo the noise "
               "of the other")


def total_of(entries: Sequence[BudgetEntry]) -> ReleaseBudget:
    """The budget of releases of one source; a release that was given twice counts once."""
    once = _without_repeats(entries)
    check_one_source(once)
    once = [e.telling_everything(_SAME_DRAWS, _SAME_DRAWS) if any(e.marks.may_share_noise(o.marks) for o in once) else e
            for e in once]
    parts: list[BudgetShare] = []
    before = 0.0
    for k, entry in enumerate(once, 1):
        now = _bits(once[:k])
        parts.append(BudgetShare(entry.name, _bits([entry]), now - before, entry.information.proof))
        before = now
    same, cells = _same_records(once), len({e.marks.cells for e in once}) == 1
    first = once[0].information
    most = min(e.information.most for e in once) if same else None
    chance = first.chance if same and cells else None
    links = None if chance is None else _links(chance, before * NATS_PER_BIT, first.slack)
    forecast = _forecast(once) if chance is not None else None
    return ReleaseBudget(before, None if most is None else most / NATS_PER_BIT, links, forecast, chance,
                         min(e.information.records for e in once), tuple(parts), _notes(entries, once, same, cells),
                         joint_statement([e.privacy for e in once]))


def _links(chance: float, nats: float, slack: float) -> float:
    """The bound on links. Without information every pairing is equally likely, and nothing beats guessing."""
    return chance if nats == 0 else largest_share(chance, nats + slack)


def _bits(entries: Sequence[BudgetEntry]) -> float:
    """The bound on the information per record of these releases together."""
    records = min(e.information.records for e in entries)
    family = [e for e in _family(entries) if e.information.linear is not None and e.information.linear.proved]
    others = [e for e in entries if e not in family]
    alone = sum(e.information.nats * e.information.records for e in entries)
    total = sum(e.information.nats * e.information.records for e in others)
    if family:
        total += min(_jointly(family) * family[0].information.records,
                     sum(e.information.nats * e.information.records for e in family))
    nats = min(total, alone) / records
    if _same_records(entries):
        nats = min(nats, *(e.information.most for e in entries))
    return nats / NATS_PER_BIT


def _family(entries: Sequence[BudgetEntry]) -> list[BudgetEntry]:
    """Releases with linear noise on the same values, in the same sub-groups; one of them has the columns of all."""
    linear = [e for e in entries if e.information.linear is not None]
    families = [[e for e in linear if _fits(e, base)] for base in linear]
    return max(families, key=len, default=[])


def _fits(entry: BudgetEntry, base: BudgetEntry) -> bool:
    mine, theirs = _linear(entry), _linear(base)
    return entry.marks.groups == base.marks.groups and len(mine.groups) == len(theirs.groups) and all(
        n in theirs.columns and entry.marks.columns.get(n) == base.marks.columns.get(n) for n in mine.columns)


def _jointly(family: Sequence[BudgetEntry]) -> float:
    """Nats per record, by the sum of precisions. The smallest covariance of those that hold is used."""
    wide, precisions = _widest(family), _precisions(family)
    found = []
    for base in wide:
        groups = _linear(base).groups
        total = sum(g.records * gaussian_nats(g.matrices()[0], p) for g, p in zip(groups, precisions, strict=True))
        found.append(total / sum(g.records for g in groups))
    return min(found) + sum(_linear(e).excess + _linear(e).rest for e in family)


def _widest(family: Sequence[BudgetEntry]) -> list[BudgetEntry]:
    names = max((_linear(e).columns for e in family), key=len)
    return [e for e in family if _linear(e).columns == names]


def _precisions(family: Sequence[BudgetEntry]) -> list[Matrix]:
    """The sum of the precisions in every sub-group, over the columns of the widest release."""
    names = _linear(_widest(family)[0]).columns
    out = [np.zeros((len(names), len(names))) for _ in _linear(family[0]).groups]
    for entry in family:
        at = [names.index(n) for n in _linear(entry).columns]
        for g, group in enumerate(_linear(entry).groups):
            out[g][np.ix_(at, at)] += group.matrices()[1]
    return out


def _forecast(entries: Sequence[BudgetEntry]) -> float | None:
    """The linkage law with the joint precision; None if a release has no normal linear law."""
    family = _family(entries)
    plain = all(_linear(e).excess == _linear(e).rest == 0 for e in family)
    if not family or not plain or any(e not in family and e.information.nats > 0 for e in entries):
        return None
    base = _widest(family)[0]
    correlations: list[Floats] = []
    counts: list[Floats] = []
    for group, precision in zip(_linear(base).groups, _precisions(family), strict=True):
        if not group.sizes:
            return None
        correlations.append(joint_correlations(group.matrices()[0], precision))
        counts.append(np.repeat(*np.array(group.sizes, dtype=np.float64).T.astype(np.int64)).astype(np.float64))
    return link_probability_in_groups(correlations, counts)[0]


def _linear(entry: BudgetEntry) -> LinearInformation:
    assert entry.information.linear is not None
    return entry.information.linear


def _without_repeats(entries: Sequence[BudgetEntry]) -> list[BudgetEntry]:
    out: list[BudgetEntry] = []
    for entry in entries:
        if not any(entry.files and entry.files == e.files for e in out):
            out.append(entry)
    return out


def check_one_source(entries: Sequence[BudgetEntry]) -> None:
    """Releases belong to one source if each is linked to the first, directly or through others."""
    known, left = [entries[0]], list(entries[1:])
    while left:
        found = [e for e in left if any(e.marks.same_source(k.marks) for k in known)]
        if not found:
            raise ManifestError(
                f"{quote(left[0].name)} is not known to be of the same source as {quote(known[0].name)}. If it is, give both "
                "the same name of the source ([budget] source) and the same key; else make two budgets.")
        known, left = [*known, *found], [e for e in left if e not in found]


def _same_records(entries: Sequence[BudgetEntry]) -> bool:
    """Whether all releases are of the same records: fingerprints of columns and of persons contain all record ids."""
    return all(a.information.records == b.information.records and a.marks.same_records(b.marks)
               for a, b in combinations(entries, 2))


def _notes(
    given: Sequence[BudgetEntry], once: Sequence[BudgetEntry], same: bool, cells: bool
) -> tuple[str, ...]:
    out = []
    if len(given) > len(once):
        out.append("A release that was given twice counts once.")
    if not same:
        out.append("The releases are not known to be of the same records. The figure is for the records of the smallest "
                   "one, if all of them are in every other.")
    elif not cells:
        out.append("The releases have different unmasked columns or sub-groups. What these tell together is not counted, and "
                   "the share of links is not bounded.")
    for e in once:
        if e.information.nats >= e.information.most > 0:
            why = f": {e.information.reasons[0]}" if e.information.reasons else ""
            out.append(f"No bound is proved for {quote(e.name)}{why}. It counts as if it told everything.")
        if e.information.linear is not None and not e.information.linear.proved:
            out.append(f"The forecast takes the noise of {quote(e.name)} as independent over records.")
    return tuple(dict.fromkeys(out))
