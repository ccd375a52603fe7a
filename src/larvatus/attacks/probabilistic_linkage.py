"""Weigh the agreement in each column and link to the record with the largest total weight (Fellegi and Sunter 1969).

    w(i, k) = Σ_j log( m_j(γ) / u_j(γ) ),  γ = the level of agreement of x_ij and y_kj,
    m_j(γ) = Pr(γ | matching pair),  u_j(γ) = Pr(γ | any pair);   k* = arg max_k w(i, k).

Equality on a rare value weighs more: then u is the share of that value. The probabilities m are learnt by EM, or partly known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from larvatus.attacks.linkage.blocking import without_s
from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.rerun_steps import image_after_steps
from larvatus.attacks.linkage.target_sample import SLOW_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

LEARNT = ("learnt from equal and near values", "learnt from equal values")
KNOWN = "with known shares of unchanged values"
EQUAL = 1e-9  # standard deviations
_PAIRS_ALONE = 150_000  # pairs from which the weights of the baseline X alone are learnt


class ProbabilisticLinkage(Attack):
    """The intruder estimates from both files how much each level of agreement weighs, and links to the largest weight.

    Numeric and categorical columns are used together. Numbers agree exactly, within .01, .03, .1, .3 or one standard
    deviation, or not at all; categories agree or not. Exact agreement on a rare value weighs more than on a common one. How
    often matching pairs agree is estimated by EM: once with all levels, and once with a share of unchanged values in each
    column and the rest taken as random. If the intruder knows the settings of the mask, the share of unchanged values is
    known, too. The most successful of these weights count. If steps such as rounding are mixed with random ones, a known value
    is compared after these steps. Columns are treated as independent. Columns that the mask left unchanged get a large weight,
    columns it destroyed get none. A blanked value has no weight. Only records with the same S are candidates. Candidates of
    equal weight share the credit.

    Look at it if the intruder has mixed keys with errors, and software for record linkage. It is below the attacks that know
    the mask if that law is known.

    Parameters:
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = SLOW_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder has a file of the targets with their original numeric and categorical values, and record linkage "
        "software. An intruder who knows the settings of the mask also knows how many values it leaves unchanged."
    )

    targets: Targets = None

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        seen = image_after_steps(original, release, intruder, random)
        by = GroupKeys.of(self, seen, release, intruder, random, self.targets, categorical_too=True)
        steps = [s for r in (release, *release.internals.other_releases) for s in r.steps]
        link = _Linker(by, intruder.guesses or (1,))
        known = link.unchanged_shares() if steps and intruder.knows_settings_of(steps) else None
        trials = LEARNT if known is None else (*LEARNT, KNOWN)
        return link_groups(
            self, "share of records whose own released record has the largest weight", original, release, intruder, by,
            lambda sides: link.credits(sides, known), trials=("weights", trials),
        )


@dataclass(frozen=True, slots=True)
class _Linker:
    """Links whole sub-groups."""

    by: GroupKeys
    guesses: Sequence[int]

    def credits(self, sides: LinkedGroup, known: Mapping[str, float] | None) -> Floats:
        """Credits, trials × guesses × targets."""
        from larvatus.stats.linkage.fellegi_sunter import MOST_PAIRS, PairSample, frequencies, linkage_credit

        x, y = self._in_units(sides)
        most = _PAIRS_ALONE if without_s(sides, self.by) else MOST_PAIRS
        often = frequencies(x, y, sides.holds)
        pairs = PairSample.of(x, y, sides.same, sides.holds, most, often)
        found = [pairs.learn(), pairs.learn(near=False)]
        if known is not None:
            found.append(pairs.learn(np.array([known[n] for n in sides.names]), near=False))
        own = x[sides.own]
        return np.array([
            linkage_credit(own, y, a.weights, sides.same, sides.own, self.guesses, a.equal_weights(often[sides.own]))
            for a in found
        ])

    def unchanged_shares(self) -> dict[str, float]:
        """The share of unchanged values in each column of the file, without values that agree by chance."""
        from larvatus.stats.linkage.fellegi_sunter import frequencies

        def beyond_chance(sides: LinkedGroup) -> Floats:
            x, y = self._in_units(sides)
            often, gone = frequencies(x, y, sides.holds), np.isnan(x) | np.isnan(y)
            equal, possible = (np.abs(x - y) <= EQUAL) - often, 1.0 - often
            return np.hstack([np.where(gone, np.nan, v) for v in (equal, possible)]).T

        more, most = np.split(np.nansum(self.by.measure(beyond_chance, 2), axis=1), 2)
        share = np.clip(np.divide(more, most, out=np.zeros_like(more), where=most > 0), 0.0, 1.0)
        return dict(zip((*self.by.masked, *self.by.soft), share.tolist(), strict=True))

    def _in_units(self, sides: LinkedGroup) -> tuple[Floats, Floats]:
        """Known and released values: numbers in standard deviations, categories as codes far apart."""
        from larvatus.stats.linkage.fellegi_sunter import names_apart
        from larvatus.stats.linkage.paired_points import in_same_units

        named = [n in self.by.keys.codes for n in sides.names]
        x, y = names_apart(sides.originals, named), names_apart(sides.y, named)
        scaled = in_same_units(x, y)
        number = ~np.array(named, dtype=bool)
        x[:, number], y[:, number] = scaled[0][:, number], scaled[1][:, number]
        return x, y
