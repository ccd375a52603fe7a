"""The first screen of the public edition: what the file is, what is exact, what is not, and how to analyse it.

It says nothing that the sections below do not say; losses are rounded, and nothing is said about a file of few records.
"""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.release_sentences import capitalise, join_words, property_name
from larvatus.comparison.unmasked_columns import other_columns_changed
from larvatus.core.number_format import EXACT, count, finite_number, list_names, plural
from larvatus.data.score import Score
from larvatus.reporting.page.blocks import FactCard
from larvatus.reporting.sections.how_to_analyse import advice_in_short
from larvatus.reporting.sections.public_description import GENERATED
from larvatus.reporting.sections.public_losses import SMALLEST, rounded_text, unmasked_columns

_MOST = 8
_NEARLY = 0.01
_ANALYSE, _LOSSES = "How to analyse the file", "What analysts lose"
_PRESERVED = "What is preserved"


def public_facts(candidate: Candidate, about: About, place: Mapping[str, str]) -> tuple[FactCard, ...]:
    """Four cards, each with a link to the section that says more."""
    known = [s for (s,) in by_method([candidate], "loss").values()
             if s and finite_number(s.value) is not None and candidate.records >= SMALLEST]
    analyse = tuple(advice_in_short(candidate, about))
    return (
        FactCard("What the file is", tuple(_file(candidate, about)), "open", place.get("Codebook", ""), "Codebook"),
        FactCard("What is exact", tuple(_exact(known, candidate, about)), "good", place.get(_PRESERVED, ""), _PRESERVED),
        FactCard("What is not exact", tuple(_changed(known)), "bad", place.get(_LOSSES, ""), _LOSSES),
        FactCard("How to analyse it", analyse, "open", place.get(_ANALYSE, ""), "Code in Python and R"),
    )


def _file(candidate: Candidate, about: About) -> list[str]:
    released = len(about.confidential) + len(unmasked_columns(about))
    copies = f" in {plural(candidate.copies, 'copy', 'copies')}" if candidate.copies > 1 else ""
    first = f"{count(candidate.records)} records and {plural(released, 'column')}{copies}."
    names = tuple(dict.fromkeys((*about.confidential, *other_columns_changed([candidate], about))))
    if not candidate.paired:
        return [first, GENERATED]
    masked = f"{plural(len(names), 'masked column')}: {list_names(names, _MOST)}."
    done = [said for said in candidate.sentences if said] if candidate.publishable else []
    return [first, masked, *(done or ["The confidential columns were masked; the method is not described here."])]


def _exact(known: list[Score], candidate: Candidate, about: About) -> list[str]:
    changed = other_columns_changed([candidate], about)
    unmasked = tuple(n for n in unmasked_columns(about) if n not in changed)
    items = [f"Columns released unchanged: {list_names(unmasked, _MOST)}."] if unmasked and candidate.paired else []
    exact = [property_name(s.method) for s in known if abs(s.value) < EXACT]
    items += [f"Equal to the collected data, up to rounding: {join_words(exact)}."] if exact else []
    return items or ["Nothing that was measured is exact."]


def _changed(known: list[Score]) -> list[str]:
    """Order and words follow from the rounded losses alone: finer ones would say more than the figures."""
    moved = sorted((s for s in known if s.value >= EXACT), key=lambda s: (-round(s.value, 2), s.method))
    large = [s for s in moved if round(s.value, 2) > _NEARLY]
    nearly = [property_name(s.method) for s in moved if round(s.value, 2) <= _NEARLY]
    items = [f"{capitalise(property_name(s.method))}: changed (loss {rounded_text(s.value)})." for s in large[:_MOST]]
    rest = len(large) - _MOST
    more = [f"{plural(rest, 'more property', 'more properties')} did not change more than these."] if rest > 0 else []
    little = [f"Nearly unchanged (loss at most {_NEARLY}): {join_words(nearly)}."] if nearly else []
    scale = ["A loss of 0 means no change."] if items else []
    return [*items, *more, *little, *scale, "What was not measured may have changed more."]
