"""The public edition: what may be published with the release. Each piece is included explicitly; nothing else can appear.

It shows no risk, no note that is not public, no figure of the original data, and no sub-group of fewer than ten records.
It omits the name of the release, which may contain unpublished settings. Losses are rounded: an exact loss together with
the released figure would reveal the original figure.
"""

from __future__ import annotations

from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.unmasked_columns import other_columns_changed
from larvatus.reporting.page.blocks import FactCards, Report
from larvatus.reporting.sections.codebook import codebook_section
from larvatus.reporting.sections.how_to_analyse import how_to_analyse
from larvatus.reporting.sections.preservation import preservation_items
from larvatus.reporting.sections.public_description import done_section, public_limitations
from larvatus.reporting.sections.public_facts import public_facts
from larvatus.reporting.sections.public_losses import SMALLEST, public_losses, rounded_text, unmasked_columns


def public(candidate: Candidate, about: About, version: str) -> Report:
    """The report on one release for its users."""
    changed = other_columns_changed([candidate], about)
    as_they_are = tuple(n for n in unmasked_columns(about) if n not in changed) if candidate.paired else ()
    kept = preservation_items(candidate, as_they_are, rounded_text) if candidate.records >= SMALLEST else None
    sections = (
        done_section(candidate, about), *([kept] if kept else []), how_to_analyse(candidate, about),
        public_losses(candidate, about), public_limitations(candidate, about), codebook_section(candidate, about),
    )
    place = {section.title: f"#s{i}" for i, section in enumerate(sections, 1)}
    closing = f"Made with larvatus {version}."
    opening = (FactCards(public_facts(candidate, about, place)),)
    return Report("How these data were protected, and how to use them", "public", opening, sections, closing, wide=True)
