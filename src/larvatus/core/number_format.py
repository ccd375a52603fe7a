"""Number formats for readers: shares in per cent, losses to three decimals, counts with separators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

NONE = "–"
SPACE = "\N{NO-BREAK SPACE}"
EXACT = 1e-9
_DUST = 1e-12
_LONGEST = 60
_SIGN = re.compile(r"(?<![\w.])-(?=\d)")


def finite_number(value: Cell) -> float | None:
    """The value as a float if it is a finite number, else None."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def count(value: int) -> str:
    return f"{value:,}"


def exact_number(value: float) -> str:
    """A setting or limit with all its digits, thousands separated: 1,234,567 or 0.125; powers of ten only for extreme sizes."""
    found = float(f"{value:.12g}")  # without the dust of binary fractions
    return f"{int(found):,}" if found.is_integer() and abs(found) < 1e15 else f"{found:,}"


def of_all(value: int, total: int) -> str:
    """A count with its share of the total in brackets."""
    return f"{count(value)} ({share(value / total)})" if 0 < value <= total else count(value)


def share(value: Cell) -> str:
    """0.0724 as 7.2 %; 0 % and 100 % only if exact."""
    found = finite_number(value)
    if found is None:
        return NONE if value is None or value != value else str(value)
    if not -EXACT < found <= 1:
        return cell_text(found)
    return f"{_percent(100 * max(found, 0.0))}{SPACE}%"


def share_at_most(value: Cell) -> str:
    """A proved bound on a share, rounded up: 1/3 as 33.4 %. Rounded to the nearest digit it would say more than was proved."""
    found = finite_number(value)
    if found is None or not 0 < found <= 1:
        return share(value)
    percent = max(100 * found, 0.001)
    decimals = 1 if percent >= 1 else max(2, 1 - math.floor(math.log10(percent)))
    rounded = round_up(percent, decimals)
    return f"{'100' if rounded >= 100 else f'{rounded:.{decimals}f}'}{SPACE}%"


def number_at_most(value: float, digits: int = 4) -> str:
    """A proved bound with this many significant digits, rounded up."""
    if not math.isfinite(value) or value <= 0:
        return f"{value:.{digits}g}"
    return f"{round_up(value, digits - 1 - math.floor(math.log10(value))):.{digits}g}"


def round_up(value: float, decimals: int) -> float:
    """The smallest number with these decimals that is not below the value, rounding errors aside."""
    scale = 10.0**decimals
    return math.ceil(value * scale * (1 - _DUST)) / scale


def _percent(percent: float) -> str:
    if percent in (0, 100):
        return f"{percent:.0f}"
    if percent >= 99.95:
        return f"over{SPACE}99.9"
    if percent < 0.001:
        return f"below{SPACE}0.001"
    return f"{percent:.1f}" if percent >= 1 else f"{percent:.{max(2, 1 - math.floor(math.log10(percent)))}f}"


def loss(value: Cell) -> str:
    """Three decimals; a loss that is only rounding error is 0."""
    found = finite_number(value)
    if found is None:
        return NONE if value is None or value != value else str(value)
    if abs(found) < EXACT:
        return "0"
    if abs(found) < 0.001:
        return f"below{SPACE}0.001"
    return minus(f"{found:.3f}" if abs(found) < 100 else cell_text(found))


def minus(said: str) -> str:
    """Negative numbers with a minus sign as wide as a digit."""
    return _SIGN.sub("−", said)


def in_cell(value: Cell) -> str:
    """Any value of a table as text; a dash if there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (cell_text(value) if isinstance(value, str) else minus(cell_text(value))) or NONE


def interval_text(low: Cell, high: Cell) -> str:
    """Both ends as shares, with one per cent sign."""
    ends = [share(low), share(high)]
    if NONE in ends:
        return NONE
    sign = f"{SPACE}%"
    return f"{ends[0].removesuffix(sign)} to {ends[1]}" if all(e.endswith(sign) for e in ends) else " to ".join(ends)


def shares(values: Iterable[Cell]) -> str:
    """One share if all look the same, else the lowest and the highest."""
    found = sorted(v for v in map(finite_number, values) if v is not None)
    if not found:
        return NONE
    return share(found[0]) if share(found[0]) == share(found[-1]) else interval_text(found[0], found[-1])


def times(value: float, base: float) -> str:
    """The ratio of a value to a base, in words."""
    ratio = value / base
    return f"{ratio:,.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def plural(n: int, one: str, many: str = "") -> str:
    return f"{count(n)}{SPACE}{one if n == 1 else many or one + 's'}"


def words(name: str) -> str:
    """A method's or a column's name as words."""
    return name.replace("_", " ")


def quote(name: str) -> str:
    """A release's name in quotes, shortened if long."""
    return f"“{name if len(name) <= _LONGEST else name[: _LONGEST - 1] + '…'}”"


def list_names(names: Sequence[str], most: int = 60) -> str:
    """Names separated by commas; beyond `most`, the number of the others."""
    more = f" and {count(len(names) - most)} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none"

Cell = str | int | float | bool | None


def cell_text(value: Cell) -> str:
    """A cell as text: four significant digits, thousands separated, empty if missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size < 1e-12:
        return "0"
    if size >= 1e7 or size < 1e-4:
        return f"{value:.3g}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(size)))}f}"
