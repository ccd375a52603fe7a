"""Loss against links of the best linear masks, beside masks with one similarity, and the chosen mask."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.core.number_format import share
from larvatus.reporting.charts.scales import LinearScale, Scale, scale_of_risks
from larvatus.reporting.figures.svg import document, dot, element, line, text

_WIDE, _LEFT, _TOP, _HIGH, _RIGHT = 640.0, 62.0, 62.0, 260.0, 18.0


def draw_frontier(
    title: str, best: Sequence[tuple[float, float]], same: Sequence[tuple[float, float]], chosen: tuple[float, float] | None,
    limit: float | None,
) -> str:
    """Points are (links, loss)."""
    shares = [p[0] for p in best]
    across: Scale = scale_of_risks(shares, [min(shares)])
    up = LinearScale.up_to(1.0, True)
    base, wide = _TOP + _HIGH, _WIDE - _LEFT - _RIGHT

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + wide * across.at(point[0]), base - _HIGH * up.at(point[1])

    body = [text(0, 16, title, "panel"), text(0, _TOP - 15, "↑ loss", "axis-name"),
            text(_WIDE - _RIGHT, base + 38, "records linked, forecast →", "axis-name", "end")]
    for at, tick in up.ticks():
        y = base - _HIGH * at
        body += [line(_LEFT, y, _WIDE - _RIGHT, y, "grid"), text(_LEFT - 6, y + 4, tick, "tick", "end")]
    for at, tick in across.ticks():
        body.append(text(_LEFT + wide * at, base + 18, tick, "tick", "middle"))
    if limit is not None:
        x = place((limit, 0.0))[0]
        body += [line(x, _TOP, x, base, "whisker risk"), text(x + 5, _TOP + 10, f"limit {share(limit)}", "tick")]
    for points, tone in ((same, "grid"), (best, "axis")):
        path = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(map(place, points)))
        body.append(element("path", d=path, class_=tone, fill="none"))
        body += [dot(*place(p), "point" if tone == "axis" else "point beaten", f"{share(p[0])}, loss {share(p[1])}", 3.5)
                 for p in points]
    body += [dot(_LEFT + 160, 40, "point"), text(_LEFT + 170, 44, "least loss", "tick"),
             dot(_LEFT + 260, 40, "point beaten"), text(_LEFT + 270, 44, "one similarity for all columns", "tick")]
    if chosen is not None:
        body.append(dot(*place(chosen), "point bad", f"chosen: {share(chosen[0])}, loss {share(chosen[1])}", 6.0))
    body.append(line(_LEFT, base, _WIDE - _RIGHT, base, "axis"))
    said = "; ".join(f"{share(links)} linked, loss {share(loss)}" for links, loss in best)
    return document(title, f"{title}: {said}", _WIDE, base + 50, "".join(body))
