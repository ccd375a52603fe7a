"""A certificate: an upper bound on the share of records that any intruder of a stated kind links to their released rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from larvatus.core.number_format import share_at_most
from larvatus.data.privacy.privacy_loss import NO_STATEMENT, PrivacyStatement
from larvatus.data.score import Row, Rows

CertifiedIntruder = Literal["single target", "whole file"]
FALSE_ALARM = 1e-4
KNOWS: Mapping[str, str] = {
    "single target": "knows one person's record and the mask",
    "whole file": "knows all original records and the mask, but not which released row belongs to whom",
}
ROW_BY_ROW = ("the intruder judges each released row on its own, by a rule that does not depend on the release (in expectation "
              "also any other rule, if the other records are a random draw from the file's own distribution)")
GIVEN_DRAWS = "the expectation is over the order of the rows; the draws of this release are given"
ANOTHER_RELEASE = ("the release was made with a new secret for this certificate only; other draws may have other figures, so "
                   "certify the release itself")
STATED_STEPS = "the stated steps, and nothing else, made the file"
NO_BOUND = "none"
IN_ORDER = "the rows are in the original order, which gives every link away"


@dataclass(frozen=True, slots=True)
class Certificate:
    """An upper bound for one kind of intruder.

    - `expected`: bound on the expected share of records linked, over the draws of the mask and the random order of the rows;
      with the proof "equal released rows" the draws of this release are given, and the order alone is random
    - `upper`: bound on the share linked in this very release; it fails with probability `false_alarm` at most
    - `estimate`: the best estimate of the first bound; it differs from `expected` by the error of sampling
    - `exact`: some intruder of this kind reaches the expected share
    - `proof`: the argument for `expected`, in a few words; `upper_proof`: that for `upper`
    - `assumptions`: what both take for granted
    - `chance`: the share that a random guess among the records with the same S links

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> found = lv.certify(data, "data_shuffling").single_target
        >>> found.exact, round(found.expected, 4) == round(2 / 300, 4)
        (True, True)
    """

    intruder: CertifiedIntruder
    expected: float
    upper: float
    estimate: float
    exact: bool
    proof: str
    assumptions: tuple[str, ...]
    chance: float
    records: int
    false_alarm: float = FALSE_ALARM
    upper_proof: str = ""

    def sentence(self) -> str:
        """The bound in one sentence; the limit for one release fails with probability `false_alarm`."""
        most = (f"at most {share_at_most(self.expected)} of records in expectation, and at most {share_at_most(self.upper)} in "
                "this release")
        if self.expected >= 1:
            most = "all records: no smaller bound is proved"
        return f"An intruder who {self.knows()} links {most}."

    def knows(self) -> str:
        """What the intruder knows, and how it may use the release if that is limited: follows "an intruder who"."""
        return KNOWS[self.intruder] + (", and judges each released row on its own," if ROW_BY_ROW in self.assumptions else "")

    def row(self) -> Row:
        return {
            "intruder": self.intruder, "expected": self.expected, "upper": self.upper, "chance": self.chance,
            "exact": self.exact, "proof": self.proofs(),
        }

    def proofs(self) -> str:
        """Both arguments, if they differ."""
        return self.proof if self.upper_proof in ("", self.proof) else f"{self.proof}; in this release: {self.upper_proof}"

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can store it."""
        return {**self.row(), "proof": self.proof, "upper_proof": self.upper_proof, "estimate": self.estimate,
                "assumptions": list(self.assumptions), "records": self.records, "false_alarm": self.false_alarm}


class Certificates(tuple[Certificate, ...]):
    """The certificates of a release, one for each kind of intruder.

    `refusals` says which sharper bounds were not proved, and why. `normal_law` is the share that the best intruder who knows
    one record would link if X were normal given S: a forecast under a model, not a bound for this file; None if the mask has
    no such law. `privacy` is the differential privacy of the release, or why it has none.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> found = lv.certify(data, "additive_noise(variance=2.0)")
        >>> found.single_target.expected <= found.whole_file.expected <= 1
        True
    """

    refusals: tuple[str, ...] = ()
    normal_law: float | None = None
    privacy: PrivacyStatement = NO_STATEMENT

    def __repr__(self) -> str:
        return str(self.summary())

    def summary(self) -> Rows:
        """One row per kind of intruder."""
        return Rows.of(c.row() for c in self)

    def of(self, intruder: CertifiedIntruder) -> Certificate:
        return next(c for c in self if c.intruder == intruder)

    @property
    def single_target(self) -> Certificate:
        return self.of("single target")

    @property
    def whole_file(self) -> Certificate:
        return self.of("whole file")

    def assuming(self, more: str) -> Certificates:
        """The same under one more assumption."""
        return self._changed(replace(c, assumptions=(*c.assumptions, more)) for c in self)

    def without_bound(self, why: str) -> Certificates:
        """The certificates of a file that may give every link away by something other than its masked values."""
        out = self._changed(replace(c, expected=1.0, upper=1.0, estimate=1.0, exact=False, proof=NO_BOUND, upper_proof="",
                                    assumptions=()) for c in self)
        out.refusals, out.normal_law = (why, *self.refusals), None
        return out

    def _changed(self, certificates: Iterable[Certificate]) -> Certificates:
        out = Certificates(certificates)
        out.refusals, out.normal_law, out.privacy = self.refusals, self.normal_law, self.privacy
        return out

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can store it."""
        return {"certificates": [c.plain() for c in self], "refusals": list(self.refusals), "normal_law": self.normal_law,
                "privacy": self.privacy.plain()}

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> Certificates:
        """The certificates that `plain` gave."""
        out = cls(Certificate(**{**c, "assumptions": tuple(c["assumptions"])}) for c in stored["certificates"])
        out.refusals, out.normal_law = tuple(stored["refusals"]), stored["normal_law"]
        out.privacy = PrivacyStatement.from_plain(stored.get("privacy", {}))
        return out
