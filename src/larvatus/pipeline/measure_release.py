"""Losses of a release: every copy is measured, on the whole file and in every domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from larvatus.core.errors import UtilityError
from larvatus.core.interruptible import call_interruptibly
from larvatus.core.progress import Progress, current_progress, default_progress, silent
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.accepted_types import MeasureLike, ReleaseLike
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Measure
from larvatus.data.copies import mean_over
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.pairing import as_release, in_declared_groups
from larvatus.data.pairings.released_keys import comparable_keys
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, Scores
from larvatus.measures.analyses.compare import compare_analyses
from larvatus.measures.analyses.spec import METHOD, AnalysisLike, analyses_of
from larvatus.measures.scoring.domains import DomainLike, DomainParts, domains_of, split_by_domain
from larvatus.measures.scoring.lost_columns import score_with_lost_columns
from larvatus.measures.scoring.null_placement import resample_count
from larvatus.pipeline.attack_release import attack_random, beside_declared, copies_alone, with_read_notes
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate, usual_seconds
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.engine_errors import in_main_thread, naming_method
from larvatus.pipeline.null_distributions import Nulls

NULL_STAGE = "null distributions"


def utility(
    data: Microdata, release: ReleaseLike, measures: MeasureLike | Sequence[MeasureLike] | None = None, *,
    analyses: AnalysisLike | Sequence[AnalysisLike] | None = None, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", paired: bool = True, domains: DomainLike | Sequence[DomainLike] = (),
    null_resamples: int = 0, progress: Progress | None = None,
) -> Scores:
    """Measure what analysts lose, by all measures unless some are named. For several copies, the mean loss is reported.

    `analyses` are analyses that users are known to run: an Analysis, a formula such as "FEDTAX ~ AGI", a table of settings, or
    a list of these. They are run on both files and compared in the last score, `analyses`.
    `domains` are parts of the file in which every measure is also computed: a column, a condition, or a column with quantiles,
    as text ("REGION", "AGE >= 65", "INCOME: 0.25, 0.5, 0.75") or as tables with `name`, `column`, `where`, `quantiles`.
    `paired=False` says that the rows of the file are no records of the original.
    `null_resamples` is the number of bootstrap resamples for the null distribution of each loss, e.g. 200 (default: none).

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> found = lv.utility(data, lv.mask(data, "data_shuffling"), ["moments"], analyses={"mean": ["net_assets"]})
        >>> [score.method for score in found]
        ['moments', 'analyses']
        >>> found.moments.relative_loss < 0.01
        True
    """
    check_microdata(data)
    methods, progress = all_of(Measure, measures), progress or default_progress()
    nulls = Nulls(methods, resample_count(null_resamples), attack_random)
    return run_measures(
        data, release, nulls, domains, analyses, pairing, row_order, progress, named=measures is not None, paired=paired)


def run_measures(
    data: Microdata, release: Any, nulls: Nulls, domains: Any, analyses: Any, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent, named: bool = True,
    paired: bool = True,
) -> Scores:
    """Measure a release by all measures, and by the analyses if there are any."""
    candidate = as_release(data, release, pairing, must_pair=any(m.paired for m in nulls.methods), row_order=row_order,
                           paired=paired)
    measured = MeasuredRelease(data, candidate, nulls, domains, analyses, named)
    kinds = [*(m.name() for m in nulls.methods), *measured.later]
    work = RunningWork(progress, DurationEstimate(usual_seconds(data.rows)), [kinds])
    found: list[MeasureOutcome] = []
    for i, kind in enumerate(kinds[: len(nulls.methods)]):
        work.waiting[0] = kinds[i + 1 :]
        with work.doing(kind, f"measuring: {kind}"):
            outcome = call_interruptibly(partial(measured.run, i), in_main_thread(data))
        found.append(replace(outcome, score=outcome.score and with_read_notes(outcome.score, candidate, release)))
    measured.check(found)
    for i, kind in enumerate(measured.later):
        work.waiting[0] = list(measured.later[i + 1 :])
        with work.doing(kind, kind):
            found = call_interruptibly(partial(measured.run_later, kind, found), in_main_thread(data))
    if measured.planned and found[-1].score is not None:
        found[-1] = replace(found[-1], score=with_read_notes(found[-1].score, candidate, release))
    return measured.scores(found)


@dataclass(frozen=True, slots=True)
class MeasureOutcome:
    """The score of a measure, or why it does not apply."""

    score: Score | None = None
    left_out: str = ""


class MeasuredRelease:
    """A release and its measures. They are independent of each other, so they can run in any order and anywhere.

    What is in `later` comes after them: null distributions, and the analyses that users are known to run.
    """

    def __init__(self, data: Microdata, candidate: Release, nulls: Nulls, domains: Any, analyses: Any, named: bool) -> None:
        self.data, self.candidate = comparable_keys(data, candidate)
        self.nulls, self.named = nulls, named
        self.planned = analyses_of(analyses)
        self.asked = domains_of(domains, self.data)
        self.later = (*([NULL_STAGE] if nulls.resamples else []), *([METHOD] if self.planned else []))

    @cached_property
    def _original(self) -> Microdata:
        return in_groups_of(self.data, self.candidate.data)

    @cached_property
    def _copies(self) -> list[tuple[str, Release, Release | None]]:
        return copies_alone(self.candidate, in_declared_groups(self.data, self.candidate), averaged=False)

    @cached_property
    def _inside(self) -> dict[str, list[DomainParts]]:
        return {copy: [split_by_domain(d, self.data, here) for d in self.asked] for copy, here, _ in self._copies}

    def run(self, place: int) -> MeasureOutcome:
        """Run one measure. A measure that was asked for by name raises an error if it does not apply."""
        method = self.nulls.methods[place]
        try:
            with naming_method(method):
                each = {
                    copy: _in_domains(method, self._inside[copy], beside_declared(
                        score_with_lost_columns(method, self._original, here, attack_random(method)),
                        score_with_lost_columns(method, self.data, beside, attack_random(method))
                        if beside is not None else None,
                    ))
                    for copy, here, beside in self._copies
                }
        except UtilityError as error:
            why = error.reason_for(method.name())
            if self.named:
                raise UtilityError(why, subject=method.name()) from None
            return MeasureOutcome(left_out=why)
        return MeasureOutcome(mean_over(each))

    def check(self, found: Sequence[MeasureOutcome]) -> None:
        """Raise an error if no measure applies and there are no analyses."""
        left_out = self._left_out(found)
        if left_out and not any(o.score for o in found) and not self.planned:
            raise left_out[0]

    def run_later(self, kind: str, found: Sequence[MeasureOutcome]) -> list[MeasureOutcome]:
        """The outcomes with null distributions, or with the analyses as the last one."""
        if kind == NULL_STAGE:
            scores = [o.score for o in found]
            placed = iter(self.nulls.beside(scores, self._original, self.candidate, current_progress()))
            return [MeasureOutcome(None if o.score is None else next(placed), o.left_out) for o in found]
        random = RecordRandom(stream_key(b"scores are not secret", METHOD))
        score = compare_analyses(self.data, self.candidate, self.planned, random, current_progress())
        return [*found, MeasureOutcome(score)]

    def scores(self, found: Sequence[MeasureOutcome]) -> Scores:
        """The scores of all measures that apply, from the outcomes in order."""
        scores = Scores([o.score for o in found if o.score is not None])
        scores.not_run = tuple(f"not measured, because it does not apply: {why}" for why in self._left_out(found))
        return scores

    def _left_out(self, found: Sequence[MeasureOutcome]) -> list[UtilityError]:
        pairs = zip(self.nulls.methods, found, strict=False)  # the analyses come last
        return [UtilityError(o.left_out, subject=m.name()) for m, o in pairs if o.left_out]


def _in_domains(method: Measure, domains: Sequence[DomainParts], score: Score) -> Score:
    """The score with the value of the measure in every part of every domain, or the reason why there is none."""
    rows: list[Row] = []
    notes = list(score.notes)
    for domain in domains:
        if domain.gone:
            named = ", ".join(domain.gone[:5]) + (f" and {len(domain.gone) - 5} more" if len(domain.gone) > 5 else "")
            notes.append(f"no record of {domain.title}: {named} is released, so nothing was measured there")
        try:
            rows += domain.score_parts(method, attack_random(method))
        except UtilityError as error:
            notes.append(f"not measured in the domain {domain.title}: {error.reason_for(method.name())}")
    return replace(score, by_domain=Rows.of(rows), notes=tuple(notes))
