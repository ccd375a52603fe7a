"""Turn a comparison into a report, in one of two editions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from larvatus.comparison.comparison import Candidate, Comparison
from larvatus.comparison.subset import ReleaseSubset
from larvatus.core.errors import LarvatusError, nearest_names
from larvatus.reporting.editions.internal import internal
from larvatus.reporting.editions.public import public
from larvatus.reporting.page.blocks import Edition, Report


def compose_report(
    comparison: Comparison, edition: Edition, release: str | None = None, chosen: str | None = None, why: Sequence[str] = (),
    warned: Sequence[str] = (), approved: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """The report on a comparison or on one of its releases; the public edition always covers one release."""
    from larvatus import __version__

    if edition not in get_args(Edition):
        raise LarvatusError(f"report: no edition {edition!r}; {nearest_names(str(edition), get_args(Edition))}")
    candidates = _candidates(comparison, release)
    names = [c.name for c in candidates]
    if chosen is not None and chosen not in names:
        raise LarvatusError(f"report: chosen: no release {chosen!r}; {nearest_names(chosen, names)}")
    if edition == "internal":
        whole = ReleaseSubset(candidates, comparison.about, comparison)
        own = {n: who for n, who in approved.items() if n in names}
        return internal(whole, __version__, chosen, tuple(w for w in why if w), tuple(warned), own)
    if len(candidates) > 1:
        raise LarvatusError(
            f"report: the public edition describes one release and {len(names)} are compared. "
            f"Name the one to describe (release = …); {nearest_names('', names)}"
        )
    return public(candidates[0], comparison.about, __version__)


def _candidates(comparison: Comparison, release: str | None) -> tuple[Candidate, ...]:
    found = tuple(c for c in comparison.candidates if release is None or c.name == release)
    if found:
        return found
    if release is None:
        raise LarvatusError("report: the comparison contains no release. Compare at least one.")
    raise LarvatusError(f"report: no release {release!r}; {nearest_names(release, [c.name for c in comparison.candidates])}")
