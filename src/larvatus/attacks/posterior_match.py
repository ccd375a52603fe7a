"""Link each target to the released record that is most probable under the law of the mask (Fuller 1993).

    posterior rule    j* = arg max_j f(x_i | y_j, s_i)
    likelihood rule   j* = arg max_j f(y_j | x_i, s_i)

Given S, (X, Y) is jointly normal. Under the posterior rule the distance is the Mahalanobis distance of x_i from E(X | y_j),
with covariance Var(X | Y); under the likelihood rule, of y_j from E(Y | x_i), with covariance Var(Y | X).

If the mask drew noise that is not normal, y = E(y | x, s) + rootᵀ u with independent draws u of density g, then
f(y | x) = Π g(u_k), and f(x | y) is proportional to f(y | x) / Σ_l f(y | x_l) over the known records l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import Keys, guesses_of, keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
from larvatus.attacks.linkage.posterior_links import LawOf, MatchRule, PosteriorLink
from larvatus.attacks.linkage.release_law import ReleaseLaw, law_of
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.attacks.linkage.zero_patterns import columns_with_kept_zeros, has_zeros, zeros_as_missing
from larvatus.attacks.scoring.credits import Credits, with_dependent_targets
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Guesses, Intruder
from larvatus.data.laws import keeps_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_SHARED = 2.0  # variance of the score relative to that of independent targets, if all of them share a law that is learnt
_BESIDE = 20_000  # largest number of targets for which the attack is repeated without (or with) the mask's settings


class PosteriorMatch(Attack):
    """The intruder knows the targets' original values and how the mask works, and picks the most probable record for each.

    Given S, original and released values are modelled as jointly normal. The "posterior" rule picks the record j that
    maximises f(x | y_j), the density of the target's original values given the released ones. The "likelihood" rule maximises
    f(y_j | x). If the mask drew uniform, Laplace or mixed noise, that distribution is used instead of the normal one; the
    intruder must then know all confidential columns without error. Candidates agree with the target in the known
    non-confidential columns. If zeros may be where they were, they
    are also tried as keys: candidates with zeros in other columns are then unlikely, and the law refers to the other cells.
    Ties share the credit. Categorical confidential columns are not used.

    Look at it for noise and linear models: it is the best single link if the law of the mask is known. It is not at its best if
    columns are far from normal; see `simulated_release`.

    Parameters:
        rule: "posterior", which finds about twice as many records if values moved far, or "likelihood", the rule of the
            published tables.
        law: "mask": the law stated by the steps, if they state one and the intruder knows their settings, otherwise as
            "cross_fit"; "cross_fit": learnt from pairs of original and released records other than the target's;
            "in_sample": learnt from all pairs including the target's, which overstates the risk in small sub-groups.
        within: success means that the own record is among this many most probable records; the first number decides the
            value.
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    intruder_class: ClassVar[Literal["single target", "whole file"]] = "single target"
    assumes: ClassVar[str] = (
        "The intruder knows values of the targets and the law of the mask: from its published settings, or learnt from known "
        "pairs of original and released records. The law is assumed to be linear. Its noise has the distribution that the mask "
        "used, if the intruder knows all that enters it, and is normal otherwise."
    )

    rule: MatchRule = Field(default="posterior", description="the probability that is maximised")
    law: LawOf = Field(default="mask", description="source of the law of released values given original values")
    within: Annotated[tuple[Guesses, ...], Field(min_length=1)] | Guesses = Field(
        default=(1, 3, 5, 10), description="numbers of guesses"
    )
    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rule="likelihood", law="in_sample", within=1), cls(law="cross_fit")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        keys = keys_of("posterior_match", original, release, intruder, random, self.targets)
        if not keys.numbers:
            raise RiskError("the intruder knows no numeric confidential column of the release. List one in "
                            "intruder.known, or leave intruder.known empty for all.", subject="posterior_match")
        guesses = guesses_of(self.within, "within" in self.model_fields_set, intruder)
        zeros = columns_with_kept_zeros(keys, release)
        kept = any(keeps_zeros(s) for r in (release, *release.internals.other_releases) for s in r.steps)
        stated = None
        if self.law == "mask" and _pools_are_sub_groups(keys, release) and not (kept and has_zeros(release.data, but=zeros)):
            stated = law_of(release, original, without_zeros=True)
        knows_law = stated is not None and intruder.knows_settings_of([s for r in (release, *release.internals.other_releases)
                                                                       for s in r.steps])

        def link(keys: Keys, law: ReleaseLaw | None) -> Credits:
            """The more successful of two links: zeros as values, unless the law excludes them, and kept zeros as keys."""
            sides = [(keys, original)] if law is None or not (zeros and kept) else []
            sides += [zeros_as_missing(keys, original, zeros)] if zeros else []
            found = [PosteriorLink(*s, release, guesses, self.rule, random).by(law, self.law) for s in sides]
            return max(found, key=lambda c: c.value)

        used = link(keys, stated if knows_law else None)
        notes = [] if knows_law or self.law != "mask" else [
            "the intruder does not know how the release was masked and learns the law from other records" if stated is not None
            else "no linear law is known for this release, so the attack learns one from other records; this understates the "
            "success of an intruder who knows the mask"
        ]
        exact = None if stated is None else PosteriorLink(keys, original, release, guesses, self.rule, random).exact(stated)
        if knows_law and stated is not None and not stated.normal and exact is None:
            notes.append("the noise is not normal, but is taken as normal: the intruder does not know every value exactly")
        notes += [f"{n} is categorical and is not used to match records" for n in keys.categorical]
        score = linkage_score(
            "posterior_match", "share of records whose own released record is the most probable one" if guesses[0] == 1 else
            f"share of records whose own released record is among the {guesses[0]} most probable", self.settings(),
            original, release, intruder, guesses, used, keys, notes,
        )
        if not knows_law:
            absent = original.rows / release.data.rows if "presence" in score.details else 1.0
            score = with_dependent_targets(score, used.effective_targets() * absent, _SHARED)
        if stated is None:
            return score
        if len(used.success) > _BESIDE:
            keys = keys_of("posterior_match", original, release, intruder, random, _BESIDE)
        other = link(keys, None if knows_law else stated)
        known, unknown = (used, other) if knows_law else (other, used)
        rows: list[Row] = [
            {"parameters": name, "value": c.value, "targets": len(c.success)}
            for name, c in (("known", known), ("not known", unknown))
        ]
        return replace(score, details={**score.details, "published": Rows.of(rows)})


def _pools_are_sub_groups(keys: Keys, release: Release) -> bool:
    return keys.joined.groups.labels == release.data.groups.labels
