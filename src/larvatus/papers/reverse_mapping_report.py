"""The table and the figure of the study of reverse mapping, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.papers.frame import Summary
from larvatus.reporting.contents import Block, Figure, Table
from larvatus.reporting.svg import document, dot, line, text

WIDTH, LEFT, LANE, TOP, GAP = 760.0, 190.0, 24.0, 44.0, 24.0
PANELS = (("linked", "records linked", "risk"), ("value", "R² of values", "risk"), ("marginal", "marginals", "loss"),
          ("correlation", "correlations", "loss"))
Key = tuple[int, str, str]


def table(measures: Sequence[str], own: Mapping[str, Mapping[Key, Summary]], refused: Mapping[str, str]) -> Table:
    """One row for every mask, shape and size; masks that are refused say so."""
    keys = sorted({k for found in own.values() for k in found}, key=lambda k: (k[2], k[1], k[0]))
    rows = [
        (k[2], k[1], f"{k[0]:,}", *(f"{own[m][k].mean:+.3f}" if k in own[m] else "–" for m in measures), "") for k in keys
    ]
    rows += [(name, "–", "–", *("–" for _ in measures), why) for name, why in refused.items()]
    columns = ("mask", "shape", "records", *measures, "refused, because")
    note = ("Z (reverse-mapped) minus Y (as masked), mean over seeds. Risks: share of records linked by the nearest values of "
            "x1 and x2; R² of X given S and the release; rank correlation with X. Losses: marginals, correlations, rank "
            "correlations, largest difference of joint distribution functions. Defaults of every mask.")
    return Table("Z over Y, for every mask, shape and size", columns, tuple(rows), frozenset({0, 1, len(columns) - 1}), note)


def figure(own: Mapping[str, Mapping[Key, Summary]]) -> Figure:
    """For every mask the range over sizes and shapes, and a dot for each shape."""
    masks = sorted({k[2] for found in own.values() for k in found})
    wide = (WIDTH - LEFT) / len(PANELS)
    bottom = TOP + LANE * len(masks)
    body = "".join(text(0, TOP + LANE * (i + 0.5) + 4, name) for i, name in enumerate(masks))
    for p, (what, title, tone) in enumerate(PANELS):
        found = {k: s.mean for k, s in own.get(what, {}).items()}
        most = max([abs(v) for v in found.values()] + [0.01])
        centre, half = LEFT + wide * (p + 0.5), wide / 2 - GAP / 2
        body += text(centre, 14, title, "panel", "middle") + line(centre, TOP - 8, centre, bottom, "axis")
        for sign in (-1, 1):
            body += text(centre + sign * half, 30, f"{sign * most:+.2f}", "tick", "middle")
        for i, name in enumerate(masks):
            y, mine = TOP + LANE * (i + 0.5), {k: v for k, v in found.items() if k[2] == name}
            if not mine:
                continue
            ends = [centre + half * v / most for v in (min(mine.values()), max(mine.values()))]
            body += line(ends[0], y, ends[1], y, f"whisker {tone}")
            for shape in sorted({k[1] for k in mine}):
                values = [v for k, v in mine.items() if k[1] == shape]
                mean = sum(values) / len(values)
                body += dot(centre + half * mean / most, y, f"dot {tone}", f"{name}, {shape}: {mean:+.3f}", 3.2)
    said = ("Z minus Y: left of the line reverse mapping lowers risk or loss, right of it raises them. Dots are shapes of the "
            "data, averaged over sizes; lines reach from the least to the most over shapes and sizes.")
    drawn = document("What reverse mapping adds", said, WIDTH, bottom + 10, body)
    return Figure("What reverse mapping adds, by mask", said, drawn)


def blocks(
    measures: Sequence[str], own: Mapping[str, Mapping[Key, Summary]], refused: Mapping[str, str]
) -> tuple[Block, ...]:
    return figure(own), table(measures, own, refused)
