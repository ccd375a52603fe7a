"""What was assumed: the intruder and the data in one table."""

from __future__ import annotations

from larvatus.core.number_format import count, list_names, plural
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.page.blocks import Paragraph, ReportTable, Story

_TITLE = "What was assumed"
_MOST = 20


def assumptions_story(subject: Subject) -> Story:
    """One table: what the intruder has, wants and knows, and which columns are masked."""
    about = subject.comparison.about
    known, released = about.intruder_knows, dict.fromkeys((*about.confidential, *about.non_confidential, *about.sub_groups))
    whole = bool(released) and set(released) <= set(known)
    if not known:
        finding = "What the intruder knows is not stated."
    elif whole:
        finding = "The intruder knows every released column of every person: the worst case."
    else:
        finding = f"The intruder knows {count(len(known))} of {plural(len(released), 'released column')} of every person."
    knows = "all released columns" if whole else list_names(known, _MOST) if known else "not stated"
    weight = (about.weight,) if about.weight else ()
    rows = [
        ("The intruder has", "the released file" + (" in every copy" if any(c.copies > 1 for c in subject.candidates) else "")),
        ("The intruder wants", "to find the record of a person, or to learn a confidential value"),
        ("Known for every target", f"{knows} ({plural(len(known), 'column')})" if known else knows),
        *([("Also assumed", about.intruder)] if about.intruder else []),
        ("Masked columns", list_names(about.confidential, _MOST)),
        ("Released unmasked", list_names((*about.non_confidential, *about.sub_groups, *weight), _MOST)),
        ("Masked and scored within", list_names(about.sub_groups, _MOST) if about.sub_groups else "the whole file"),
        ("Records", count(about.records)),
    ]
    table = ReportTable("The intruder and the data", ("Assumption", "In this report"), tuple(rows), frozenset({0, 1}))
    beside = (
        Paragraph("An intruder who knows less succeeds less often. An intruder who knows more, or who uses another attack, may "
                  "succeed more often."),
        Paragraph("A confidential column that is declared non-confidential is released unmasked; check the list."),
    )
    return Story(_TITLE, finding, (table,), beside)
