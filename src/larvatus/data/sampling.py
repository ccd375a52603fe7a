"""A part of the records to explore on, drawn by record id: the same on every engine."""

from __future__ import annotations

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.microdata import Microdata


def sample_records(data: Microdata, records: int, secret: bytes) -> Microdata:
    """About so many of the records, the same share of every sub-group in expectation; all where 0 are asked for, or more.

    Sub-groups of which no record is drawn are not there.
    """
    if not 0 < records < data.rows:
        return data
    random = RecordRandom(stream_key(secret, "sample"))
    share = records / data.rows
    return data.take(lambda g, b: random.uniform(b.record, purpose="sample")[0] < share, ())
