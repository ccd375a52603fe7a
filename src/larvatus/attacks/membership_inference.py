"""Tell from the released file whether a record was used to make it.

    density      −log( d(i; released rows) / d(i; other real records) )     a ratio of nearest-neighbour densities
    occurrence   Σ_j log( P(x_ij is released | i was used) / P(x_ij is released | i was not) )
    learnt       Fisher's discriminant of these and other features, from records whose membership is known
    shadow       the same, from synthetic files that the intruder makes of records of their own
    law          likelihood ratio of membership in normal columns, if one mask with a known law made the release:
                 by published moments (leverage), or by rows with normal linear noise (docs/science/membership.md)
    AUC = P(score of a training record > score of a record held out);     TPR at FPR 0.1 % and 1 %

The real records are the same reference for both sides, each without itself, so that the score has the same law for both if the
file does not depend on which records were used. Rates at few false positives tell more than an average (Carlini and others
2022). A ratio of the densities of the file and of the population is the score of van Breugel and others 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.attacks.unpaired.membership_features import DENSITY_AT, OCCURRENCE_AT, membership_features
from larvatus.attacks.unpaired.membership_likelihood import likelihood_of
from larvatus.attacks.unpaired.shadow_files import FEWEST_OF_INTRUDER, shadow_features
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.errors import LarvatusError, MachineError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Mask
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.estimates.intervals import wilson

FALSE_POSITIVES = (0.001, 0.01, 0.1)
_CHANCE = 0.5
_FORMS: Mapping[str, str] = {
    "density": "nothing else", "occurrence": "nothing else", "shadow": "the generator, and records of their own",
    "learnt": "whether half of the other records were used", "law": "the mask and its settings",
}
Scorer = Callable[[Floats], Floats]


class MembershipInference(Attack):
    """The intruder wants to know whether a person's record was used to make the file.

    Up to five forms are tried. One form compares densities near the record. One looks for the record's values: a generator
    that draws values of its training records releases a rare one only if somebody with it was used. One learns from shadow
    files, which the intruder makes, how used records differ. One learns it from records whose membership is known. If one mask
    that keeps moments exactly or adds normal noise made the release, one is the likelihood ratio under its law. One half of
    the records decides which form is used for the other half.

    The value is the area under the ROC curve: the probability that a training record looks more like one than a record held
    out does; 0.5 is chance. The details have the share of training records recognised if at most 0.1 %, 1 % and 10 % of the
    records held out are taken for training records. A rate below one record held out is read at no false positive.

    Look at it if it is a secret that a person is in the data, as in a register of patients. A value near 0.5 is an average: a
    few records may still be recognised, so read the rates at few false positives too.

    Parameters:
        shadow_files: number of shadow files for each half of the records held out; 0 for none.
        generator: mask that makes shadow files of a file that was made elsewhere. Files made here are made again by their own
            steps.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder has a person's record, and other records of the same population to compare with."

    shadow_files: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=6, description="number of shadow files for each half of the records held out; 0 for none"
    )
    generator: str = Field(default="sequential_trees", description="mask that makes shadow files of files made elsewhere")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.closeness.seen_records import area_under_curve, placements

        files = ComparedFiles.of(original, release.data, intruder)
        features, cut = membership_features(files), len(files.training)
        fold = np.concatenate([np.arange(cut), np.arange(len(files.holdout))]) % 2  # records are in an order without a pattern
        member = np.arange(len(features)) < cut
        shadows, notes = self._shadows(original, release, files, intruder, random)
        law = likelihood_of(files, original, release)
        every = {form: np.zeros(len(features)) for form in _FORMS}
        best, chosen = np.zeros(len(features)), list[str]()
        for here in (0, 1):
            there = fold != here
            scorers = _scorers(features[there & member], features[there & ~member], shadows[1 - here] if shadows else None)
            mine = np.flatnonzero(fold == here)
            others = np.flatnonzero(~member[mine])
            for form, scorer in scorers.items():
                every[form][mine] = placements(scorer(features[mine]), others)
            known = {form: area_under_curve(scorer(features[there & member]), scorer(features[there & ~member]))[0]
                     for form, scorer in scorers.items()}
            if law is not None:
                every["law"][mine] = placements(law.scores[mine], others)
                known["law"] = area_under_curve(law.scores[there & member], law.scores[there & ~member])[0]
            chosen.append(max(known, key=lambda form: known[form]))
            best[mine] = every[chosen[-1]][mine]
        members, held = best[:cut], best[cut:]
        value, low, high = area_under_curve(members, held)
        sides = (files.training.group, files.holdout.group)
        by_group: list[Row] = []
        for g, n in enumerate(files.groups.sizes):
            one, other = members[sides[0] == g], held[sides[1] == g]
            part = area_under_curve(one, other) if min(len(one), len(other)) >= 2 else (value, low, high)
            by_group.append({"sub_group": files.groups.name(g), "records": n, "value": part[0], "chance": 0.5, "s_alone": 0.5,
                             "low": part[1], "high": part[2]})
        far = (files.outlying(files.training), files.outlying(files.holdout))
        there_are = [f for f in _FORMS if (f != "shadow" or shadows) and (f != "law" or law is not None)]
        return Score(
            self.name(), "risk", value, "probability that a training record looks more like one than a record held out does",
            self.settings(), chance=0.5, s_alone=0.5, interval=(low, high), by_group=Rows.of(by_group),
            details={"false_positives": Rows.of(_rates(members, held)), "outliers": _outliers(members, held, far),
                     "forms": Rows.of(_form_rows(every, there_are, chosen, cut)),
                     **({} if law is None else {"closed_form": law.expected})},
            notes=(*_warning(value, low, release), *files.notes, *notes,
                   *([] if law is None else [f"the likelihood ratio is that of {law.rule}"])),
        )

    def _shadows(
        self, original: Microdata, release: Release, files: ComparedFiles, intruder: Intruder, random: RecordRandom
    ) -> tuple[list[tuple[Floats, Floats]], list[str]]:
        """Features of used and of unused records in shadow files, from either half of the records held out; and notes."""
        from larvatus.data.method_parsing import method_of

        held = original.holdout
        halves: list[Ints] = [files.holdout.record[k::2] for k in (0, 1)]
        if self.shadow_files == 0 or held is None:
            return [], []
        if min(len(half) for half in halves) < FEWEST_OF_INTRUDER:
            return [], [f"no shadow files were made: that takes {2 * FEWEST_OF_INTRUDER} records held out"]
        try:
            steps: Sequence[Mask] = release.steps or (method_of(Mask, self.generator),)
            return [shadow_features(held, half, steps, self.shadow_files, intruder, random.child(str(k)))
                    for k, half in enumerate(halves)], []
        except MachineError:
            raise
        except LarvatusError as error:
            return [], [f"no shadow files were made: {error.reason_for(self.name())}"]


