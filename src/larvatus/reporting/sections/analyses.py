"""The named analyses: results from the original and from each release, as a figure, a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline
from larvatus.core.number_format import NONE, SPACE, count, finite_number, loss, minus, plural, quote, words
from larvatus.data.score import Row, Rows, Score
from larvatus.measures.analyses.display import side_by_side
from larvatus.measures.analyses.spec import METHOD
from larvatus.reporting.figures.estimate_intervals import draw_intervals, interval_lane
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.page.blocks import Figure, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.chart_rows import FEW
from larvatus.reporting.page.tables import fold_table, within_budget

_MOST_LANES = 15
_TITLE = "Named analyses"


def analyses_section(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Section | None:
    """One part per analysis; None if no analysis was named."""
    scores = by_method(candidates, "loss").get(METHOD)
    if not scores or not any(scores):
        return None
    opening = Paragraph(
        "Each analysis was run in the same way on the original and on the release. Overlap is the share of the two confidence "
        "intervals that they have in common: 1 if they are equal, 0 if they just touch, below 0 if there is a gap between "
        "them. It shows whether an analyst of the release would reach the same conclusion."
    )
    names = dict.fromkeys(str(r["variable"]) for s in scores if s for r in s.by_variable)
    return Section(_TITLE, (opening, *(_analysis(name, heads, scores) for name in names)))


def _analysis(name: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> Section:
    every = [_rows(s, name) for s in scores]
    blocks: list[ReportBlock] = [*_figure(name, heads, scores), _table(name, heads, every)]
    if len(blocks) == 1:
        blocks.insert(0, Paragraph(_sentence(heads, every)))
    return Section(name, tuple(blocks))


def _rows(score: Score | None, name: str) -> list[Row]:
    return [r for r in score.details.get("estimates", Rows()) if r["analysis"] == name] if score else []


def _figure(name: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    drawn, left_out = select_releases(heads, scores)
    tables = [{str(r["quantity"]): r for r in _rows(s, name)} for _, s in drawn]
    quantities = list(dict.fromkeys(q for rows in tables for q in rows))
    lanes = [(interval_lane(q, [rows.get(q) for rows in tables]), _least(q, tables)) for q in quantities]
    kept = [(lane, least) for lane, least in lanes if lane is not None]
    if not kept:
        return []
    sentence = _sentence([h for h, _ in drawn], [list(rows.values()) for rows in tables]) + left_out
    if len(kept) > _MOST_LANES:
        every = plural(len(kept), "quantity", "quantities")
        sentence += f" The figure shows the {_MOST_LANES} of {every} with the least overlap."
        kept = sorted(kept, key=lambda pair: pair[1])[:_MOST_LANES]
    sentence += " One unit is half the width of the original interval" + (
        "; marks at the edge lie further out." if any(lane.beyond for lane, _ in kept) else "."
    )
    title = f"{name}: confidence intervals"
    return [Figure(title, sentence, draw_intervals(title, sentence, [h.name for h, _ in drawn], [lane for lane, _ in kept]))]


def _least(quantity: str, tables: Sequence[dict[str, Row]]) -> float:
    found = [finite_number(rows[quantity].get("overlap")) for rows in tables if quantity in rows]
    return min((v if v is not None else 0.0 for v in found), default=0.0)


def _sentence(heads: Sequence[Headline], tables: Sequence[Sequence[Row]]) -> str:
    """How many quantities changed sign or significance, in each release or, if there are many, in the worst."""
    there = [(h, rows) for h, rows in zip(heads, tables, strict=True) if rows]
    if not there:
        return "No release has an estimate."
    if len(there) == 1:
        said = _changes(there[0][1])
        return f"{said[:1].upper()}{said[1:]}"
    if len(there) <= FEW:
        return " ".join(f"In {quote(h.name)}, {_changes(rows)}" for h, rows in there)
    worst = max(there, key=lambda pair: (sum(bool(r["sign"]) + bool(r["significance"]) for r in pair[1]), -pair[0].number))
    same = sum(not any(r["sign"] or r["significance"] for r in rows) for _, rows in there)
    return (
        f"Signs and significance agree with the original in {count(same)} of {count(len(there))} releases. "
        f"The worst is {quote(worst[0].name)}: {_changes(worst[1])}"
    )


def _changes(rows: Sequence[Row]) -> str:
    counted = [r for r in rows if r["original"] is not None]
    if not counted:
        return "the original gives no estimate, so nothing can be compared."
    what = plural(len(counted), _word(counted))
    signs = [str(r["quantity"]) for r in counted if r["sign"]]
    turned = [f"{r['quantity']} ({r['significance']})" for r in counted if r["significance"]]
    level = finite_number(counted[0]["level"]) or 0.0
    said = [_named(signs, "changed sign")] if counted[0]["sign"] is not None else []
    if counted[0]["significance"] is not None:
        said.append(f"{_named(turned, 'changed significance')} at the {100 * level:g}{SPACE}% level")
    lost = sum(r["released"] is None for r in counted)
    if lost:
        said.append(f"{count(lost)} cannot be estimated")
    overlap = [v for r in counted if (v := finite_number(r["overlap"])) is not None]
    mean = f"the mean overlap is {loss(sum(overlap) / len(overlap))}{_better(counted)}" if overlap else ""
    text = ", and ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else "".join(said)
    return f"{'; '.join(part for part in (f'{text} ({what} compared)' if text else '', mean) if part)}."


def _word(rows: Sequence[Row]) -> str:
    """The word for the quantities of an analysis."""
    if rows[0]["sign"] is None:
        return "share"
    if rows[0]["significance"] is None:
        return "estimate"
    return "correlation" if rows[0].get("kind") == "correlation" else "coefficient"


def _better(rows: Sequence[Row]) -> str:
    """The mean overlap after correction, if there is one."""
    pairs = [(finite_number(r["overlap"]), finite_number(r["corrected_overlap"])) for r in rows]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return ""
    before, after = (sum(p[i] for p in both) / len(both) for i in (0, 1))
    instead = f" instead of {loss(before)}" if len(both) < len(rows) else ""
    return f" (after correction for the published noise: {loss(after)}{instead})"


def _named(names: Sequence[str], what: str) -> str:
    if not names:
        return f"none {what}"
    return f"{count(len(names))} {what}" + (f" ({', '.join(names)})" if len(names) <= 3 else "")


def _table(name: str, heads: Sequence[Headline], tables: Sequence[Sequence[Row]]) -> ReportBlock:
    lines = [(h.name, line) for h, rows in zip(heads, tables, strict=True) for line in side_by_side(rows)]
    columns = [c for c in ("quantity", "original", "released", "corrected", "overlap", "sign", "significance", "said")
               if any(c in line for _, line in lines)]
    several = len(heads) > 1
    shown, note = within_budget(lines, len(columns) + several)
    rows = tuple(
        (*([release] if several else []), *(_cell(line.get(c), c) for c in columns)) for release, line in shown
    )
    titles = (*(["Release"] if several else []), *("Remark" if c == "said" else words(c).capitalize() for c in columns))
    text = frozenset({0, *(i + several for i, c in enumerate(columns) if c in ("quantity", "sign", "significance", "said"))})
    return fold_table("Estimates and intervals, as a table",
                      ReportTable(f"{name}: estimates and intervals", titles, rows, text, note))


def _cell(value: object, column: str) -> str:
    if column == "overlap":
        found = finite_number(value if isinstance(value, int | float) else None)
        return NONE if found is None else loss(found)
    return minus(str(value)) if value not in ("", None) else NONE
