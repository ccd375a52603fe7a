"""What analysts lose: every measure on the releases with a card, grouped by what people do with the data."""

from __future__ import annotations

from larvatus.comparison.by_method import by_method
from larvatus.comparison.plain_names import MEASURE_GROUPS, plain_words
from larvatus.comparison.release_sentences import capitalise, join_words, plain_name, plain_title, property_name
from larvatus.core.number_format import EXACT, count, finite_number, quote
from larvatus.data.score import Score
from larvatus.reporting.board.figures_in_words import mean_loss_text, relative_text, short_share, worst_loss
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.charts.lane_columns import draw_lane_columns
from larvatus.reporting.charts.lanes import NARROW, LanePlot, ReleaseLane, ReleaseMark, draw_lanes
from larvatus.reporting.charts.scales import LinearScale
from larvatus.reporting.page.blocks import Figure, Listing, Paragraph, ReportBlock, ReportTable, Story

_TITLE = "What analysts lose"


def losses_story(subject: Subject) -> Story:
    """The dot plot of measures, and what is exact."""
    losses = by_method(subject.candidates, "loss")
    if not losses:
        return Story(_TITLE, "No loss was measured, so nobody knows what analysts lose.", (Paragraph("No loss was measured."),))
    finding = _finding(subject)
    plot = loss_plot(subject, finding)
    figure = Figure("Loss by measure", _caption(subject), draw_lanes(plot), draw_lanes(plot, NARROW),
                    draw_lane_columns(plot))
    return Story(_TITLE, finding, (figure,), _beside(subject))


def _finding(subject: Subject) -> str:
    head = subject.favourite
    worst = worst_loss(subject.candidate(head))
    if worst is None:
        return f"{quote(head.name)} loses nothing on any measure."
    mean = mean_loss_text(head.loss, len(subject.measures))
    if len(subject.measures) < 2 or head.loss is None:
        return f"{quote(head.name)} loses most on {plain_name(worst.method)}: {relative_text(worst)}."
    return f"{quote(head.name)} loses {mean} on average and most on {plain_name(worst.method)}: {relative_text(worst)}."


def _caption(subject: Subject) -> str:
    shown, many = len(subject.on_cards), len(subject.heads)
    few = f" The {count(shown)} releases with a card are shown; the appendix has all {count(many)}." if shown < many else ""
    return f"A mark to the left is better: 0 means that nothing changed. Each loss is a share of what could be lost.{few}"


def loss_plot(subject: Subject, sentence: str) -> LanePlot:
    """Lanes of all measures by what people do, the largest loss of the favourite release first."""
    groups: dict[str, list[tuple[float, ReleaseLane]]] = {g: [] for g in MEASURE_GROUPS}
    for name, scores in by_method(subject.candidates, "loss").items():
        marks, missing = [], []
        for head in subject.on_cards:
            score = scores[head.number - 1]
            if score is None or finite_number(score.value) is None:
                missing.append(head.number)
                continue
            hint = f"{head.name}: {relative_text(score)}"
            marks.append(ReleaseMark(head.number, _relative(score), _breaks(score, head.name, subject), hint))
        first = next(s for s in scores if s)
        plain = plain_words(name, "loss", first.meaning)
        own = next((m.value for m in marks if m.number == subject.favourite.number), 0.0)
        remark = "" if not missing else f"not measured on {', '.join(map(str, missing))}" if marks else "not measured"
        title = plain_title(name) if first.decides else f"{plain_title(name)} (not in the mean)"
        lane = ReleaseLane(title, tuple(marks), remark=remark, hint=plain.explanation)
        groups.setdefault(plain.group, []).append((own, lane))
    made = tuple((g, tuple(lane for _, lane in sorted(own, key=lambda pair: -pair[0]))) for g, own in groups.items() if own)
    highest = max((m.value for _, lanes in made for lane in lanes for m in lane.marks), default=1.0)
    return LanePlot("Loss by measure", sentence, made, LinearScale.up_to(highest, True), "loss: share of what could be lost →",
                    tuple((h.number, h.name) for h in subject.on_cards), subject.favourite.number, "loss")


def _relative(score: Score) -> float:
    """The relative loss, at most 1, so that all measures fit one axis."""
    return 0.0 if abs(score.value) < EXACT else min(max(score.relative_loss, 0.0), 1.0)


def _breaks(score: Score, release: str, subject: Subject) -> bool:
    if subject.limits is None:
        return False
    return any(r["score"] == score.method and r["met"] is not True for r in subject.limits.rows[release])


def _beside(subject: Subject) -> tuple[ReportBlock, ...]:
    """What is exact in the release, and what is lost most."""
    head = subject.favourite
    known = [s for s in subject.candidate(head).of_kind("loss") if finite_number(s.value) is not None]
    exact = [property_name(s.method) for s in known if abs(s.value) < EXACT]
    worst = sorted((s for s in known if s.value >= EXACT), key=lambda s: -s.relative_loss)[:3]
    items = [f"Exact: {join_words(exact)}."] if exact else ["Nothing that was measured is exact."]
    items += [f"{capitalise(plain_name(s.method))}: {relative_text(s)}{_where(s)}." for s in worst]
    rows = tuple((plain_title(s.method), relative_text(s)) for s in sorted(known, key=lambda s: -s.relative_loss))
    table = (ReportTable(f"All losses of {quote(head.name)}", ("Measure", "Loss"), rows),) if rows else ()
    return (Paragraph(f"In {quote(head.name)}:"), Listing(tuple(items)), *table)


def _where(score: Score) -> str:
    """The column with the largest loss."""
    known = [(v, str(r.get("variable"))) for r in score.by_variable if (v := finite_number(r.get("loss"))) is not None]
    if len(known) < 2 or max(known)[0] < EXACT:
        return ""
    most, name = max(known)
    return f", most for {name} ({short_share(most)})" if most <= 1 else f", most for {name}"
