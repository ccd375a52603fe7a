"""What is exact and what is not: every measured property of every release, in one of three words."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import KEPT, NEARLY_KEPT
from larvatus.core.number_format import EXACT, NONE, count, finite_number, list_names, loss, quote, words
from larvatus.data.score import Score
from larvatus.measures.analyses.spec import METHOD
from larvatus.reporting.page.blocks import Listing, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.lanes import anchor
from larvatus.reporting.page.tables import release_title

_MOST_COLUMNS = 5


def exactness_section(candidates: Sequence[Candidate], heads: Sequence[Headline], about: About) -> Section:
    """A table of properties by release; releases go down the page where they are many."""
    measured = {n: s for n, s in by_method(candidates, "loss").items() if n != METHOD}
    blocks: list[ReportBlock] = [Listing(tuple(_stated(candidates, about)))]
    if measured:
        blocks += [Paragraph(_sentence(heads, measured)), _table(heads, measured)]
    return Section("What is exact and what is not", tuple(blocks))


def _stated(candidates: Sequence[Candidate], about: About) -> list[str]:
    kept = tuple(dict.fromkeys((*about.sub_groups, *about.non_confidential, *((about.weight,) if about.weight else ()))))
    out = [f"Columns that leave as they are, value by value: {list_names(kept)}."] if kept else []
    moved = [c.name for c in candidates if c.permutes]
    if moved:
        out.append(
            "Releases whose masked values are all collected ones, some in another record: "
            f"{list_names([quote(n) for n in moved], 8)}. Their largest and smallest values are real."
        )
    fewer = [c.name for c in candidates if c.records != about.records]
    if fewer:
        out.append(f"Releases that hold fewer records than the original: {list_names([quote(n) for n in fewer], 8)}.")
    return [*out, "A property that is not in the table was not measured."]


def _word(score: Score | None) -> str:
    value = finite_number(score.value) if score else None
    if score is None or value is None:
        return NONE
    if _is_exact(score):
        inside = len(score.by_group) > 1 and all(abs(finite_number(r.get("value")) or 0.0) < EXACT for r in score.by_group)
        return "exact, in every sub-group too" if inside else "exact"
    return f"nearly ({loss(value)})" if value < NEARLY_KEPT else f"changed ({loss(value)})"


def _is_exact(score: Score | None) -> bool:
    value = finite_number(score.value) if score else None
    return value is not None and abs(value) < EXACT


def _property(name: str) -> str:
    said = KEPT.get(name, words(name))
    return f"{said[:1].upper()}{said[1:]}"


def _table(heads: Sequence[Headline], measured: dict[str, list[Score | None]]) -> ReportTable:
    note = f"Exact: the same but for rounding. Nearly: a loss below {NEARLY_KEPT}. Each loss is in its measure's own unit."
    if len(heads) <= _MOST_COLUMNS:
        rows = tuple((_property(n), *(_word(s) for s in scores)) for n, scores in measured.items())
        columns = ("Property", *(release_title(h, len(heads)) for h in heads))
        return ReportTable("Properties by release", columns, rows, frozenset(range(len(columns))), note)
    rows = tuple((f"{h.number}. {h.name}", *(_word(scores[i]) for scores in measured.values())) for i, h in enumerate(heads))
    columns = ("Release", *(_property(n) for n in measured))
    return ReportTable("Properties by release", columns, rows, frozenset({0}), note, tuple(f"#{anchor(h)}" for h in heads))


def _sentence(heads: Sequence[Headline], measured: dict[str, list[Score | None]]) -> str:
    """Which properties are exact everywhere, and which nowhere."""
    exact = {n: sum(map(_is_exact, scores)) for n, scores in measured.items()}
    every = [_property(n).lower() for n, k in exact.items() if k == len(heads)]
    never = [_property(n).lower() for n, k in exact.items() if k == 0]
    of = "the release" if len(heads) == 1 else f"all {count(len(heads))} releases"
    parts = [f"Exact in {of}: {', '.join(every)}."] if every else []
    parts += [f"Exact in {'it' if len(heads) == 1 and every else 'the release' if len(heads) == 1 else 'none'}: "
              f"{'not ' if len(heads) == 1 else ''}{', '.join(never)}."] if never else []
    return " ".join(parts) or "Which properties are exact differs between releases."
