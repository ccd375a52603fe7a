"""Certificates of a release, or of what a list of steps would make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from larvatus.certificates.certify import certify_release
from larvatus.certificates.privacy_of_release import privacy_of
from larvatus.core.errors import PairingError
from larvatus.data.accepted_types import ReleaseLike, StepLike
from larvatus.data.alignment import in_groups_of
from larvatus.data.certificate import ANOTHER_RELEASE, GIVEN_DRAWS, IN_ORDER, STATED_STEPS, Certificates
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.pairing import as_release
from larvatus.data.pairings.released_keys import with_released_keys
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release
from larvatus.data.roles import column_list
from larvatus.pipeline.apply_step import in_workable_groups
from larvatus.pipeline.make_release import mask


def certify(
    data: Microdata, release: ReleaseLike | StepLike | Sequence[StepLike], *,
    steps: Sequence[StepLike] = (), pairing: str | Path | None = None,
) -> Certificates:
    """Upper bounds on the share of records that any intruder links, for a release or for the steps that would make one.

    There is one bound for each kind of intruder: who knows one record, and who knows all records but not the pairing. No
    attack is run. If steps are given in place of a release, one is made with a new secret. Of a file, `steps` states
    how it was made; without them its bound is weaker. A file that is paired by position shows which row is whose: it
    needs its pairing file. Columns without a role may tell rows apart, so a file with such columns has no bound. What is
    proved, and where it ends: docs/science/certificates.md.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(500), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> release = lv.mask(data, "additive_noise(variance=4.0)")
        >>> found = lv.certify(data, release)
        >>> found.single_target.expected < 0.2 < found.whole_file.upper
        True
    """
    check_microdata(data)
    if _is_steps(release):
        found = certificates_of(data, mask(data, release))  # type: ignore[arg-type]
        given = any(GIVEN_DRAWS in one.assumptions for one in found)
        return found.assuming(ANOTHER_RELEASE) if given else found
    made = as_release(data, release, pairing)
    if not steps or made.steps:
        return certificates_of(data, made)
    masks = [with_records(m, None, data.roles.record_id) for m in all_of(Mask, list(steps))]
    return certificates_of(data, _made_by(data, made, masks)).assuming(STATED_STEPS)


def certificates_of(data: Microdata, release: Release, row_order: Literal["random", "keep"] = "random") -> Certificates:
    """The certificates of a release that was made or read already. Rows in the original order show which row is whose."""
    if not release.is_paired:
        raise PairingError("the release is not paired with the original, as certificates require. Give its pairing file.")
    original = in_groups_of(with_released_keys(data, release), release.data)
    found = certify_release(original, release)
    found.privacy = privacy_of(release, original)
    if row_order == "keep" or release.internals.kept_order:
        return found.without_bound(IN_ORDER)
    undeclared = release.internals.undeclared
    if undeclared:
        return found.without_bound(f"the file has columns without a role, which may tell rows apart: {column_list(undeclared)}")
    return found


def _made_by(data: Microdata, release: Release, steps: Sequence[Mask]) -> Release:
    """A file as the release that the steps made, in the sub-groups in which they ran: small ones may have been pooled."""
    pooled, _ = in_workable_groups(data, steps)
    return replace(release, steps=tuple(steps), copies=tuple(in_groups_of(copy, pooled) for copy in release.copies))


def _is_steps(given: object) -> bool:
    """Whether steps are given: masks, their tables, or texts that begin with the name of a mask."""
    if isinstance(given, list | tuple):
        return bool(given) and all(_is_steps(g) for g in given)
    if isinstance(given, str):
        from larvatus.core.discovery import discover

        return given.partition("(")[0].strip() in discover("larvatus.masks")
    return isinstance(given, Mask) or (isinstance(given, type) and issubclass(given, Mask)) or (
        isinstance(given, dict) and "method" in given)
