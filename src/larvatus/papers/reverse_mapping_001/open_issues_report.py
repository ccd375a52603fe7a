"""The table and the figure of the study of reverse mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from larvatus.datasets.shapes import SHAPES
from larvatus.papers.framework.model import Summary
from larvatus.reporting.figures.svg import document, element, text
from larvatus.reporting.page.blocks import Figure, ReportBlock, ReportTable

_WIDTH, _LEFT, _LANE, _TOP, _GAP = 760.0, 190.0, 22.0, 54.0, 12.0
PANELS = (("linked", "risk: linked"), ("value", "risk: values"), ("marginal", "loss: marginals"),
          ("correlation", "loss: correlations"))
LETTERS = {"normal": "N", "skewed": "S", "zero-inflated": "Z", "discrete": "D"}
_LEAST = 0.01  # the darkest shade represents at least this difference
_Key = tuple[int, str, str]


def table(measures: Sequence[str], own: Mapping[str, Mapping[_Key, Summary]], refused: Mapping[str, str]) -> ReportTable:
    """One row for every mask, shape and size, and one for each refused mask with the reason."""
    keys = sorted({k for found in own.values() for k in found}, key=lambda k: (k[2], k[1], k[0]))
    rows = [
        (k[2], k[1], f"{k[0]:,}", *(f"{own[m][k].mean:+.3f}" if k in own[m] else "–" for m in measures), "") for k in keys
    ]
    rows += [(name, "–", "–", *("–" for _ in measures), why) for name, why in refused.items()]
    columns = ("mask", "shape", "records", *measures, "reason for refusal")
    over = sorted({s.seeds for found in own.values() for s in found.values()} or {0})
    seeds = f"{over[0]} to {over[-1]}" if len(over) > 1 else str(over[0])
    note = (f"Z (reverse-mapped) minus Y (as masked), mean over seeds (number of seeds: {seeds}). Risks: share of records "
            "linked by the nearest values of x1 and x2; R² of X given S and the release; rank correlation with X. Losses: "
            "marginals, correlations, rank correlations, largest difference of joint distributions. All masks use their "
            "defaults.")
    return ReportTable("Z minus Y, for every mask, shape and size", columns, tuple(rows), frozenset({0, 1, len(columns) - 1}),
                       note)


def open_issue_figure(own: Mapping[str, Mapping[_Key, Summary]]) -> Figure:
    """One cell for each mask, measure, shape and size; the darker, the more Z differs from Y."""
    keys = {k for found in own.values() for k in found}
    masks, sizes = sorted({k[2] for k in keys}), sorted({k[0] for k in keys})
    wide, bottom = (_WIDTH - _LEFT) / len(PANELS), _TOP + _LANE * len(masks)
    body = "".join(text(0, _TOP + _LANE * (i + 0.5) + 4, name) for i, name in enumerate(masks))
    for p, (what, title) in enumerate(PANELS):
        found = {k: s.mean for k, s in own.get(what, {}).items()}
        most = max([abs(v) for v in found.values()] + [_LEAST])
        x = _LEFT + wide * p
        body += text(x, 14, title, "panel") + text(x, 30, f"darkest: ±{most:.2f}", "tick")
        each = (wide - _GAP) / len(SHAPES)
        for s, shape in enumerate(SHAPES):
            body += text(x + each * (s + 0.5) - 2, _TOP - 5, LETTERS[shape], "tick", "middle")
            for i, name in enumerate(masks):
                y = _TOP + _LANE * i
                body += element("rect", x=x + each * s, y=y + 2, width=each - 4, height=_LANE - 4, class_="field")
                for j, n in enumerate(sizes):
                    if (n, shape, name) in found:
                        body += _cell(x + each * s + j * (each - 4) / len(sizes), y + 2, (each - 4) / len(sizes),
                                      found[n, shape, name], most, f"{title}, {name}, {shape}, n = {n:,}")
    said = (f"Z minus Y: blue if reverse mapping lowers risk or loss, orange if it raises them. In every field, from left to "
            f"right, n = {', '.join(f'{n:,}' for n in sizes)}. N normal, S skewed, Z zero-inflated, D discrete data. "
            "Empty fields: no difference, because the mask itself only reorders values.")
    return Figure("What reverse mapping adds, by mask, shape and size", said,
                  document("What reverse mapping adds", said, _WIDTH, bottom + 10, body))


def _cell(x: float, y: float, wide: float, value: float, most: float, where: str) -> str:
    side = "above" if value > 0 else "below"
    hint = element("title", escape(f"{where}: {value:+.3f}"))
    return element("rect", hint, x=x, y=y, width=wide, height=_LANE - 4, class_=f"heat {side}",
                   fill_opacity=f"{math.sqrt(abs(value) / most):.2f}")


def blocks(
    measures: Sequence[str], own: Mapping[str, Mapping[_Key, Summary]], refused: Mapping[str, str]
) -> tuple[ReportBlock, ...]:
    return open_issue_figure(own), table(measures, own, refused)
