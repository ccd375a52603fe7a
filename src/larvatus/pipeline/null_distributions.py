"""Null distributions of measures: records of the original, resampled with replacement and scored as if they were releases.

If a release has fewer records than the original, the resamples are as small as the release. For a very large file, original
and release are first reduced to the same sample: a small file has a larger loss by chance alone, so a null distribution from a
sample would flatter a loss computed on the whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from larvatus.core.errors import LarvatusError, MachineError
from larvatus.core.progress import Clock, Progress
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.verbs import take_share
from larvatus.engines._resampling import in_memory, resample_records
from larvatus.measures.scoring.null_placement import place_in_null, without_null

MOST_ROWS = 100_000
UNPAIRED = "this measure compares record by record, and a resample is not paired with the original"
Randoms = Callable[[Measure], RecordRandom]
NullScores = list[list[float] | str]


@dataclass(slots=True)
class Nulls:
    """Null distributions of some measures on one original, computed once for all releases of it."""

    methods: Sequence[Measure]
    resamples: int
    randoms: Randoms
    known: dict[tuple[object, ...], NullScores] = field(default_factory=dict)

    def beside(self, scores: Sequence[Score | None], original: Microdata, release: Release, progress: Progress) -> list[Score]:
        """The scores of a release with their null distributions, where the measure applies; `original` is in its sub-groups."""
        if not self.resamples:
            return [s for s in scores if s is not None]
        names = [n for n in original.confidential if _same_kind(n, original, release.data)]
        key = (tuple(names), original.groups.labels, release.data.rows)
        whole, copies, cut = original.with_confidential(names), release.copies, original.rows > MOST_ROWS
        if cut:
            chosen, rate = RecordRandom(stream_key(b"scores are not secret", "null")), MOST_ROWS / original.rows
            whole, *part = (take_share(d, rate, chosen, "kept for the null") for d in (whole, *copies))
            copies = tuple(part)
        rows = copies[0].rows
        held = in_memory(whole, whole.released)
        if key not in self.known:
            self.known[key] = self._drawn(held, rows, progress)
        theirs = [replace(release, copies=(in_memory(c, c.released),)) for c in copies] if cut else []
        out = []
        for method, score, null in zip(self.methods, scores, self.known[key], strict=True):
            if score is None:
                continue
            if isinstance(null, str):
                out.append(without_null(score, null))
                continue
            again = [method.score(held, r, self.randoms(method)).value for r in theirs]
            out.append(place_in_null(score, null, rows, sum(again) / len(again) if cut else None))
        return out

    def _drawn(self, held: Microdata, rows: int, progress: Progress) -> NullScores:
        found: NullScores = [UNPAIRED if m.paired else [] for m in self.methods]
        clock = Clock(self.resamples)
        for k in range(self.resamples):
            progress(f"null distribution{clock.time_left()}", k, self.resamples)
            random = RecordRandom(stream_key(b"scores are not secret", "null", str(k)))
            drawn = Release("drawn again", (resample_records(held, rows, random),), is_paired=False)
            for i, method in enumerate(self.methods):
                values = found[i]
                if isinstance(values, str):
                    continue
                try:
                    values.append(method.score(held, drawn, self.randoms(method)).value)
                except MachineError:
                    raise
                except LarvatusError as error:
                    found[i] = error.reason_for(method.name())
            clock.done()
        return found


def _same_kind(name: str, original: Microdata, released: Microdata) -> bool:
    there = released.table.columns
    return name in released.confidential and there[name].kind == original.table.columns[name].kind
