"""Differences between the joint distribution functions of two files: all columns, single columns, pairs, and sub-groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_groups
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows, Score
from larvatus.measures.joint_ecdf.points import axes_of, comparable, points_of

if TYPE_CHECKING:
    from larvatus.stats.ranks.joint_ecdf import JointGap

MOST_RECORDS, _MOST_PAIRS, SPARSE = 2_000_000, 60, 8


@dataclass(frozen=True, slots=True)
class JointDistributions:
    """Differences between the distribution functions, over the records of both files."""

    names: tuple[str, ...]
    joint: JointGap
    records: int
    points: int
    variables: tuple[tuple[str, JointGap], ...]
    pairs: tuple[tuple[str, str, JointGap], ...]
    groups: tuple[tuple[str, int, JointGap], ...]
    notes: tuple[str, ...]
    sampled: bool

    @classmethod
    def of(
        cls, original: Microdata, released: Microdata, columns: Sequence[str] | None, most: int, random: RecordRandom, by: str
    ) -> JointDistributions:
        """Compare two files; with three or more columns, on a sample of about `most` records of each file."""
        from larvatus.stats.ranks.joint_ecdf import RankedPoints

        chosen = comparable(original, released, columns, by)
        numbers = original.numeric(chosen)
        used = chosen if columns is not None or not numbers else numbers
        axes, many = axes_of(original, released, used)
        if not axes:
            raise UtilityError(f"{many[0]!r} has too many levels for indicators. Use other columns (columns).", subject=by)
        files, largest = (original, released), max(original.rows, released.rows)
        share = min(1.0, MOST_RECORDS / max(largest, 1))
        thin = min(1.0, most / max(largest, 1)) if len(axes) > 2 else share
        points = [points_of(d, axes, random, share, draws=thin < share) for d in files]
        fewer = [p.thinned(thin) if thin < share else p for p in points]
        ranked = RankedPoints.of(points[0].whole, points[1].whole)
        del points  # the whole files are not needed beside their ranks
        every = range(len(axes))
        together = ranked if thin >= share else RankedPoints.of(fewer[0].whole, fewer[1].whole)
        joint = together.gap(every)
        shared = list(common_groups(original, released))
        one = len(original.groups) == len(released.groups) == 1  # then its difference is that of the files
        pairs = list(combinations(every, 2))
        left_out = [*many, *(n for n in chosen if n not in used)]
        notes = [
            *([f"computed on a random sample of about {fewer[0].rows:,} of {original.rows:,} records"]
              if min(thin, share) < 1 else []),
            *([f"{len(axes)} columns together: hardly any record lies below another in all of them, so the joint distribution "
               "function has little power; see the pairs, or use fewer columns"] if len(axes) >= SPARSE else []),
            *([f"without {', '.join(left_out)}: categorical. List columns with few levels in columns to include them"]
              if left_out else []),
            *([f"the first {_MOST_PAIRS} of {len(pairs)} pairs"] if len(pairs) > _MOST_PAIRS else []),
        ]
        return cls(
            tuple(a.name for a in axes), joint, original.rows, sum(p.rows for p in fewer),
            tuple((axes[j].name, ranked.gap([j])) for j in every),
            tuple((axes[i].name, axes[j].name, ranked.gap([i, j])) for i, j in pairs[:_MOST_PAIRS]),
            tuple(
                (name, original.groups.sizes[a],
                 joint if one else RankedPoints.of(fewer[0].groups[a], fewer[1].groups[b]).gap(every))
                for name, a, b in shared
            ),
            tuple(notes), min(thin, share) < 1,
        )

    def score(self, method: str, field: str, meaning: str, settings: dict[str, object]) -> Score:
        """One of the two statistics as a loss, with both in the details."""
        def of(gap: JointGap) -> float:
            return float(getattr(gap, field))

        statistics: list[Row] = [
            {"statistic": "U_m", "value": self.joint.largest}, {"statistic": "U_s", "value": self.joint.mean_square},
            {"statistic": "N·U_s", "value": self.joint.mean_square * self.points},
        ]
        variables: list[Row] = [{"variable": n, "loss": of(g)} for n, g in self.variables]
        pairs: list[Row] = [{"first": a, "second": b, "loss": of(g)} for a, b, g in self.pairs]
        groups: list[Row] = [{"sub_group": n, "records": r, "value": of(g)} for n, r, g in self.groups]
        return Score(
            method, "loss", of(self.joint), meaning, settings, by_variable=Rows.of(variables), by_pair=Rows.of(pairs),
            by_group=Rows.of(groups), details={"statistics": Rows.of(statistics)}, notes=self.notes, sampled=self.sampled,
        )
