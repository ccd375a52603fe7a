"""How far rank correlations moved, pair by pair, wherever a masked column takes part (001 §4)."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups, common_numbers, common_terms
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.pairs import by_variable, in_groups, pair_rows
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score, mean_of
from larvatus.stats.gaussian import Moments


class RankCorrelation(Measure):
    """Compare Spearman correlations among confidential columns and between them and non-confidential ones.

    The loss of a pair is the absolute difference; the value is the mean over pairs, with ranks over the whole file. In
    sub-groups ranks are those within the sub-group. Ties share their mean rank. A column is ranked over all its present
    values; a pair is compared over the records that have both.

    Parameters: none.
    """

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        before, after, terms = common_terms(original, release.data)
        labels = (*names, *(t.strip().removeprefix("term ") for t in terms))
        columns = [*names, *terms]
        whole = [Moments.total(_spearman(data.ungrouped(), columns)).correlation for data in (before, after)]
        rows = pair_rows(labels, len(names), *whole)
        inside = [[m.correlation for m in _spearman(data, columns)] for data in (before, after)]
        groups, worst = in_groups(labels, len(names), [
            (name, original.groups.sizes[a], inside[0][a], inside[1][b])
            for name, a, b in common_groups(original, release.data)
        ])
        return Score(
            "rank_correlation", "loss", mean_of(rows), "mean absolute change of rank correlations over pairs",
            self.settings(), by_pair=Rows.of(rows), by_group=groups, by_variable=by_variable(labels, rows),
            details={"sub_group_pairs": worst} if len(worst) else {},
        )


def _spearman(data: Microdata, columns: Sequence[str]) -> list[Moments]:
    ranks = {f" rank {c}": c for c in columns}
    ranked = data.ranks(ranks)
    return ranked.reduce(list(ranks), lambda g, b: Moments.of(b.matrix(list(ranks))), Moments.merge)
