"""A comparison in which levels and sub-groups are shown by their value labels, for reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from larvatus.data.labelling.level_labels import LevelLabels
from larvatus.data.score import Rows, Score, Scores

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate, Comparison


def with_level_labels(comparison: Comparison) -> Comparison:
    """The same comparison with labels; the comparison itself if the source has none."""
    labels = LevelLabels(comparison.about.value_labels)
    if not labels:
        return comparison
    sizes = tuple((labels.in_text(name), size) for name, size in comparison.about.group_sizes)
    return replace(
        comparison, candidates=tuple(_candidate(c, labels) for c in comparison.candidates),
        about=replace(comparison.about, group_sizes=sizes),
    )


def _candidate(candidate: Candidate, labels: LevelLabels) -> Candidate:
    notes = tuple(replace(n, text=labels.in_text(n.text)) for n in candidate.notes)
    book = Rows.of({**r, "how": labels.in_text(str(r.get("how", "")))} for r in candidate.codebook)
    return replace(candidate, notes=notes, codebook=book, scores=Scores(_score(s, labels) for s in candidate.scores))


def _score(score: Score, labels: LevelLabels) -> Score:
    def shown(rows: Rows) -> Rows:
        return Rows.of(labels.in_row(r) for r in rows)

    return replace(
        score, by_group=shown(score.by_group), by_variable=shown(score.by_variable), by_pair=shown(score.by_pair),
        by_domain=shown(score.by_domain), details={n: shown(rows) for n, rows in score.details.items()},
        notes=tuple(map(labels.in_text, score.notes)),
    )
