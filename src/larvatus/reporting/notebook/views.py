"""Tables with bars and drawings for notebooks, and the plots behind `.plot()`. Every function takes one value."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from larvatus.comparison.comparison import About, Candidate, Comparison
from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.release_sentences import plain_title
from larvatus.comparison.risk_text import risk_text
from larvatus.core.errors import LarvatusError, nearest_names
from larvatus.core.number_format import NONE, count, finite_number, list_names
from larvatus.data.labelling.level_labels import LevelLabels, value_labels
from larvatus.reporting.board.analyst_losses import loss_plot
from larvatus.reporting.board.attack_results import attack_plot
from larvatus.reporting.board.cards import card_verdict
from larvatus.reporting.board.decision import decision_title
from larvatus.reporting.board.figures_in_words import mean_loss_text, relative_text, success_text, worst_loss
from larvatus.reporting.board.map_block import risk_map
from larvatus.reporting.board.subject import Subject, subject_of
from larvatus.reporting.charts.bars import ColumnBars, bars_of_numbers, draw_bars
from larvatus.reporting.charts.estimates import EstimateRow, draw_estimates
from larvatus.reporting.charts.frontier import draw_frontier
from larvatus.reporting.charts.lanes import draw_lanes
from larvatus.reporting.charts.risk_map import draw_risk_map
from larvatus.reporting.notebook.plot import Plot

if TYPE_CHECKING:
    from larvatus.analysis.noise_correction import Estimates
    from larvatus.certificates.linear_frontier import LinearFrontier
    from larvatus.data.microdata import Microdata
    from larvatus.data.release import Release
    from larvatus.data.score import Scores

_CELL = "padding:.2em .8em .2em 0;text-align:left;vertical-align:top"
_COLOURS = {"risk": "#0b5fa5", "loss": "#b1560f"}
_MOST_ROWS, _MOST_CATEGORIES = 40, 30


def plot_comparison(comparison: Comparison) -> Plot:
    """The risk–utility map of all releases."""
    subject = subject_of(comparison)
    drawn = risk_map(subject) if subject.heads and subject.measures else None
    if drawn is None:
        raise LarvatusError("plot: no release has both a risk and a loss. Run at least one attack and one measure.")
    return Plot(drawn.title, draw_risk_map(drawn))


def plot_scores(scores: Scores, kind: str | None = None) -> Plot:
    """The attacks on one release with their baselines or, if there are none, its losses."""
    kinds = [k for k in ("risk", "loss") if any(s.kind == k for s in scores)]
    if not kinds or (kind is not None and kind not in kinds):
        raise LarvatusError(f"plot: there are no scores of kind {kind!r}; the kinds here are {', '.join(kinds) or 'none'}.")
    subject = _alone(scores)
    wanted = kind or kinds[0]
    drawn = attack_plot(subject, "Every attack") if wanted == "risk" else loss_plot(subject, "Every measure")
    return Plot(drawn.title, draw_lanes(drawn))


def plot_estimates(estimates: Estimates) -> Plot:
    """Corrected estimates with their intervals, and the uncorrected ones."""
    ends = zip(*estimates.interval(), strict=True)
    rows = [EstimateRow(name, float(a), float(low), float(high), float(b)) for name, a, b, (low, high) in zip(
        estimates.names, estimates.estimate, estimates.uncorrected, ends, strict=True)]
    title = "Estimates corrected for the published noise"
    return Plot(title, draw_estimates(title, rows))


def plot_frontier(frontier: LinearFrontier) -> Plot:
    """Loss against links of the best linear masks."""
    title = "Linear masks with the least loss"
    best, same = [(p.links, p.loss) for p in frontier.points], [(p.same_links, p.same_loss) for p in frontier.points]
    chosen = (frontier.chosen.links, frontier.chosen.loss) if frontier.chosen else None
    return Plot(title, draw_frontier(title, best, same, chosen, frontier.limit))


def plot_release(release: Release, column: str) -> Plot:
    """The released values of one column: a histogram, or one bar per category, with its value label if it has one."""
    if column not in release.columns:
        raise LarvatusError(f"plot: no released column {column!r}; {nearest_names(column, release.columns)}")
    values = _values(release.data, column)
    title = f"{column} in {release.name}"
    if release.data.table.columns[column].kind == "number":
        known = [float(v) for v in values if finite_number(v) is not None]
        if not known:
            raise LarvatusError(f"plot: column {column!r} has no values. Choose another column.")
        return Plot(title, draw_bars(bars_of_numbers(title, known)))
    tally: dict[str, int] = {}
    labels = LevelLabels(value_labels(release.data.labels, [column]))
    for v in values:
        name = "missing" if v is None or (isinstance(v, float) and math.isnan(v)) else labels.level(column, v)
        tally[name] = tally.get(name, 0) + 1
    first = sorted(tally.items(), key=lambda item: -item[1])
    rest = sum(n for _, n in first[_MOST_CATEGORIES:])
    shown = first[:_MOST_CATEGORIES] + ([(f"{count(len(first) - _MOST_CATEGORIES)} other categories", rest)] if rest else [])
    return Plot(title, draw_bars(ColumnBars(title, tuple(n for _, n in shown), names=tuple(name for name, _ in shown))))


def _values(data: Microdata, column: str) -> list[Any]:
    import narwhals as nw

    return list(nw.from_native(data.frame(), eager_only=True)[column].to_list())


def _alone(scores: Scores) -> Subject:
    """The scores of one release as a comparison, for the pictures of a report."""
    about = About(0, (), (), (), None, (), ())
    return subject_of(Comparison((Candidate("this release", (), (), (), (), 0, scores),), about))


def html_of_comparison(comparison: Comparison) -> str:
    """The title of the report, a table with bars, and the map."""
    subject = subject_of(comparison)
    if not subject.heads:
        return "<p>Comparison of no releases.</p>"
    rows = []
    for head in subject.in_order[:_MOST_ROWS]:
        worst = worst_loss(subject.candidate(head))
        known = head.attack if head.risk is not None else None
        reached = f"{plain_title(known.method)}: {success_text(known)}" if known else NONE
        rows.append((str(head.number), head.name, card_verdict(head, subject)[0], reached,
                     _bar(head.loss, mean_loss_text(head.loss, len(subject.measures))),
                     f"{plain_title(worst.method)} {relative_text(worst)}" if worst else "nothing"))
    table = _table(("No.", "release", "verdict", "strongest attack", "mean loss", "largest single loss"), rows, {4})
    drawn = risk_map(subject) if subject.measures else None
    picture = Plot(drawn.title, draw_risk_map(drawn))._repr_html_() if drawn is not None else ""
    loud = "".join(f"<p><b>Warning</b> {escape(w)}</p>" for w in comparison.warnings)
    lost = f"<p>{count(len(comparison.not_made))} not made.</p>" if comparison.not_made else ""
    return f"<div><p><b>{escape(decision_title(subject))}</b></p>{loud}{table}{lost}{picture}</div>"


def html_of_scores(scores: Scores) -> str:
    """One row per score, with a bar and what guessing gives."""
    if not scores:
        return "<p>no scores</p>"
    rows = []
    for s in sorted(scores, key=lambda s: (s.kind == "loss", not s.decides)):
        value = finite_number(s.value)
        said = risk_text(s, s.value) if s.kind == "risk" else relative_text(s) if value is not None else NONE
        part = value if s.kind == "risk" else s.relative_loss if value is not None else None
        name = plain_title(s.method) if s.decides else f"{plain_title(s.method)} (not counted)"
        rows.append((name, s.kind, _bar(part, said, s.kind), risk_text(s, baseline(s)) if s.kind == "risk" else ""))
    return _table(("score", "kind", "value", "baseline"), rows, {2})


def html_of_release(release: Release) -> str:
    """Name, steps, size and notes of a release."""
    steps = " + ".join(s.name() for s in release.steps) or "masked elsewhere"
    rows = [("steps", steps), ("records", count(release.data.rows)), ("copies", count(len(release.copies))),
            ("columns", list_names(release.columns, 20)), ("notes", count(len(release.notes)))]
    warnings = "".join(f"<p><b>Warning</b> {escape(str(n))}</p>" for n in release.notes if n.kind == "warning")
    return f"<div><p><b>Release {escape(release.name)}</b></p>{_table(('', ''), rows)}{warnings}</div>"


def html_of_microdata(data: Microdata) -> str:
    """Records and columns by role; no values."""
    groups = data.groups
    weight = (data.roles.weight,) if data.roles.weight else ()
    rows = [("confidential", list_names(data.confidential, 20)), ("non-confidential", list_names(data.non_confidential, 20)),
            ("sub-groups", f"{count(len(groups))} by {', '.join(groups.columns)}" if groups.columns else "none"),
            ("weight", list_names(weight))]
    return f"<div><p><b>Microdata: {count(data.rows)} records</b></p>{_table(('role', 'columns'), rows)}</div>"


def html_of_advice(advice: Any) -> str:
    """What the data are like, and an opinion on each mask."""
    ordered = sorted(advice.opinions, key=lambda o: not o.suits)
    rows = [("suits" if o.suits else "does not suit", o.mask, o.why) for o in ordered]
    seen = "".join(f"<li>{escape(said)}</li>" for said in advice.seen)
    return f"<div><p><b>What the data are like</b></p><ul>{seen}</ul>{_table(('verdict', 'mask', 'why'), rows)}</div>"


def html_of_search(result: Any) -> str:
    """The chosen candidate, and the finalists with bars of their losses."""
    said = result.outcome[:1].upper() + result.outcome[1:]
    finalists = [(f.candidate.name, "yes" if f.meets_limits else "no", _bar(f.loss, f"{f.loss:.3f}"), count(len(f.draws)))
                 for f in result.finalists if f.draws]
    table = _table(("candidate", "meets the limits", "mean loss", "secrets"), finalists, {2})
    return f"<div><p><b>{escape(said)}</b> of {count(len(result.tried))} candidates</p>{table}</div>"


def _bar(part: float | None, said: str, kind: str = "loss") -> str:
    """A text with a bar below it, as HTML."""
    wide = 0.0 if part is None or not math.isfinite(part) else 100 * min(max(part, 0.0), 1.0)
    return (f'{escape(said)}<div style="width:8em;height:.45em;background:#8883;margin-top:.15em">'
            f'<div style="width:{wide:.1f}%;height:100%;background:{_COLOURS[kind]}"></div></div>')


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], ready: Collection[int] = ()) -> str:
    """A table; the cells in the columns `ready` are HTML already."""
    head = "".join(f'<th style="{_CELL}">{escape(c)}</th>' for c in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{c if i in ready else escape(c)}</td>' for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def headline_bars(comparison: Comparison) -> list[tuple[str, str, float | None, float | None]]:
    """For a terminal: name, verdict, excess risk and mean loss of each release, the best first."""
    subject = subject_of(comparison)
    return [(h.name, card_verdict(h, subject)[0], h.excess, h.loss) for h in subject.in_order]
