"""The sections on risk and on loss: attack by attack, measure by measure."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.detail_titles import detail_title
from larvatus.comparison.headline import Headline, under
from larvatus.comparison.release_sentences import plain_title
from larvatus.core.number_format import EXACT, finite_number, loss, quote, words
from larvatus.data.score import Rows, Score
from larvatus.measures.analyses.spec import METHOD
from larvatus.measures.scoring.null_placement import NULL
from larvatus.reporting.figures.choice import lanes_blocks
from larvatus.reporting.figures.registry import DRAWN_ONLY, pictures
from larvatus.reporting.page.blocks import Fold, Paragraph, ReportBlock, Section
from larvatus.reporting.page.chart_rows import lanes_of
from larvatus.reporting.page.tables import MOST_ACROSS, attack_table, fold_table, rows_table
from larvatus.reporting.sections.domains import domain_blocks
from larvatus.reporting.sections.null_distributions import null_blocks
from larvatus.reporting.sections.steps import setting_text

_MOST_PAIRS = 60
_WORST = 3
OUTLIERS = "outliers"  # read by boards, so it is shown open


def risk_section(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Section:
    """Every attack: its overall figure, its details, and the sub-groups."""
    methods = by_method(candidates, "risk")
    if not methods:
        return Section("Risk", (Paragraph("No attack was run."),))
    opening = Paragraph(
        "Risk is the success of an attack. Compare it with its two baselines: chance, and what the attack achieves with the "
        "non-confidential columns alone (S alone). No mask can reduce these; the difference is what the mask fails to hide. "
        "Intervals are 95 % confidence intervals over records."
    )
    return Section("Risk", (opening, *(_attack(name, heads, scores, _count(candidates)) for name, scores in methods.items())))


def _attack(name: str, own: Sequence[Headline], scores: Sequence[Score | None], methods: int) -> Section:
    title = plain_title(name)
    heads = under(own, scores)
    overall = attack_table(f"{title}: all releases", heads, scores)
    blocks: list[ReportBlock] = [_meaning(scores), fold_table("All releases, as a table", overall)]
    blocks += pictures(heads, scores)
    blocks += _details(title, heads, scores)
    blocks += lanes_blocks(title, "sub-group", heads, lanes_of(scores, "by_group"), "risk", methods)
    if any(s and len(s.by_variable) for s in scores):
        blocks += lanes_blocks(title, "variable", heads, lanes_of(scores, "by_variable"), "risk", methods)
    return Section(title, tuple(blocks))


def loss_section(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Section:
    """Every measure: its overall figure, the variables, the worst pairs, and the sub-groups."""
    methods = {name: s for name, s in by_method(candidates, "loss").items() if name != METHOD}
    if not methods:
        return Section("Loss", (Paragraph("No loss was measured."),))
    opening = Paragraph(
        "Loss is the accuracy that an analyst of the release loses; 0 is best. Each measure has its own unit."
    )
    inside = domain_blocks(heads, methods)
    each = (_measure(name, heads, scores, _count(candidates)) for name, scores in methods.items())
    return Section("Loss", (opening, *inside, *each))


def _count(candidates: Sequence[Candidate]) -> int:
    """How many attacks and measures there are."""
    return len(by_method(candidates, "risk")) + len(by_method(candidates, "loss"))


def _measure(name: str, heads: Sequence[Headline], scores: Sequence[Score | None], methods: int) -> Section:
    title = plain_title(name)
    blocks: list[ReportBlock] = [_meaning(scores), Paragraph(_range(heads, scores))]
    blocks += null_blocks(title, heads, scores)
    blocks += pictures(heads, scores)
    if any(s and len(s.by_variable) for s in scores):
        blocks += lanes_blocks(title, "variable", heads, lanes_of(scores, "by_variable"), "loss", methods)
        blocks += _wide_variables(title, heads, scores)
    if any(s and len(s.by_pair) for s in scores):
        blocks.append(_pairs(title, heads, scores))
    blocks += _details(title, heads, scores)
    blocks += lanes_blocks(title, "sub-group", heads, lanes_of(scores, "by_group"), "loss", methods)
    if any(s and len(s.by_domain) for s in scores):
        blocks += lanes_blocks(title, "domain part", heads, lanes_of(scores, "by_domain"), "loss", methods)
    return Section(title, tuple(blocks))


def _meaning(scores: Sequence[Score | None]) -> Paragraph:
    """The definition of the figure, its method and settings, and whether it is based on a sample."""
    there = [s for s in scores if s]
    first = there[0]
    settings = ", ".join(f"{words(k)} = {setting_text(k, v)}" for k, v in first.settings.items()
                         if v not in ("", [], (), {}, None))
    said = f"{first.meaning[:1].upper()}{first.meaning[1:]}".rstrip(".")
    parts = [f"{said}." if said else "", f"Method: {first.method}{f' ({settings})' if settings else ''}."]
    parts.append("Estimated from a sample of the records." if any(s.sampled for s in there) else "")
    return Paragraph(" ".join(p for p in parts if p))


def _range(heads: Sequence[Headline], scores: Sequence[Score | None]) -> str:
    found = [(v, h.name) for h, s in zip(heads, scores, strict=True) if s and (v := finite_number(s.value)) is not None]
    if not found:
        return "It has no finite value in any release."
    low, high = (end(found, key=lambda known: known[0]) for end in (min, max))
    if low[0] == high[0]:
        return f"The loss is {loss(low[0])}." if len(found) == 1 else f"The loss is {loss(low[0])} for every release."
    least = "0" if abs(low[0]) < EXACT else loss(low[0])
    return f"The loss ranges from {least} ({quote(low[1])}) to {loss(high[0])} ({quote(high[1])})."


def _details(title: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """The tables of a score that are not drawn; long ones are folded."""
    names = dict.fromkeys(name for s in scores if s for name in s.details if (s.method, name) not in DRAWN_ONLY)
    variables = {str(row.get("variable")) for s in scores if s for row in s.by_variable}
    method = next((s.method for s in scores if s), "")
    out: list[ReportBlock] = []
    for name in (n for n in names if n != NULL):
        parts = _parts(heads, [s.details.get(name, Rows()) if s else Rows() for s in scores])
        heading = detail_title(method, name)
        table = rows_table(f"{title}: {heading[:1].lower()}{heading[1:]}", parts, next(s.kind for s in scores if s), variables)
        if table.rows:
            summary = f"{heading}, as a table"
            out.append(fold_table(summary, table) if name == OUTLIERS else Fold(summary, (table,)))
    return out


def _parts(heads: Sequence[Headline], rows: Sequence[Rows]) -> list[tuple[str, Rows]]:
    return [(h.name, r) for h, r in zip(heads, rows, strict=True)]


def _wide_variables(title: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """All figures by variable, if there are more than the loss."""
    rows = [s.by_variable if s else Rows() for s in scores]
    if all(set(r.columns) <= {"variable", "loss"} for r in rows):
        return []
    if len(heads) <= MOST_ACROSS:
        return [Fold("All figures by variable", (rows_table(f"{title}: by variable", _parts(heads, rows), "loss"),))]
    worst = [Rows(tuple(sorted(r, key=lambda row: -(finite_number(row.get("loss")) or 0.0))[:_WORST])) for r in rows]
    table = rows_table(f"{title}: the {_WORST} variables with the largest loss in each release", _parts(heads, worst), "loss")
    return [Fold("All figures of the variables with the largest loss", (table,))]


def _pairs(title: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> ReportBlock:
    each = max(3, _MOST_PAIRS // len(heads) // 2)
    worst = [
        Rows(tuple(sorted(s.by_pair, key=lambda r: -(finite_number(r.get("loss")) or 0.0))[:each])) if s else Rows()
        for s in scores
    ]
    table = rows_table(f"{title}: the pairs with the largest loss", _parts(heads, worst), "loss")
    return Fold("The pairs with the largest loss", (table,), "worst" if len(heads) == 1 else "line")
