"""Code shared by the papers: secrets from seeds, releases by name, and figures read from scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.pipeline import mask, risk, utility


def secret(seed: int) -> bytes:
    """A key from a seed; not secret, so that reproduced tables are the same everywhere."""
    return f"figures of published tables, seed {seed:06d}".encode()


def make_releases(data: Microdata, masks: Mapping[str, Any], seed: int) -> dict[str, Release]:
    """A release for every named list of steps."""
    return {name: mask(data, *(steps if isinstance(steps, list) else [steps]), secret=secret(seed))
            for name, steps in masks.items()}


def attack_once(data: Microdata, release: Any, attack: Any, **more: Any) -> Score:
    """The score of one attack."""
    return risk(data, release, [attack], **more)[0]


def measure_once(data: Microdata, release: Any, measure: Any, **more: Any) -> Score:
    """The score of one measure."""
    return utility(data, release, [measure], **more)[0]


def column_number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def counts(score: Score) -> list[float]:
    """Records found, by sub-group."""
    return [column_number(r["value"]) * column_number(r["records"]) for r in score.by_group]


def correlations(
    data: Microdata, release: Any, first: str, second: str, ranks: bool = False
) -> tuple[list[float], list[float]]:
    """Correlations of two columns, original and released: in every sub-group in order, then over the file."""
    return correlation_pairs(data, release, [(first, second)], ranks)[first, second]


def correlation_pairs(
    data: Microdata, release: Any, pairs: Sequence[tuple[str, str]], ranks: bool = False
) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """The same for several pairs at once."""
    score = measure_once(data, release, {"method": "rank_correlation" if ranks else "correlation", "shown": 1000})
    names = [str(r["sub_group"]) for r in score.by_group]
    inside = {(r["sub_group"], r["first"], r["second"]): r for r in score.details.get("sub_group_pairs", ())}
    whole = {(r["first"], r["second"]): r for r in score.by_pair}
    out = {}
    for a, b in pairs:
        rows = [*(inside[n, a, b] for n in names if len(names) > 1), whole[a, b]]
        out[a, b] = [column_number(r["original"]) for r in rows], [column_number(r["released"]) for r in rows]
    return out
