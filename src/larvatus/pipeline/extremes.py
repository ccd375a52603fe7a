"""The warning that extremes are released unchanged, kept only for the columns in which later steps left them so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from larvatus.core.number_format import list_names
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata
from larvatus.data.notes import EXTREMES, Note
from larvatus.data.verbs import as_one_group

_MOST_NAMED = 5
_ENDS = ("smallest", "largest")


def unchanged_extremes(
    notes: Sequence[Note], original: Microdata, copies: Sequence[Microdata], masks: Sequence[Mask], rules: bool
) -> list[Note]:
    """The notes; warnings on extremes say what is true after all steps, and are dropped if it is nothing."""
    told = [n for n in notes if n.code == EXTREMES]
    if not told or (not rules and masks[-1].name() == told[-1].step):
        return list(notes)
    names = [n for n in original.numeric(original.confidential) if all(n in copy.numeric(copy.confidential) for copy in copies)]
    if len(names) < len(original.confidential):  # ordered categories are not compared
        return list(notes)
    before = {n: _ends(original, n) for n in names}
    after = [{n: _ends(copy, n) for n in names} for copy in copies]
    same = [[n for n in names if any(copy[n][side] == before[n][side] for copy in after)] for side in range(2)]
    said = _in_words(same, len(names))
    return [replace(n, text=said) if n.code == EXTREMES else n for n in notes if n.code != EXTREMES or said]


def _ends(data: Microdata, name: str) -> tuple[float, float]:
    low, high = as_one_group(data).table.quantiles(name, [0.0, 1.0])[0]
    return float(low), float(high)


def _in_words(same: Sequence[Sequence[str]], of: int) -> str:
    """Which ends of which columns are unchanged, as a sentence; empty if there are none."""
    low, high = same
    if low == high and low:
        return f"the smallest and the largest value of {_columns(low, of)} are released unchanged"
    parts = [f"the {end} value of {_columns(names, of)}" for end, names in zip(_ENDS, same, strict=True) if names]
    return f"{' and '.join(parts)} {'is' if len(parts) == 1 else 'are'} released unchanged" if parts else ""


def _columns(names: Sequence[str], of: int) -> str:
    return "every column" if len(names) == of > 1 else list_names(names, _MOST_NAMED)
