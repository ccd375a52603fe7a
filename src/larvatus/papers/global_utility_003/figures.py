"""Figures 1 and 2 of 003: the partial order of the masks, and which of them a measure hardly distinguishes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.reporting.figures.svg import document, element, line, text
from larvatus.reporting.page.blocks import Figure, ReportBlock

_WIDTH, BOX, TALL, _STEP = 720.0, 236.0, 26.0, 58.0
_PLACES = {
    "Age": (1.0, 0), "Age+Race10": (0.4, 1), "Age+Mar10": (1.6, 1), "Age+Race10+Mar10": (1.0, 2),
    "Age+Race10+Mar10+Tax": (0.4, 3), "Age+Race10+Mar10+Tax+Inc20": (0.4, 4), "Age+Race30+Mar30": (1.6, 3),
    "Age+Race30+Mar30+Tax": (1.6, 4), "Age+Race30+Mar30+Tax+Inc20": (1.0, 5),
}
UTILITY_MEASURES = ("U_p", "U_c (G = 1250)", "U_c (G = 2500)", "U_m", "U_s")
_NEAR = 0.05  # share of the range of a measure: releases nearer than this form one block


def utility_figures(where: Where) -> Sequence[ReportBlock]:
    return _order(), _blocks("3", UTILITY_MEASURES)


def _order() -> Figure:
    body = ""
    for arrow in rows("003", "figure 1"):
        less, more = (_place(n) for n in arrow.split(" > "))
        body += line(less[0], less[1] + TALL / 2, more[0], more[1] - TALL / 2, "axis")
        body += element("circle", cx=more[0], cy=more[1] - TALL / 2, r=3.0, class_="dot loss")
    for name in _PLACES:
        x, y = _place(name)
        body += element("rect", x=x - BOX / 2, y=y - TALL / 2, width=BOX, height=TALL, class_="field")
        body += text(x, y + 4, name, anchor="middle")
    said = "Each line leads down from a release to one that distorts the data more, marked by the dot."
    return Figure("Figure 1: partial order of the masks of household heads", said,
                  document("Partial order of masks", said, _WIDTH, 6 * _STEP, body))


def _place(name: str) -> tuple[float, float]:
    across, down = _PLACES[name]
    return 60 + across * 300.0, 24 + down * _STEP


def blocks_of_near_values(values: Sequence[float]) -> list[int]:
    """The block of each value; a new one begins if two adjacent sorted values differ by more than _NEAR of the range."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    wide = _NEAR * (max(values) - min(values))
    block, out = 0, [0] * len(values)
    for before, now in pairwise(order):
        block += values[now] - values[before] > wide
        out[now] = block
    return out


def _blocks(table: str, measures: Sequence[str]) -> Figure:
    names, left, high = rows("003", table), 215.0, 24.0
    wide = (_WIDTH - left) / len(measures)
    body = "".join(text(0, 60 + i * high, n) for i, n in enumerate(names))
    for j, measure in enumerate(measures):
        block = blocks_of_near_values(column("003", table, measure))
        name, _, groups = measure.partition(" ")
        body += text(left + (j + 0.5) * wide, 16, name, "panel", "middle")
        body += text(left + (j + 0.5) * wide, 33, groups.strip("()"), "tick", "middle")
        for i, own in enumerate(block):
            x, y = left + j * wide + 4, 44 + i * high
            depth = f"{0.12 + 0.7 * own / max(*block, 1):.2f}"
            body += element("rect", x=x, y=y, width=wide - 8, height=high - 2, class_="cell loss", fill_opacity=depth)
            body += text(x + wide / 2 - 4, y + 15, str(own + 1), anchor="middle")
    counts = ", ".join(f"{m} {max(blocks_of_near_values(column('003', table, m))) + 1}" for m in measures)
    said = (f"Printed values of Table 3. Releases whose values differ by at most {_NEAR:.0%} of the range of a measure form "
            f"one block, numbered from the most useful. Number of blocks: {counts}.")
    return Figure("Figure 2: similarity of masks by measure", said,
                  document("Similarity of masks", said, _WIDTH, 56 + len(names) * high, body))
