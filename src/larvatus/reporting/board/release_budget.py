"""What each release would make of the budget of its source: all releases that are out, and this one."""

from __future__ import annotations

from larvatus.core.number_format import NONE, plural, quote, round_up, share, share_at_most
from larvatus.data.budgets.release_budget import ReleaseBudget
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.page.blocks import NotesList, Paragraph, ReportBlock, ReportTable, Story

_COLUMNS = ("Release", "Bits alone", "Bits added", "Total bits", "Links, bound", "Links, forecast", "Bound by")
_NOTE = ("Bits per record about who is who, beyond what the unmasked columns tell. The bound on links is for an intruder who "
         "knows all original records and is told which rows of the releases belong together. The forecast is for one who "
         "knows one record, if the columns were normal.")


def budget_story(subject: Subject) -> Story | None:
    """The total with each release; None if the study has no budget."""
    found = [(h.name, total) for h in subject.in_order if (total := subject.candidate(h).budget) is not None]
    if not found:
        return None
    rows = tuple((name, *_figures(total)) for name, total in found)
    table = ReportTable("The budget of the source with each release", _COLUMNS, rows, frozenset({0, 6}), _NOTE)
    name, first = found[0]
    earlier = len(first.parts) - 1
    before = f"Together with {plural(earlier, 'earlier release')}, " if earlier else "As the first release of its source, "
    finding = f"{before}{quote(name)} tells at most {round_up(first.bits, 2):.2f} bits per record about who is who."
    notes = tuple(dict.fromkeys(("information", note) for _, t in found for note in t.notes))
    notes += (("information", f"All releases together: {first.privacy.sentence()}"),) if first.privacy else ()
    beside: tuple[ReportBlock, ...] = (NotesList(notes),) if notes else ()
    return Story("What all releases tell together", finding, (table,), (
        Paragraph("Information about a record adds up over releases, also if each of them is safe alone."),), beside)


def _figures(total: ReleaseBudget) -> tuple[str, ...]:
    """The row of a release; bounds are rounded up."""
    last = total.parts[-1]
    bits = (f"{round_up(b, 2):.2f}" for b in (last.alone, last.added, total.bits))
    links = NONE if total.links is None else share_at_most(total.links)
    return *bits, links, NONE if total.forecast is None else share(total.forecast), last.proof
