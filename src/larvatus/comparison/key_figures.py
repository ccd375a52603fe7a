"""Figures of key risk that limits refer to (k, l, t, expected re-identifications), and a sentence on keys that identify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from larvatus.comparison.tiers import TIERS
from larvatus.core.number_format import interval_text, share
from larvatus.data.pairings.released_keys import INFORMATION_LOST
from larvatus.data.score import Score

KEY_RISK, KEY_LOSS = "key_risk", "key_loss"
SMALLEST_CLASS, RE_IDENTIFICATIONS, ABOVE = "smallest class", "expected re-identifications", "records with a risk above"
KEY_LIMITS: Mapping[str, str] = {  # what a limit on key risk may be on, and what tables call it
    "k": "smallest class (k)", "l": "fewest values in a class (l)", "t": "largest distance of a class (t)",
    "re_identifications": "expected re-identifications", "above_threshold": "records above the threshold",
}
AT_LEAST = frozenset({"k", "l"})  # limits that are minima


def key_sentence(scores: Iterable[Score]) -> str:
    """The keys that identify persons, by the score with the highest risk; empty if hardly any record is at risk.

    Records are at risk if the individual risk of some is above the threshold, or the mean is above that of a public file.
    """
    score = max((s for s in scores if s.method == KEY_RISK), key=lambda s: s.value, default=None)
    if score is None or not ((_summary(score, ABOVE) or 0) > 0 or score.value > TIERS["public"].key_risk):
        return ""
    keys = sorted(score.details.get("without_key", ()), key=lambda r: -float(r["reduction"] or 0))
    records, expected = _summary(score, "records") or 0, _summary(score, RE_IDENTIFICATIONS) or 0
    low, high = score.interval or (score.value, score.value)
    ends = f"; interval {interval_text(low, high)}" if high > low else ""
    listed = score.settings.get("keys")
    names = [str(r["variable"]) for r in keys] or (list(map(str, listed)) if isinstance(listed, list | tuple) else [])
    named = f" ({', '.join(names)})" if names else ""
    many = f"an expected {expected:,.0f} of {records:,.0f} records ({share(score.value)}{ends})" if records else (
        f"{share(score.value)} of the records")
    said = f"The keys{named} identify {many}."
    if len(keys) < 2:
        return said
    return f"{said} Most of it is due to {keys[0]['variable']}: without it, {share(keys[0]['risk without it'])}."


def weight_sentence(scores: Iterable[Score]) -> str:
    """The records that the keys single out with the released weight and not without it; empty if there are none."""
    found = [_weight_counts(s) for s in scores if s.method == KEY_RISK]
    with_weight, without, records = max(found, key=lambda counts: counts[0] - counts[1], default=(0.0, 0.0, 0.0))
    if with_weight <= without:
        return ""
    return (f"The keys and the released weight together single out {with_weight:,.0f} of {records:,.0f} records; the keys "
            f"alone single out {without:,.0f}. Group, round or leave out the weight.")


def _weight_counts(score: Score) -> tuple[float, float, float]:
    """Records singled out by the keys with the released weight and without it, and all records; zero if unknown."""
    rows = {str(r["figure"]): r["release"] for r in score.details.get("weight", ())}
    both, keys = (next((v for figure, v in rows.items() if figure.endswith(f"singled out by {what}")), None)
                  for what in ("the keys and the weight", "the keys"))
    return float(both or 0), float(keys or 0), _summary(score, "records") or 0.0


def key_loss(scores: Iterable[Score]) -> float | None:
    """The share of the information in the keys that is lost; 0 if no step changed a key, None without a score of key risk."""
    found = [_summary(s, INFORMATION_LOST) or 0.0 for s in scores if s.method == KEY_RISK]
    return max(found, default=None)


def key_figure(score: Score, figure: str, upper: bool = False) -> float | None:
    """One figure of key risk, from the upper end of the interval if `upper`; None if the score lacks it."""
    return _FIGURES[figure](score, upper) if score.method == KEY_RISK else None


def _summary(score: Score, name: str) -> float | None:
    """The figure of the summary whose name starts so."""
    found = (row["value"] for row in score.details.get("key_summary", ()) if str(row["figure"]).startswith(name))
    return next((float(v) for v in found if isinstance(v, int | float)), None)


def _worst(score: Score, column: str, least: bool) -> float | None:
    """The worst figure of diversity over the confidential columns."""
    found = [float(v) for row in score.details.get("diversity", ()) if isinstance(v := row.get(column), int | float)]
    return (min if least else max)(found) if found else None


def _re_identifications(score: Score, upper: bool) -> float | None:
    count, ends = _summary(score, RE_IDENTIFICATIONS), score.interval
    if count is None or not upper or ends is None or score.value <= 0:
        return count
    return count * max(ends[1] / score.value, 1.0)


_FIGURES: Mapping[str, Callable[[Score, bool], float | None]] = {
    "k": lambda score, upper: _summary(score, SMALLEST_CLASS),
    "l": lambda score, upper: _worst(score, "distinct l", least=True),
    "t": lambda score, upper: _worst(score, "t", least=False),
    "re_identifications": _re_identifications,
    "above_threshold": lambda score, upper: _summary(score, ABOVE),
}
