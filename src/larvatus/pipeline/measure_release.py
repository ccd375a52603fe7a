"""Losses of a release: every copy is measured, on the whole file and in every domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from larvatus.core.errors import UtilityError
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.accepted_types import MeasureLike, ReleaseLike
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Measure
from larvatus.data.copies import mean_over
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.pairing import as_release, in_declared_groups
from larvatus.data.score import Row, Rows, Score, Scores
from larvatus.measures.analyses.compare import compare_analyses
from larvatus.measures.analyses.spec import METHOD, AnalysisLike, analyses_of
from larvatus.measures.scoring.domains import DomainLike, DomainParts, domains_of, split_by_domain
from larvatus.measures.scoring.lost_columns import score_with_lost_columns
from larvatus.measures.scoring.null_placement import resample_count
from larvatus.pipeline.attack_release import attack_random, beside_declared, copies_alone, with_read_notes
from larvatus.pipeline.engine_errors import naming_method
from larvatus.pipeline.null_distributions import Nulls


def utility(
    data: Microdata, release: ReleaseLike, measures: MeasureLike | Sequence[MeasureLike] | None = None, *,
    analyses: AnalysisLike | Sequence[AnalysisLike] | None = None, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", domains: DomainLike | Sequence[DomainLike] = (),
    null_resamples: int = 0, progress: Progress = silent,
) -> Scores:
    """Measure what analysts lose, by all measures unless some are named. For several copies, the mean loss is reported.

    `analyses` are analyses that users are known to run: an Analysis, a formula such as "FEDTAX ~ AGI", a table of settings, or
    a list of these. They are run on both files and compared in the last score, `analyses`.
    `domains` are parts of the file in which every measure is also computed: a column, a condition, or a column with quantiles,
    as text ("REGION", "AGE >= 65", "INCOME: 0.25, 0.5, 0.75") or as tables with `name`, `column`, `where`, `quantiles`.
    `null_resamples` is the number of bootstrap resamples for the null distribution of each loss, e.g. 200 (default: none).
    """
    check_microdata(data)
    methods = all_of(Measure, measures)
    nulls = Nulls(methods, resample_count(null_resamples), attack_random)
    return run_measures(data, release, nulls, domains, analyses, pairing, row_order, progress, named=measures is not None)


def run_measures(
    data: Microdata, release: Any, nulls: Nulls, domains: Any, analyses: Any, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent, named: bool = True,
) -> Scores:
    methods, planned = nulls.methods, analyses_of(analyses)
    asked = domains_of(domains, data)
    candidate = as_release(data, release, pairing, must_pair=any(m.paired for m in methods), row_order=row_order)
    original, declared = in_groups_of(data, candidate.data), in_declared_groups(data, candidate)
    found: list[Score | None] = []
    left_out: list[UtilityError] = []
    copies = copies_alone(candidate, declared, averaged=False)
    inside = {copy: [split_by_domain(d, data, here) for d in asked] for copy, here, _ in copies}
    for i, method in enumerate(methods):
        progress(f"measuring: {method.name()}", i, len(methods))
        try:
            with naming_method(method):
                each = {
                    copy: _in_domains(method, inside[copy], beside_declared(
                        score_with_lost_columns(method, original, here, attack_random(method)),
                        score_with_lost_columns(method, data, beside, attack_random(method))
                        if beside is not None else None,
                    ))
                    for copy, here, beside in copies
                }
        except UtilityError as error:
            why = UtilityError(error.reason_for(method.name()), subject=method.name())
            if named:
                raise why from None
            left_out.append(why)
            found.append(None)
            continue
        found.append(with_read_notes(mean_over(each), candidate, release))
    if left_out and not any(found) and not planned:
        raise left_out[0]
    out = list(nulls.beside(found, original, candidate, progress))
    if planned:
        random = RecordRandom(stream_key(b"scores are not secret", METHOD))
        out.append(with_read_notes(compare_analyses(data, candidate, planned, random, progress), candidate, release))
    scores = Scores(out)
    scores.not_run = tuple(f"not measured, because it does not apply: {why}" for why in left_out)
    return scores


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
