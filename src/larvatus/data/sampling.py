"""A random sample of records, drawn by record id: the same on every engine."""

from __future__ import annotations

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import take_rows


def take_share(data: Microdata, share: float, random: RecordRandom, purpose: str = "sample") -> Microdata:
    """About this share of the records, drawn by record id; all of them for a share of 1 or more."""
    if share >= 1:
        return data
    return take_rows(data, lambda group, block: random.uniform(block.record, purpose=purpose)[0] < share, ())


def sample_records(data: Microdata, records: int, secret: bytes) -> Microdata:
    """About `records` of the records, with equal expected shares in all sub-groups (all records if 0, or if there are fewer).

    Sub-groups from which no record is drawn are absent.
    """
    if not 0 < records < data.rows:
        return data
    return take_share(data, records / data.rows, RecordRandom(stream_key(secret, "sample")))
