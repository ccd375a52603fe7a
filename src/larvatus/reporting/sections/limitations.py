"""What the figures of an internal report do not show, depending on what was run."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.by_method import by_method
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_name
from larvatus.comparison.subset import ComparisonLike
from larvatus.core.number_format import count, list_names, plural
from larvatus.reporting.page.blocks import Listing, Section

_SMALL = 30


def limitations_section(comparison: ComparisonLike, heads: Sequence[Headline]) -> Section:
    """The limitations that apply."""
    return Section("Limitations", (Listing(tuple(_items(comparison, heads))),))


def _items(comparison: ComparisonLike, heads: Sequence[Headline]) -> list[str]:
    risks, losses = by_method(comparison.candidates, "risk"), by_method(comparison.candidates, "loss")
    out = [
        f"Risk was estimated for {plural(len(risks), 'attack')} and one assumed intruder. Another attack, or an intruder who "
        "knows more, may succeed more often." if risks else "No attack was run, so the disclosure risk is unknown.",
        f"Loss was measured by {plural(len(losses), 'measure')}. Other properties may have changed more." if losses
        else "No measure was run, so the loss to analysts is unknown.",
    ]
    scores = [s for c in comparison.candidates for kind in (c.of_kind("risk"), c.of_kind("loss")) for s in kind]
    sampled = sorted({plain_name(s.method) for s in scores if s.sampled})
    if sampled:
        out.append(f"Estimated from a sample of the records: {list_names(sampled)}.")
    bare = [plain_name(n) for n, scores in risks.items() if not any(s and s.interval for s in scores)]
    if bare:
        out.append(f"No confidence interval, so success may be due to chance: {list_names(bare)}.")
    if risks:
        out.append("Intervals account for the choice of records only. A release made with another secret would have somewhat "
                   "different figures.")
    if len(heads) > 1:
        out.append(
            f"The best of {count(len(heads))} releases looks better than it is, because part of its lead is chance. Make the "
            "chosen release again with a fresh secret and score it once more before publishing it."
        )
    small = [n for n, size in comparison.about.group_sizes if size < _SMALL]
    if small:
        out.append(f"{plural(len(small), 'sub-group')} with fewer than {_SMALL} records: figures there are imprecise.")
    if losses and not any(len(s.by_domain) for s in scores):
        out.append("No loss was measured within domains that cut across sub-groups. Losses there may be larger.")
    if losses and "analyses" not in losses:
        out.append("No analysis was named, so the analyses that the release is meant for were not compared.")
    out.append("The report relies on the stated roles: a confidential column declared non-confidential is released unmasked.")
    return out
