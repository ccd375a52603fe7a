"""What the figures of an internal report do not say, by rule from what was run."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.headline import Headline
from larvatus.comparison.subset import ComparisonLike
from larvatus.core.number_format import count, list_names, plural, words
from larvatus.reporting.page.blocks import Listing, Section

_SMALL = 30


def limitations_section(comparison: ComparisonLike, heads: Sequence[Headline]) -> Section:
    """Each limitation only where it applies."""
    return Section("Limitations", (Listing(tuple(_items(comparison, heads))),))


def _items(comparison: ComparisonLike, heads: Sequence[Headline]) -> list[str]:
    risks, losses = by_method(comparison.candidates, "risk"), by_method(comparison.candidates, "loss")
    out = [
        f"Risk is known for {plural(len(risks), 'attack')} under one intruder. Another attack, or an intruder who knows more, "
        "may do better." if risks else "No attack was run: nothing here speaks of disclosure risk.",
        f"Loss is known for {plural(len(losses), 'measure')}. What was not measured may have changed more." if losses
        else "No measure was run: nothing here speaks of what analysts lose.",
    ]
    scores = [s for c in comparison.candidates for kind in (c.of_kind("risk"), c.of_kind("loss")) for s in kind]
    sampled = sorted({words(s.method) for s in scores if s.sampled})
    if sampled:
        out.append(f"Estimated from a sample of the records: {list_names(sampled)}.")
    bare = [words(n) for n, scores in risks.items() if not any(s and s.interval for s in scores)]
    if bare:
        out.append(f"Without an interval, so that chance cannot be told from success: {list_names(bare)}.")
    if risks:
        out.append("Intervals are over records. Another secret would give another release, whose figures differ a little more.")
    if len(heads) > 1:
        out.append(
            f"Of {count(len(heads))} releases the best-looking one looks better than it is: part of its lead is chance. Score "
            "the release that leaves once more, made with a fresh secret."
        )
    small = [n for n, size in comparison.about.group_sizes if size < _SMALL]
    if small:
        out.append(f"{plural(len(small), 'sub-group')} of fewer than {_SMALL} records: figures there are rough.")
    if losses and not any(len(s.by_domain) for s in scores):
        out.append("No loss was measured inside domains that cut across sub-groups; what holds in the file may fail there.")
    if losses and "analyses" not in losses:
        out.append("No analysis was named, so that none of those the release is for was compared.")
    out.append("The report rests on the roles as stated: a column wrongly called non-confidential leaves as it is.")
    return out
