"""The risk–utility map of all releases: excess risk against mean loss, and the same geometry for every other pair of scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from larvatus.comparison.attack_limits import limit_above_baseline
from larvatus.comparison.by_method import by_method
from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.headline import Headline, on_frontier
from larvatus.comparison.limits_by_release import LIMIT_ON_MEAN_LOSS
from larvatus.comparison.release_sentences import capitalise, plain_name
from larvatus.comparison.selection_rule import passes_rule
from larvatus.core.number_format import EXACT, SPACE, count, finite_number, loss, minus, plural, quote
from larvatus.data.score import Score
from larvatus.reporting.board.figures_in_words import mean_loss_text, plain_risk
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes
from larvatus.reporting.charts.labels import PLACES
from larvatus.reporting.charts.risk_map import (
    LIMIT_NAME,
    MOST_NAMES,
    PHONE,
    RADII,
    SCREEN,
    SMALL,
    MapFrame,
    MapPoint,
    RiskMap,
    draw_risk_map,
)
from larvatus.reporting.charts.scales import LinearScale, LogScale, Scale, scale_of_risks
from larvatus.reporting.page.blocks import LiveMap, Paragraph, ReportBlock
from larvatus.reporting.page.chart_rows import anchor
from larvatus.reporting.sections.certificates import certificate_hint

EXCESS, MEAN = "excess risk", "mean loss"
_Y_NAME = "strongest attack: percentage points above its baseline"
_Y_WITHOUT = "strongest attack on the masked columns: percentage points above its baseline"
_Y_OPTION = "strongest attack, above its baseline"
_FRAMES = (SCREEN, PHONE)


def map_block(subject: Subject) -> ReportBlock:
    """The map with its geometry for the script, or why there is none."""
    attacked, measured = any(h.risk is not None for h in subject.heads), bool(subject.measures)
    if not attacked or not measured:
        return Paragraph(f"There is no risk–utility map: no {_lacking(attacked)}.", "quiet")
    drawn = risk_map(subject)
    if drawn is None:
        return Paragraph("There is no risk–utility map: no release has both a risk and a loss.", "quiet")
    svg, narrow = draw_risk_map(drawn, SCREEN), draw_risk_map(drawn, PHONE)
    return LiveMap(drawn.title, drawn.sentence, svg, live_geometry(subject, drawn), narrow)


def _lacking(attacked: bool) -> str:
    return "measure has a value for every release" if attacked else "attack was run"


def risk_map(subject: Subject) -> RiskMap | None:
    """The map of excess risk and mean loss; None if no release has both."""
    known = [h for h in subject.heads if h.excess is not None and h.loss is not None]
    if not known:
        return None
    closed = no_mask_passes(subject)
    best = _trade_offs(subject, known)
    few, first = len(known) <= MOST_NAMES, subject.favourite.number
    limits = _limit_ends(subject, known)
    points = tuple(
        MapPoint(h.number, subject.name_in_drawings(h), h.loss or 0.0, max(h.excess or 0.0, 0.0), h.number in best,
                 passes_rule(h, subject.limits), few or h.number == first, _hint(h, subject)) for h in known
    )
    upward = scale_of_risks([p.y for p in points], [v for v in limits or () if v > 0])
    across = LinearScale.up_to(max(p.x for p in points), _is_share(subject, [p.x for p in points]), steps=5)
    sentence = _sentence(subject, known, few, limits, upward)
    return RiskMap("Risk and loss of each release", sentence, points, across, upward, _x_name(subject), _y_name(subject),
                   limits, first, _most_loss(subject), f"{capitalise(closed)}: no point may be released." if closed else "")


def _trade_offs(subject: Subject, known: Sequence[Headline]) -> set[int]:
    """The numbers of the releases that may go out and that no other of these beats on both risk and loss."""
    return {h.number for h in on_frontier([h for h in known if passes_rule(h, subject.limits)])}


def _is_share(subject: Subject, losses: Sequence[float]) -> bool:
    return len(subject.measures) > 1 and max(losses) <= 1


def _x_name(subject: Subject) -> str:
    if len(subject.measures) == 1:
        return f"loss: {plain_name(next(iter(subject.measures)))}"
    return f"mean loss over {count(len(subject.measures))} measures"


def _y_name(subject: Subject) -> str:
    """The name of the axis of risk, which is about the masked columns if the others find too many."""
    return _Y_WITHOUT if no_mask_passes(subject) else _Y_NAME


def _limit_ends(subject: Subject, heads: Sequence[Headline]) -> tuple[float, float] | None:
    """The lowest and the highest distance above its baseline that the strongest attacks are allowed."""
    allowed = [limit_above_baseline(h.attack, subject.limits, h.name) for h in heads if h.attack]
    found = [v for v in allowed if v is not None]
    return (min(found), max(found)) if found else None


def _most_loss(subject: Subject) -> float | None:
    """The limit on the mean loss; None if there is none."""
    rows = (r for own in subject.limits.rows.values() for r in own) if subject.limits else ()
    return next((float(str(r["limit"])) for r in rows if r["score"] == LIMIT_ON_MEAN_LOSS), None)


def _hint(head: Headline, subject: Subject) -> str:
    lost = mean_loss_text(head.loss, len(subject.measures))
    attack = f"{plain_name(head.attack.method)} {plain_risk(head.attack, head.risk)}" if head.attack else "no attack"
    base = f", baseline {plain_risk(head.attack, head.base)}" if head.attack else ""
    certified = certificate_hint(subject.candidate(head))
    return f"{head.number}. {subject.name_in_drawings(head)}: {attack}{base}; mean loss {lost}{certified}"


def _sentence(
    subject: Subject, known: Sequence[Headline], few: bool, limits: tuple[float, float] | None, upward: Scale
) -> str:
    """What the shapes mean; the release that the title names, if it may be released; what the height leaves out."""
    found = _best(subject, known)
    missing = len(subject.heads) - len(known)
    left_out = f" {plural(missing, 'release')} without a risk or a loss cannot be shown." if missing else ""
    unpaired = _unpaired(subject)
    numbers = "" if few else " Numbers are those of the cards and the table."
    if len(known) == 1:
        shape = "circle: it may be released" if passes_rule(known[0], subject.limits) else "square: it may not be released"
        return f"Lower left is better. The release is a {shape}.{unpaired}{_shading(subject, known, limits)}{left_out}"
    shapes = "No point may be released: all are squares."
    if subject.rules_choice is not None:
        joined = "the best trade-offs, joined by the dashed line" if len(_trade_offs(subject, known)) > 1 else "best trade-offs"
        shapes = f"Circles may be released, squares not. Filled: {joined}."
    return (f"{found}Lower left is better. {shapes}{unpaired}{_shading(subject, known, limits)}"
            f"{_stretched(upward)}{_luck(known)}{numbers}{left_out}")


def _unpaired(subject: Subject) -> str:
    """What it means that a release is not paired, if there is one."""
    if all(c.paired for c in subject.candidates):
        return ""
    return " Not paired: its rows are no records of the original, so attacks that need pairs were not run on it."


def _stretched(upward: Scale) -> str:
    """That small risks have more room than large ones, if they have."""
    if not isinstance(upward, LogScale):
        return ""
    return f" From {upward.ticks()[1][1]} upwards, each line is ten times the one below."


def _luck(known: Sequence[Headline]) -> str:
    """That an attack which is above its baseline, but not shown to beat it, is drawn at 0, if there is one."""
    drawn = any(h.attack and h.excess == 0 and (h.risk or 0.0) > (h.base or 0.0) + EXACT for h in known)
    return " Differences that may be luck are drawn at 0." if drawn else ""


def _best(subject: Subject, known: Sequence[Headline]) -> str:
    """What the rule's choice is better at than the other releases on the map; no release is praised if none passes."""
    best = subject.rules_choice
    if no_mask_passes(subject):
        return "The height shows only what the masked columns add. "
    if best is None or len(known) == 1 or subject.favourite.number != best.number or best.loss is None:
        return ""
    passing = sum(passes_rule(h, subject.limits) for h in known)
    if passing == 1:
        return f"{quote(best.name)} is the only one that may be released. "
    return f"{quote(best.name)} loses least of the {count(passing)} that may be released. "


