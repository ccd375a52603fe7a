"""Link every original record to the released record that the law of the mask makes most probable (Fuller 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Self

from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import Keys, guesses_of, keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
from larvatus.attacks.linkage.posterior_links import LawOf, MatchRule, PosteriorLink
from larvatus.attacks.linkage.release_law import law_of
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Guesses, Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_BESIDE = 20_000  # targets, of a larger file, for which the attack is tried a second time without or with the settings


class PosteriorMatch(Attack):
    """The intruder knows the targets' original values and how the mask works, and picks the most probable record for each.

    Given S, original and released values are taken as jointly normal. "posterior" picks the record whose released values
    make the target's original ones most probable, "likelihood" the one whose released values are most probable for the
    target. Candidates agree with the target in the non-confidential columns it is known by; ties share the credit. Names
    are not used.

    Parameters:
        rule: "posterior", which finds about twice as many where values moved far, or "likelihood", that of published tables.
        law: "mask": as the steps state it, where they do and the intruder is told their settings; else, and with
            "cross_fit", learnt from pairs of original and released records other than the target's; "in_sample" learns it
            from all pairs, the target's own among them, which overstates what an intruder can do in small sub-groups.
        within: success means that the own record is among this many most probable; the first is the headline.
        targets: attack only so many targets, drawn at random; all where none is stated.
    """

    assumes: ClassVar[str] = (
        "The intruder holds values of the targets and the law of the mask: from its published settings, or learnt from "
        "pairs of original and released records that have come to light. The law is taken to be linear with normal noise."
    )

    rule: MatchRule = Field(default="posterior", description="which probability is the largest for the record picked")
    law: LawOf = Field(default="mask", description="where the law of released given original values comes from")
    within: tuple[Guesses, ...] | Guesses = Field(default=(1, 3, 5, 10), description="numbers of records to try")
    targets: Annotated[int, Field(ge=1)] | None = Field(default=None, description="how many targets to attack")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rule="likelihood", law="in_sample", within=1), cls(law="cross_fit")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        keys = keys_of("posterior_match", original, release, intruder, random, self.targets)
        if not keys.numbers:
            raise RiskError("posterior_match: the intruder knows no numeric confidential column of the release. Name one in "
                            "intruder.known, or leave it empty for all.")
        guesses = guesses_of(self.within, "within" in self.model_fields_set, intruder)
        stated = law_of(release, original) if self.law == "mask" and _pools_are_sub_groups(keys, release) else None
        told = stated is not None and intruder.told([s for r in (release, *release.others) for s in r.steps])
        link = PosteriorLink(keys, original, release, guesses, self.rule, random)
        used = link.by(stated if told else None, self.law)
        notes = [] if told or self.law != "mask" else [
            "the intruder is not told how the release was masked: its law is learnt from other records" if stated is not None
            else "no linear law is stated for this release: it is learnt from other records, which understates what one who "
            "knows the mask would find"
        ]
        notes += [f"{n} holds names and is not used to match records" for n in keys.names]
        score = linkage_score(
            "posterior_match", "share of records whose own released record is the most probable one" if guesses[0] == 1 else
            f"share of records whose own released record is among the {guesses[0]} most probable", self.settings(),
            original, release, intruder, guesses, used, keys, notes,
        )
        if stated is None:
            return score
        if (self.targets or release.data.rows) > _BESIDE:
            fewer = keys_of("posterior_match", original, release, intruder, random, _BESIDE)
            link = PosteriorLink(fewer, original, release, guesses, self.rule, random)
        other = link.by(None if told else stated, self.law)
        known, unknown = (used, other) if told else (other, used)
        rows: list[Row] = [
            {"parameters": name, "value": float(c.success[:, 0].mean()), "targets": len(c.success)}
            for name, c in (("known", known), ("not known", unknown))
        ]
        return replace(score, details={**score.details, "published": Rows.of(rows)})


def _pools_are_sub_groups(keys: Keys, release: Release) -> bool:
    return keys.joined.groups.labels == release.data.groups.labels
