"""Public notes on the rules that a release obeys: words and settings, never a count."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from larvatus.constraints.rules import Linear
from larvatus.constraints.settings import Constraints
from larvatus.data.contracts import Mask
from larvatus.data.notes import Note

NO_CORRECTION = "The stated noise does not apply to values changed in this way, and corrections for noise do not hold for"

STATES_NOISE = frozenset({"variance", "bias_sd"})


def with_noise(step: Mask) -> bool:
    """Whether the size of the noise is among the published settings of a step."""
    return bool(STATES_NOISE & step.publishable)


def rule_notes(
    asked: Constraints, derived: Mapping[str, Linear], masked: Collection[str], obeyed: Sequence[str], moved: Collection[str],
    noisy: Collection[str], coded: Collection[str] = (),
) -> list[Note]:
    """Notes on columns derived, rounded or changed after the steps, and on the rules that every record obeys.

    `noisy` are the columns whose noise is published; only for these can a statement about noise have become wrong.
    `coded` are the columns with codes of missing values.
    """
    apart = {r.lines[0].left.columns[0] for r in asked.read_rules() if r.exceptions}  # described with their exceptions
    said = [
        f"{name} is computed from its masked parts ({', '.join(n for n in parts.columns if n in masked)})"
        f"{_besides([n for n in parts.columns if n not in masked])}"
        f"{'; the stated noise is that of its parts' if any(n in noisy for n in parts.columns) else ''}."
        for name, parts in derived.items() if name not in apart
    ]
    said += _rounded(asked)
    if moved:
        how = {
            "nearest": "records that broke a rule or a bound were changed to the nearest values that break none",
            "redraw": f"records that broke a rule or a bound were redrawn, up to {asked.attempts} times",
            "reverse_map": "values were changed to obey rules",
        }[asked.repair]
        names = ", ".join(moved)
        untrue = ", ".join(n for n in moved if n in noisy)
        said.append(f"After masking, {how}. This changed values of {names}.{f' {NO_CORRECTION} {untrue}.' if untrue else ''}")
    if obeyed:
        apart_from = " Codes of missing values are not counted." if coded else ""
        said.append(f"Every record obeys: {'; '.join(obeyed)}.{apart_from}")
    return [Note(text, step="", public=True) for text in said]


def _besides(others: Sequence[str]) -> str:
    return f" and from {', '.join(others)}, released as it is" if others else ""


def _rounded(asked: Constraints) -> list[str]:
    to = {name: f"{d} decimals" if d != 1 else "1 decimal" for name, d in asked.decimals.items()}
    to |= dict.fromkeys(asked.integers, "whole numbers")
    by = {unit: ", ".join(n for n, u in to.items() if u == unit) for unit in dict.fromkeys(to.values())}
    which = "; ".join(f"{names} to {unit}" for unit, names in by.items())
    return [f"After masking, values were rounded: {which}."] if by else []