def _shading(subject: Subject, known: Sequence[Headline], limits: tuple[float, float] | None) -> str:
    """That some limits are lower than others, and that squares may lie elsewhere; the drawing names what is shaded."""
    if no_mask_passes(subject):
        return ""
    right = " Shaded on the right: beyond the limit on the mean loss." if _most_loss(subject) is not None else ""
    if limits is None:
        return right
    low, high = limits
    said = " Lightly shaded: beyond the limit for some releases." if high > low + EXACT else ""
    below = any((h.excess or 0.0) < low and not passes_rule(h, subject.limits) for h in known)
    return said + (" A square below the shading breaks a limit that its height does not show." if below else "") + right


def live_geometry(subject: Subject, drawn: RiskMap) -> str:
    """For every axis that readers may choose: its texts, and the pixels of releases, ticks and limits in both frames."""
    frames = [drawn.fit(frame) for frame in _FRAMES]
    risks, losses = by_method(subject.candidates, "risk"), by_method(subject.candidates, "loss")
    heads = subject.heads
    excess = [None if h.excess is None else max(h.excess, 0.0) for h in heads]
    said = [_points(v) for v in excess]
    axes = [{**_axis(EXCESS, drawn.y_name, "risk", excess, drawn.upward, said, frames), "option": _Y_OPTION}]
    if drawn.closed:
        axes[0]["closed"] = [drawn.reason_lines(frame) for frame in _FRAMES]
    elif drawn.limits is not None:
        axes[0]["limits"] = _pixels([drawn.upward.at(v) for v in drawn.limits], frames)["y"]
    axes += [_risk_axis(name, scores, frames) for name, scores in risks.items()]
    means = [h.loss for h in heads]
    if len(subject.measures) > 1:
        said = [mean_loss_text(v, len(subject.measures)) for v in means]
        axes.append(_axis(MEAN, drawn.x_name, "loss", means, drawn.across, said, frames))
        if drawn.most_loss is not None and not drawn.closed and drawn.across.at(drawn.most_loss) < 1:
            axes[-1]["most"] = _pixels([drawn.across.at(drawn.most_loss)], frames)["x"]
    axes += [_loss_axis(name, scores, frames) for name, scores in losses.items()]
    first = MEAN if len(subject.measures) > 1 else f"loss: {next(iter(subject.measures))}"
    points = [_map_point(h, subject, drawn) for h in heads]
    return json.dumps({"axes": axes, "y": EXCESS, "x": first, "points": points, "places": PLACES, "limit": LIMIT_NAME,
                       "small": SMALL, "radii": RADII, "frames": [f._asdict() for f in frames]},
                      ensure_ascii=False, separators=(",", ":"))


