"""The record of a decision: the verdict on every limit, the scores behind it, and a warning if a limit is broken.

Nothing is refused here: the board decides, and the warning is shown to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from larvatus.comparison.comparison import Candidate, Comparison
from larvatus.comparison.limits_by_release import judge_limits
from larvatus.core.number_format import quote
from larvatus.data.intruder import Intruder


def warnings_of(
    comparison: Comparison, published: str | None = None, approved: str | None = None, by: str = ""
) -> dict[str, str]:
    """By name, one sentence for each release that is approved or published although it breaks a limit."""
    limits = judge_limits(comparison)
    made = [c.name for c in comparison.candidates]
    out = {}
    for name in dict.fromkeys(n for n in (approved, published) if n in made):
        if limits is None or limits.meets(name):
            continue
        acts = [f"approved{f' by {by}' if by else ''}"] if name == approved else []
        acts += ["published"] if name == published else []
        out[name] = f"{quote(name)} is {' and '.join(acts)} although it {limits.in_words(name)}."
    return out


def decision_on(
    comparison: Comparison, candidate: Candidate, who: Intruder, chosen: str | None, published: str | None, reason: str,
    warnings: Mapping[str, str],
) -> dict[str, Any]:
    """What the internal manifest records about a release after the comparison: figures, never values or the secret."""
    judged = comparison.judge().get(candidate.name) if comparison.limits else None
    return {
        "limits": None if judged is None else {
            "stated": comparison.limits.plain(), "met": judged.meets_limits, "verdicts": [_finite(r) for r in judged.rows],
        },
        "scores": [_finite(s.row()) | {"decides": s.decides} for s in candidate.scores],
        "combined": [_finite(s.row()) for s in comparison.combined_scores(candidate)],
        "intruder": {
            "in_words": comparison.about.intruder, "knows": list(comparison.about.intruder_knows), "settings": _told(who),
        },
        "chosen": candidate.name == chosen, "published": candidate.name == published,
        "reason": reason if candidate.name == chosen else "",
        "compared_with": [c.name for c in comparison.candidates if c.name != candidate.name],
        "not_made": [n.name for n in comparison.not_made],
        "warnings": [w for name, w in warnings.items() if name == candidate.name],
    }


def _told(who: Intruder) -> dict[str, Any]:
    """The intruder's settings, with file names but no folders."""
    plain = who.model_dump(mode="json", exclude_defaults=True)
    if plain.get("file"):
        plain["file"] = Path(plain["file"]).name
    if plain.get("other_releases"):
        plain["other_releases"] = [Path(n).name for n in plain["other_releases"]]
    return plain


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
