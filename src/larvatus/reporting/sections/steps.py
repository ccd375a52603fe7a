"""The steps of a release, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.comparison.comparison import Candidate
from larvatus.core.number_format import count, exact_number, plural, words
from larvatus.reporting.page.blocks import Listing, Paragraph, ReportBlock

ELSEWHERE = "This release was masked outside larvatus; its steps are not known."
NOT_PAIRED = "Not paired: its rows are no records of the original. Attacks that need pairs were not run on it."
_MOST_VALUES = 12


def steps_section(candidate: Candidate) -> tuple[ReportBlock, ...]:
    """The steps of a release in order, and how many records and copies it has."""
    copies = (
        f", {plural(candidate.copies, 'copy', 'copies')}. Risk is that of the worst copy or of their average; loss is the mean"
        if candidate.copies > 1 else ""
    )
    size = Paragraph(f"{plural(candidate.records, 'record')}{copies}.", "quiet")
    if not candidate.steps:
        return (Paragraph(ELSEWHERE if candidate.paired else f"This file was made outside larvatus. {NOT_PAIRED}"), size)
    return (Listing(step_texts(candidate, candidate.steps), ordered=True), size)


def step_texts(candidate: Candidate, settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each step's own sentence, followed by its settings."""
    sentences = [*candidate.sentences, *[""] * len(settings)]
    return tuple(_step(s, said) for s, said in zip(settings, sentences, strict=False))


def _step(settings: Mapping[str, Any], sentence: str) -> str:
    shown = ", ".join(f"{words(k)} = {setting_text(k, v)}" for k, v in settings.items() if k != "method")
    named = words(str(settings.get("method", "step")))
    return f"{sentence} ({named}{': ' if shown else ''}{shown})".strip()


def setting_text(name: str, value: Any) -> str:
    """A setting's value; a list of record ids as its length."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return exact_number(value)
    if isinstance(value, Mapping):
        return _joined([f"{k} {setting_text(name, v)}" for k, v in value.items()], "; ")
    if isinstance(value, list | tuple):
        if name == "where":
            return f"{plural(len(value), 'record')} listed by id"
        return _joined([setting_text(name, v) for v in value], "; ")
    return words(value) if isinstance(value, str) and name != "where" else str(value)


def _joined(parts: Sequence[str], by: str) -> str:
    more = f"{by}… ({count(len(parts))} in total)" if len(parts) > _MOST_VALUES else ""
    return by.join(parts[:_MOST_VALUES]) + more
