"""The points of the risk–utility map for every score, so that readers can choose other axes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import Candidate
from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_name
from larvatus.core.number_format import finite_number
from larvatus.data.score import Score
from larvatus.reporting.page.chart_rows import anchor

MEAN = "mean loss"


def live_points(candidates: Sequence[Candidate], heads: Sequence[Headline], attack: str, measures: Sequence[str]) -> str:
    """Axes and points as JSON: for every score its values, interval ends and baselines, one entry per release."""
    risks, losses = by_method(candidates, "risk"), by_method(candidates, "loss")
    axes = [_axis(f"risk: {name}", plain_name(name), "risk", scores) for name, scores in risks.items()]
    if len(measures) > 1:
        means = [_short(h.loss) for h in heads]
        axes.append({"key": MEAN, "name": f"mean over {len(measures)} measures", "kind": "loss", "values": means})
    axes += [_axis(f"loss: {name}", plain_name(name), "loss", scores) for name, scores in losses.items()]
    return json.dumps({
        "axes": axes, "y": f"risk: {attack}", "x": MEAN if len(measures) > 1 else f"loss: {measures[0]}",
        "points": [{"number": h.number, "name": h.name, "page": f"#{anchor(h)}"} for h in heads],
    }, ensure_ascii=False, separators=(",", ":"))


def _axis(key: str, name: str, kind: str, scores: Sequence[Score | None]) -> dict[str, Any]:
    axis: dict[str, Any] = {"key": key, "name": name, "kind": kind, "values": [_short(s.value) if s else None for s in scores]}
    if kind == "risk":
        axis["ends"] = [[_short(e) for e in s.interval] if s and s.interval else None for s in scores]
        axis["without"] = [_short(baseline(s)) if s else None for s in scores]
    return axis


def _short(value: float | None) -> float | None:
    """Four significant digits."""
    found = finite_number(value)
    return None if found is None else float(f"{found:.4g}")
