"""A random sample of records, drawn by record id: the same on every engine."""

from __future__ import annotations

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.microdata import Microdata


def sample_records(data: Microdata, records: int, secret: bytes) -> Microdata:
    """About `records` of the records, with equal expected shares in all sub-groups (all records if 0, or if there are fewer).

    Sub-groups from which no record is drawn are absent.
    """
    if not 0 < records < data.rows:
        return data
    random = RecordRandom(stream_key(secret, "sample"))
    share = records / data.rows
    return data.take(lambda g, b: random.uniform(b.record, purpose="sample")[0] < share, ())
