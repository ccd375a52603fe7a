"""What the key variables reveal, before any attack: risk by key, sets of keys that single out records, before and after."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline
from larvatus.comparison.key_figures import KEY_RISK, key_sentence
from larvatus.core.number_format import cell_text, finite_number, interval_text, list_names, plural, quote, share
from larvatus.data.score import Row, Score
from larvatus.reporting.figures.dot_plot import draw_dots
from larvatus.reporting.page.blocks import Figure, Fold, Paragraph, ReportBlock, ReportTable, Section, Story
from larvatus.reporting.page.chart_rows import FEW, Lane, Mark

_TITLE = "What the keys give away"
_MOST_LANES = 20
_ABOUT = (
    "The intruder knows the keys of everyone in the population, but not who is in the file. The risk of a record is the "
    "expected value of 1 / F, where F is the number of persons with its keys."
)


def keys_story(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Story | None:
    """The finding on keys with the picture of risk by key, before the attacks; None if key risk was not estimated."""
    found = [(h, s) for h, c in zip(heads, candidates, strict=True) for s in c.scores if s.method == KEY_RISK]
    if not found:
        return None
    few = found[:FEW]
    pictures = _picture(few, "without_key", "reduction", "Risk by key",
                        "How much lower the mean risk would be without each key.", "reduction of the mean risk")
    return Story(_TITLE, _finding(found), (*pictures, _releases(few)), (Paragraph(_ABOUT, "quiet"),))


def _finding(found: Sequence[tuple[Headline, Score]]) -> str:
    """The sentence on the release with the highest risk, which is named if the risks differ."""
    names = [str(r["variable"]) for r in found[0][1].details.get("without_key", ())]
    worst, score = max(found, key=lambda pair: pair[1].value)
    said = key_sentence([score])
    if not said:
        return f"The keys{f' ({list_names(names)})' if names else ''} identify few records."
    if all(s.value == score.value for _, s in found):
        return said
    return f"In {quote(worst.name)}, {said[0].lower()}{said[1:]}"


def keys_section(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Section | None:
    """The keys of every release on which key risk was estimated; None if it was not."""
    found = [(h, s) for h, c in zip(heads, candidates, strict=True) for s in c.scores if s.method == KEY_RISK]
    if not found:
        return None
    few = found[:FEW]
    blocks: list[ReportBlock] = [Paragraph(_finding(found)), Paragraph(_ABOUT, "quiet"), _releases(found)]
    blocks += _picture(few, "without_key", "reduction", "Risk by key",
                       "How much lower the mean risk would be without each key.", "reduction of the mean risk")
    blocks += _picture(few, "suda_sets", "share", "Sets of keys that single out records",
                       "Share of records that are alone in a set of keys and in no part of it. No person is named.",
                       "share of records")
    blocks += [_changes(h, s, len(found) > 1) for h, s in few if "key_changes" in s.details]
    return Section("Keys", tuple(blocks))


def _releases(found: Sequence[tuple[Headline, Score]]) -> ReportTable:
    """One row for the original, if steps changed keys, and one for each release."""
    rows = []
    before = next((s.details["key_stages"][0] for _, s in found if "key_stages" in s.details), None)
    if before is not None:
        ends = interval_text(before["low"], before["high"])
        rows.append(("Original", share(before["mean risk"]), ends, cell_text(before["re-identifications"]),
                     cell_text(before["sample uniques"]), cell_text(before["smallest class"])))
    for head, score in found:
        figures = {str(r["figure"]): r["value"] for r in score.details.get("key_summary", ())}
        low, high = score.interval or (score.value, score.value)
        rows.append((head.name, share(score.value), interval_text(low, high),
                     cell_text(figures.get("expected re-identifications")), cell_text(figures.get("sample uniques")),
                     cell_text(figures.get("smallest class"))))
    columns = ("Release", "Mean risk", "95 % interval", "Expected re-identifications", "Sample uniques", "Smallest class")
    return ReportTable("Risk by keys", columns, tuple(rows))


def _picture(
    found: Sequence[tuple[Headline, Score]], table: str, column: str, title: str, sentence: str, named: str
) -> list[ReportBlock]:
    """One lane per row of a table of the score, the largest first; one panel per release."""
    lanes: dict[str, list[Mark | None]] = {}
    for i, (_, score) in enumerate(found):
        for row in score.details.get(table, ()):
            value = finite_number(row[column])
            if value is not None:
                lanes.setdefault(_lane_name(row), [None] * len(found))[i] = Mark(max(value, 0.0))
    shown = sorted((Lane(n, tuple(marks)) for n, marks in lanes.items()), key=lambda lane: -lane.worst)[:_MOST_LANES]
    if not shown or shown[0].worst <= 0:
        return []
    return [Figure(title, sentence, draw_dots(title, sentence, [h.name for h, _ in found], shown, "risk", named))]


def _lane_name(row: Row) -> str:
    return str(row["variable"] if "variable" in row else row["keys"])


def _changes(head: Headline, score: Score, several: bool) -> ReportBlock:
    rows = tuple(
        (str(r["variable"]), *(cell_text(r[n]) for n in ("cells", "suppressed", "recoded", "values before", "values after")))
        for r in score.details["key_changes"]
    )
    columns = ("Key", "Cells", "Suppressed", "Recoded", "Values before", "Values after")
    where = f" in {quote(head.name)}" if several else ""
    table = ReportTable(f"Cells of keys that were changed{where}", columns, rows)
    return Fold(f"Changed cells of {plural(len(rows), 'key')}{where}", (table,)) if several else table

