"""What a release preserves, for the public: no figure of the original, and rounded losses."""

from __future__ import annotations

from collections.abc import Callable

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.release_sentences import property_name
from larvatus.core.number_format import EXACT, finite_number, list_names
from larvatus.measures.analyses.spec import METHOD
from larvatus.reporting.page.blocks import Listing, Paragraph, Section

_CLOSE = 0.05


def preservation_items(candidate: Candidate, as_they_are: tuple[str, ...], rounded: Callable[[float | None], str]) -> Section:
    """One item each for unchanged, nearly unchanged and changed properties, if there are any."""
    scores = [s for n,
              (s,) in by_method([candidate], "loss").items() if s and n != METHOD and finite_number(s.value) is not None]
    exact = [property_name(s.method) for s in scores if abs(s.value) < EXACT]
    nearly = [f"{property_name(s.method)} ({rounded(s.value)})" for s in scores if EXACT <= s.value < _CLOSE]
    changed = [f"{property_name(s.method)} ({rounded(s.value)})" for s in sorted(scores, key=lambda s: -s.value)
               if s.value >= _CLOSE]
    items = [f"Columns released unchanged: {list_names(as_they_are)}."] if as_they_are else []
    items += [f"Equal to the collected data up to rounding: {list_names(exact)}."] if exact else []
    items += [f"Close to the collected data (loss in brackets): {list_names(nearly)}."] if nearly else []
    by = " by masking" if candidate.paired else ""
    items += [f"Changed{by} (loss in brackets): {list_names(changed)}."] if changed else []
    title = "What is preserved"
    if not items:
        return Section(title, (Paragraph("What the release preserves was not measured."),))
    return Section(title, (Listing(tuple(items)),))
