"""What was done to the public's data, and what its users should know: sentences without a confidential figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from larvatus.comparison.comparison import About, Candidate
from larvatus.core.number_format import count, list_names, words
from larvatus.documents.setting_phrases import setting_phrases
from larvatus.reporting.page.blocks import Listing, Paragraph, Section
from larvatus.reporting.sections.public_notes import public_note

GENERATED = "The rows of the file were generated: no row is the record of a person. The generator is not described here."
_NOBODY = "A row describes nobody. Use the file for statistics, not for statements on single rows."
SETTLED = "sub_groups"  # the step that notes on small sub-groups name


def done_section(candidate: Candidate, about: About) -> Section:
    """The steps in the public's words, with the settings that may be published."""
    steps = [{k: v for k, v in s.items() if k != "where"} for s in candidate.publishable]
    if not candidate.paired:
        return Section("What was done", (Paragraph(GENERATED),))
    if not steps:
        return Section("What was done", (Paragraph("The confidential columns were masked. The method is not described here."),))
    limits = [_limits(s, about) for s in candidate.steps]
    texts = [f"{text}{limit}" for text, limit in zip_longest(_step_texts(candidate, steps), limits[: len(steps)], fillvalue="")]
    return Section("What was done", (Listing(tuple(texts), ordered=True),))


def _step_texts(candidate: Candidate, steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each step's own sentence, followed by its name and the settings that may be published."""
    out = []
    for settings, sentence in zip(steps, (*candidate.sentences, *[""] * len(steps)), strict=False):
        method = str(settings.get("method", "step"))
        phrases = "; ".join(setting_phrases(method, {k: v for k, v in settings.items() if k != "method"}))
        out.append(f"{sentence} ({words(method)}{': ' if phrases else ''}{phrases})".strip())
    return out


def _limits(settings: Mapping[str, Any], about: About) -> str:
    """Whether a step was applied to some columns or records only; never which records."""
    named = settings.get("columns") or ()
    limits = [f"to some columns only: {list_names(named)}"] if named and set(named) != set(about.confidential) else []
    limits += ["to some of the records only"] if settings.get("where") is not None else []
    return f" This was applied {', and '.join(limits)}." if limits else ""


def public_limitations(candidate: Candidate, about: About) -> Section:
    """What the release does not promise, and the notes that are public."""
    items = [_NOBODY] if not candidate.paired else [
        "Every value in a masked column is a collected value, but it may appear in a different record."
        if candidate.permutes else "Values of masked columns may differ from the collected ones.",
    ]
    items += [
        "The losses show how much the measured statistics changed. Other statistics may have changed more.",
    ]
    if candidate.copies > 1:
        items.append(
            f"The release has {count(candidate.copies)} copies of the same records with different masked values. Analyse each "
            "copy and combine the results as described under “How to analyse the file”. One copy alone suggests more precision "
            "than there is."
        )
    items += [_regard(candidate, about)] if about.sub_groups and candidate.paired else []
    items += [public_note(n) for n in candidate.notes if n.public and n.step != SETTLED]
    return Section("Known limitations", (Listing(tuple(dict.fromkeys(items))),))


def _regard(candidate: Candidate, about: About) -> str:
    """Within which sub-groups masking was done; small ones may have been pooled or left out."""
    names = list_names(about.sub_groups)
    if not candidate.steps:
        return f"It is not known here whether masking was done within sub-groups of {names}."
    notes = [n for n in candidate.notes if n.public and n.step == SETTLED]
    settled = [public_note(replace(n, step="")) for n in notes]
    whole = all(s.get("scope") == "file" for s in candidate.steps)
    said = [f"masking was done over the whole file, not within sub-groups of {names}"] if whole else []
    said += [] if whole or any(n.code == "pooled" for n in notes) else [f"masking was done within sub-groups of {names}"]
    first = ". ".join(f"{s[:1].upper()}{s[1:]}" for s in (*said, *settled))
    return f"{first}. Other subsets of the records were not checked; results there may be less accurate."
