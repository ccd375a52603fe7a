"""Every measured property of every release: exact, nearly exact, or changed."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import NEARLY_UNCHANGED, as_title, nearly_unchanged, property_name
from larvatus.comparison.unmasked_columns import other_columns_changed
from larvatus.core.number_format import EXACT, NONE, count, finite_number, list_names, loss, quote
from larvatus.data.score import Score
from larvatus.measures.analyses.spec import METHOD
from larvatus.reporting.page.blocks import Listing, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.chart_rows import anchor
from larvatus.reporting.page.tables import release_title

_MOST_COLUMNS = 5


def exactness_section(candidates: Sequence[Candidate], heads: Sequence[Headline], about: About) -> Section:
    """A table of properties by release; with many releases, one row per release."""
    measured = {n: s for n, s in by_method(candidates, "loss").items() if n != METHOD}
    blocks: list[ReportBlock] = [Listing(tuple(_stated(candidates, about)))]
    if measured:
        blocks += [Paragraph(_sentence(heads, measured)), _table(heads, measured)]
    return Section("What is exact and what is not", tuple(blocks))


def _stated(candidates: Sequence[Candidate], about: About) -> list[str]:
    changed = other_columns_changed(candidates, about)
    given = dict.fromkeys((*about.sub_groups, *about.non_confidential, *((about.weight,) if about.weight else ())))
    kept = tuple(n for n in given if n not in changed)
    out = [f"Columns released unchanged: {list_names(kept)}."] if kept else []
    moved = [c.name for c in candidates if c.permutes]
    if moved:
        out.append(
            "Releases in which every masked value is an original value, possibly of another record: "
            f"{list_names([quote(n) for n in moved], 8)}. Their largest and smallest values are real."
        )
    fewer = [c.name for c in candidates if c.records != about.records]
    if fewer:
        out.append(f"Releases with fewer records than the original: {list_names([quote(n) for n in fewer], 8)}.")
    return [*out, "Properties that are not in the table were not measured."]


def _word(score: Score | None) -> str:
    value = finite_number(score.value) if score else None
    if score is None or value is None:
        return NONE
    if _is_exact(score):
        inside = len(score.by_group) > 1 and all(abs(finite_number(r.get("value")) or 0.0) < EXACT for r in score.by_group)
        return "exact, also within every sub-group" if inside else "exact"
    return f"nearly exact ({loss(value)})" if nearly_unchanged(score) else f"changed ({loss(value)})"


def _is_exact(score: Score | None) -> bool:
    value = finite_number(score.value) if score else None
    return value is not None and abs(value) < EXACT


def _table(heads: Sequence[Headline], measured: dict[str, list[Score | None]]) -> ReportTable:
    nearly = f"Nearly exact: relative loss below {NEARLY_UNCHANGED}."
    note = f"Exact: equal up to rounding. {nearly} Each loss is in the unit of its measure."
    if len(heads) <= _MOST_COLUMNS:
        rows = tuple((as_title(property_name(n)), *(_word(s) for s in scores)) for n, scores in measured.items())
        columns = ("Property", *(release_title(h, len(heads)) for h in heads))
        return ReportTable("Properties by release", columns, rows, frozenset(range(len(columns))), note)
    rows = tuple((f"{h.number}. {h.name}", *(_word(scores[i]) for scores in measured.values())) for i, h in enumerate(heads))
    columns = ("Release", *(as_title(property_name(n)) for n in measured))
    return ReportTable("Properties by release", columns, rows, frozenset({0}), note, tuple(f"#{anchor(h)}" for h in heads))


def _sentence(heads: Sequence[Headline], measured: dict[str, list[Score | None]]) -> str:
    """Which properties are exact in every release, and which in none."""
    exact = {n: sum(map(_is_exact, scores)) for n, scores in measured.items()}
    every = [property_name(n) for n, k in exact.items() if k == len(heads)]
    never = [property_name(n) for n, k in exact.items() if k == 0]
    parts = [f"Exact{'' if len(heads) == 1 else f' in all {count(len(heads))} releases'}: {', '.join(every)}."] if every else []
    parts += [f"{'Not exact' if len(heads) == 1 else 'Exact in no release'}: {', '.join(never)}."] if never else []
    return " ".join(parts) or "Which properties are exact differs between releases."
