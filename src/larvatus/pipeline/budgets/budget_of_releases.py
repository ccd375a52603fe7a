"""The budget of a source: what its releases tell together, and what a further one would add."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from larvatus.certificates.budgets.total_of_releases import total_of
from larvatus.core.errors import ManifestError
from larvatus.data.budgets.release_budget import ReleaseBudget
from larvatus.data.budgets.release_information import BudgetEntry
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.pipeline.budgets.manifest_entries import check_key, entry_of, read_entry

BudgetedRelease = str | Path | BudgetEntry | tuple[Microdata, Release]


def budget(
    releases: BudgetedRelease | Sequence[BudgetedRelease], *, further: BudgetedRelease | None = None,
    key: bytes | None = None, source: str = "",
) -> ReleaseBudget:
    """What releases of the same records tell together about who is who, in bits per record.

    A release is given by its internal manifest, written by a study with `[budget] key_file`, or as a pair of the data and the
    release. Pairs need the key. `further` is a release that is not out yet; it is the last one of the result. Releases of
    different values of the same persons, such as the file of the next year, need the same name of the source. What is proved,
    and what is not: docs/science/release-budget.md.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> noise, shuffled = (lv.mask(data, step) for step in ("additive_noise(variance=4.0)", "data_shuffling"))
        >>> found = lv.budget([(data, noise)], further=(data, shuffled), key=b"a key that nobody else knows")
        >>> [part.proof for part in found], found.parts[1].added
        (['the law of the noise', 'equal S, and a mask that uses no value of a single record'], 0.0)
    """
    one = isinstance(releases, str | Path | BudgetEntry) or (
        isinstance(releases, tuple) and len(releases) == 2 and isinstance(releases[0], Microdata))
    given: list[BudgetedRelease] = [releases] if one else list(releases)  # type: ignore[list-item,arg-type]
    if further is not None:
        given.append(further)
    if not given:
        raise ManifestError("budget: no release is given. Give the internal manifests of all releases of a source.")
    return total_of([_entry(r, key, source) for r in given])


def _entry(released: BudgetedRelease, key: bytes | None, source: str) -> BudgetEntry:
    if isinstance(released, BudgetEntry):
        return released
    if isinstance(released, str | Path):
        return read_entry(released)
    if key is None:
        raise ManifestError("key: is needed for a release that is given with its data. Use the same key for all of them.")
    data, release = released
    return entry_of(data, release, check_key(key), source)