def _warning(value: float, low: float, release: Release) -> tuple[str, ...]:
    if release.is_paired or low <= _CHANCE:
        return ()
    return (f"WARNING: records are recognised as used: a used one stands out against one held out in {value:.1%} of all pairs",)


def _scorers(members: Floats, others: Floats, shadow: tuple[Floats, Floats] | None) -> dict[str, Scorer]:
    """The score of each form from features. What is learnt is learnt from these records."""
    from larvatus.stats.closeness.seen_records import discriminant

    def weighted(weights: Floats) -> Scorer:
        return lambda features: np.asarray(features @ weights)

    axes = np.eye(members.shape[1])
    out = {"density": weighted(axes[DENSITY_AT]), "occurrence": weighted(axes[OCCURRENCE_AT])}
    if shadow is not None:
        out["shadow"] = weighted(discriminant(*shadow))
    return out | {"learnt": weighted(discriminant(members, others))}


def _form_rows(every: Mapping[str, Floats], there_are: Sequence[str], chosen: Sequence[str], cut: int) -> list[Row]:
    from larvatus.stats.closeness.seen_records import area_under_curve, true_positives

    out: list[Row] = []
    for form in there_are:
        members, held = every[form][:cut], every[form][cut:]
        value, low, high = area_under_curve(members, held)
        out.append({"form": form, "the intruder also knows": _FORMS[form], "value": value, "low": low, "high": high,
                    "recognised at 1 % false positives": true_positives(members, held, 0.01),
                    "halves it was chosen for": chosen.count(form)})
    return out


def _rates(members: Floats, others: Floats) -> list[Row]:
    from larvatus.stats.closeness.seen_records import true_positives

    out: list[Row] = []
    for rate in FALSE_POSITIVES:
        found = true_positives(members, others, rate)
        low, high = wilson(found, len(members))
        out.append({"false positives at most": rate, "records held out": int(rate * len(others) + 1e-9),
                    "training records recognised": found, "low": low, "high": high})
    return out


def _outliers(members: Floats, others: Floats, far: tuple[Bools, Bools]) -> Rows:
    from larvatus.stats.closeness.seen_records import area_under_curve

    rows: list[Row] = []
    for name, mine, held in (("outlying tenth", *far), ("interior", ~far[0], ~far[1])):
        if min(mine.sum(), held.sum()) >= 2:
            value, low, high = area_under_curve(members[mine], others[held])
            rows.append({"records": name, "count": int(mine.sum()), "value": value, "chance": 0.5, "s_alone": 0.5, "low": low,
                         "high": high})
    return Rows.of(rows)
