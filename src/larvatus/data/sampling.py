"""A part of the records, drawn by record id: the same on every engine."""

from __future__ import annotations

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.microdata import Microdata


def take_share(data: Microdata, share: float, random: RecordRandom, purpose: str = "sample") -> Microdata:
    """About this share of the records, drawn by record id; all of them for a share of 1 or more."""
    if share >= 1:
        return data
    return data.take(lambda group, block: random.uniform(block.record, purpose=purpose)[0] < share, ())


def sample_records(data: Microdata, records: int, secret: bytes) -> Microdata:
    """About so many of the records, the same share of every sub-group in expectation; all where 0 are asked for, or more.

    Sub-groups of which no record is drawn are not there.
    """
    if not 0 < records < data.rows:
        return data
    return take_share(data, records / data.rows, RecordRandom(stream_key(secret, "sample")))