def _map_point(head: Headline, subject: Subject, drawn: RiskMap) -> dict[str, Any]:
    """A release for the script."""
    favourite = head.number == drawn.favourite
    return {"number": head.number, "name": subject.name_in_drawings(head), "page": f"#{anchor(head)}",
            "passes": passes_rule(head, subject.limits), "named": favourite or len(drawn.points) <= MOST_NAMES,
            "favourite": favourite}


def _points(value: float | None) -> str:
    return "unknown" if value is None else minus(f"{100 * value:.3g}{SPACE}percentage points")


def _axis(
    key: str, name: str, kind: str, values: Sequence[float | None], scale: Scale, said: Sequence[str],
    frames: Sequence[MapFrame],
) -> dict[str, Any]:
    up, across = ([f.axis_lines(said) for f in frames] for said in (f"↑ {name}", f"{name} →"))
    places = _pixels([None if v is None else scale.at(v) for v in values], frames)
    ticks = {"said": [t for _, t in scale.ticks()], **_pixels([part for part, _ in scale.ticks()], frames)}
    return {"key": key, "name": name, "kind": kind, "up": up, "across": across, "at": places,
            "values": [_short(v) for v in values], "said": list(said), "ticks": ticks}


def _pixels(parts: Sequence[float | None], frames: Sequence[MapFrame]) -> dict[str, list[list[float | None]]]:
    """Where parts of an axis lie in each frame, if the axis goes across or upward."""
    return {"x": [[None if p is None else round(f.x(p), 1) for p in parts] for f in frames],
            "y": [[None if p is None else round(f.y(p), 1) for p in parts] for f in frames]}


def _risk_axis(name: str, scores: Sequence[Score | None], frames: Sequence[MapFrame]) -> dict[str, Any]:
    values = [finite_number(s.value) if s else None for s in scores]
    bases = [baseline(s) if s else None for s in scores]
    ends = [s.interval if s and s.interval and None not in map(finite_number, s.interval) else None for s in scores]
    scale = scale_of_risks([v for v in (*values, *(e[1] for e in ends if e)) if v is not None], [b for b in bases if b])
    said = [plain_risk(s, s.value) if s else "" for s in scores]
    axis = _axis(f"risk: {name}", plain_name(name), "risk", values, scale, said, frames)
    sides = ([scale.at(e[side]) if e else None for e in ends] for side in (0, 1))
    axis["ends"] = [_pixels(side, frames)["y"] for side in sides]
    known = [b for b in bases if b is not None]
    if known:
        first = next(s for s in scores if s)
        most = f"baseline: {'' if min(known) == max(known) else 'at most '}{plain_risk(first, max(known))}"
        axis["base"] = [_pixels([scale.at(max(known))], frames)["y"], most]
    axis["without"] = ["" if b is None else plain_risk(s, b) for s, b in zip(scores, bases, strict=True)]
    return axis


def _loss_axis(name: str, scores: Sequence[Score | None], frames: Sequence[MapFrame]) -> dict[str, Any]:
    values = [finite_number(s.value) if s else None for s in scores]
    scale = LinearScale.up_to(max((v for v in values if v is not None), default=1.0), False, steps=5)
    return _axis(f"loss: {name}", plain_name(name), "loss", values, scale, [loss(v) for v in values], frames)


def _short(value: float | None, digits: int = 4) -> float | None:
    """A value with few significant digits, to take less room."""
    found = finite_number(value)
    return None if found is None else float(f"{found:.{digits}g}")
