"""What a release reveals without any masked column, and what it does not mask, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from larvatus.core.number_format import quote
from larvatus.data.exposure.singled_out import SINGLED_OUT, singled_out_in_words
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS, count_unchanged, unchanged_in_words
from larvatus.data.score import Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate


def singled_out_sentence(scores: Iterable[Score]) -> str:
    """The share of records that the unmasked columns alone single out, with these columns; empty if there are none."""
    return singled_out_in_words(s.details[SINGLED_OUT] for s in scores if SINGLED_OUT in s.details)


def unmasked_in_words(scores: Iterable[Score]) -> tuple[str, ...]:
    """Identification by the unmasked columns alone, then records and sub-groups that are not masked."""
    found = list(scores)
    first = singled_out_sentence(found)
    return (*((first,) if first else ()),
            *unchanged_in_words(s.details[UNCHANGED_RECORDS] for s in found if UNCHANGED_RECORDS in s.details))


def release_warnings(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """For the first screen of a report: identification by the unmasked columns, then what each release does not mask.

    If several releases leave records unchanged, the one with most of them speaks for all.
    """
    first = singled_out_sentence(s for c in candidates for s in c.scores)
    out = [first] if first else []
    tables = [(c.name, s.details[UNCHANGED_RECORDS]) for c in candidates for s in c.scores if UNCHANGED_RECORDS in s.details]
    some = [(count_unchanged(rows), name, rows) for name, rows in tables if count_unchanged(rows)]
    if some:
        _, name, rows = max(some, key=lambda found: found[0])
        where = f"In {quote(name)}, " if len(candidates) > 1 else ""
        sentences = unchanged_in_words([rows])
        out += [f"{where}{sentences[0]}", *sentences[1:]]
    return tuple(out)
