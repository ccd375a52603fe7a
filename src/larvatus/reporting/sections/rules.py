"""Rules for values: which are satisfied, which are broken, and by how many records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline
from larvatus.core.number_format import count, list_names, plural, quote, share
from larvatus.reporting.page.blocks import Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.chart_rows import anchor

_SIDES = ("original", "after_steps", "released")


def rules_block(candidate: Candidate) -> tuple[ReportBlock, ...]:
    """How many records break each rule: in the original, after the steps, and in the release."""
    if not candidate.rules:
        return ()
    rows = tuple((str(r["rule"]), *(_broken(r, k, candidate.records) for k in _SIDES), _word(r)) for r in candidate.rules)
    columns = ("Rule", "Original", "After the steps", "Release", "In the release")
    return (ReportTable("Rules, and how many records break them", columns, rows, frozenset({0, 4})),)


def _broken(row: Mapping[str, Any], side: str, records: int) -> str:
    found = int(row[side])
    return count(found) + (f" ({share(found / records)})" if found and records else "")


def _word(row: Mapping[str, Any]) -> str:
    return "broken" if int(row["released"]) else "satisfied"


def rules_section(candidates: Sequence[Candidate], heads: Sequence[Headline]) -> Section:
    """One row per release, or a sentence that there are no rules."""
    stated = [(c, h) for c, h in zip(candidates, heads, strict=True) if c.rules]
    title = "Rules for values"
    if not stated:
        return Section(title, (Paragraph("The study states no rules that values must satisfy."),))
    rows, links = [], []
    for c, h in stated:
        broken = [str(r["rule"]) for r in c.rules if r["released"]]
        rows.append((h.name, count(len(c.rules) - len(broken)), count(len(broken)), "; ".join(broken) or "none"))
        links.append(f"#{anchor(h)}")
    bad = [h for (_, h), row in zip(stated, rows, strict=True) if row[2] != "0"]
    many = plural(len(candidates), "release")
    said = f"Every release satisfies every rule ({many})."
    if bad:
        verb = "breaks" if len(bad) == 1 else "break"
        said = f"{count(len(bad))} of {many} {verb} rules: {list_names([quote(h.name) for h in bad], 4)}."
    table = ReportTable("Rules by release", ("Release", "Satisfied", "Broken", "Broken rules"), tuple(rows), frozenset({0, 3}),
                  links=tuple(links))
    return Section(title, (Paragraph(said), table))
