"""Which records attacks find most easily: the list that a second walk masks more strongly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.score import Score


def most_at_risk(scores: Sequence[Score], share: float) -> tuple[int, ...]:
    """Record ids by how far an attack gets with them, at most a share of all, none that no attack found."""
    if not 0 < share <= 1:
        raise RiskError(f"at_risk: share needs a value above 0 and up to 1, got {share!r}.")
    found = [s for s in scores if s.kind == "risk" and s.by_record is not None and s.records is not None]
    if not found:
        raise RiskError("at_risk: no attack here says how far it gets with each record. Run one that links records, such as "
                        "nearest_record.")
    record = np.unique(np.concatenate([s.records for s in found if s.records is not None]))
    best, total = np.zeros(len(record)), np.zeros(len(record))
    for s in found:
        assert s.by_record is not None
        assert s.records is not None
        place = np.searchsorted(record, s.records)
        credit = np.nan_to_num(s.by_record)
        best[place] = np.maximum(best[place], credit)
        total[place] += credit
    words = RecordRandom(stream_key(b"which of equal risks comes first is no secret")).words(record)[0]
    order = np.lexsort((words, -total, -best))[: math.ceil(round(share * len(record), 9))]
    ids = tuple(int(r) for r in record[order[best[order] > 0]])
    if not ids:
        raise RiskError("at_risk: no attack found any record, so there is none to list.")
    return ids
