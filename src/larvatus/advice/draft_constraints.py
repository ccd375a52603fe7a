"""Draft constraints from what every record obeys; those that may hold by chance are written as comments."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from larvatus.advice.column_profile import FEWEST_VALUES, ColumnProfile
from larvatus.advice.rule_detection import DetectedRules
from larvatus.advice.total_detection import DetectedTotal
from larvatus.constraints.rules import parse_rule, quote_name

HEAD = (
    "# Every record of the original obeys these, and so will every released record. Delete those that are not intended: each",
    "# costs some accuracy, and after rounding or repair sufficiency_based no longer keeps moments exactly.",
)
_LISTS = ("integers", "non_negative", "rules")
CONSTRAINTS = (*_LISTS, "bounds", "decimals")
GUESSED = "# Commented lines may hold by chance: remove the # from those that are intended."
WAYS = (
    "# Commented totals hold in most records. Remove the # from one line of each to keep it: where it held, or with its",
    "# difference unmasked. Either shows which records are exceptions.",
)


@dataclass(frozen=True, slots=True)
class DraftConstraints:
    """Settings of [constraints] supported by the data, columns or rules that are only guessed, and totals with exceptions."""

    seen: Mapping[str, Any] = field(default_factory=dict)
    guessed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: tuple[DetectedTotal, ...] = ()

    def without(self, kinds: Collection[str]) -> DraftConstraints:
        """The same with some kinds of constraints as comments; bounds and decimals are left out."""
        seen = {k: v for k, v in self.seen.items() if k not in kinds}
        doubted = {k: (*self.seen[k], *self.guessed.get(k, ())) for k in _LISTS if k in kinds and k in self.seen}
        return DraftConstraints(seen, {**self.guessed, **doubted}, self.totals)

    def toml(self) -> str:
        """The [constraints] section of a study file, with guesses as comments."""
        if not self.seen and not self.guessed and not self.totals:
            return ""
        mark = "" if self.seen else "# "
        more = [*([GUESSED] if self.guessed else []), *(WAYS if self.totals else ())]
        lines = [*HEAD, *more, f"{mark}[constraints]"]
        for key in _LISTS:
            ways = [way for total in self.totals for way in total.ways] if key == "rules" else []
            lines += _listed(key, self.seen.get(key, ()), [*self.guessed.get(key, ()), *ways])
        if "bounds" in self.seen:
            bounds = (f"{_text(n)} = {{ least = {b['least']}, most = {b['most']} }}" for n, b in self.seen["bounds"].items())
            lines.append(f"bounds = {{ {', '.join(bounds)} }}")
        if "decimals" in self.seen:
            lines.append(f"decimals = {{ {', '.join(f'{_text(n)} = {d}' for n, d in self.seen['decimals'].items())} }}")
        return "\n".join(lines) + "\n"


def _listed(key: str, seen: Sequence[str], guessed: Sequence[str]) -> list[str]:
    if not seen and not guessed:
        return []
    mark = "" if seen else "# "
    body = [*(f"    {_text(t)}," for t in seen), *(f"    # {_text(t)}," if seen else f"#     {_text(t)}," for t in guessed)]
    return [f"{mark}{key} = [", *body, f"{mark}]"]


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def advise_constraints(columns: Sequence[ColumnProfile], rules: DetectedRules) -> DraftConstraints:
    """Draft constraints: whole numbers, decimals, non-negative columns, and rules between columns."""
    identities = [parse_rule(text).lines[0] for text in rules.identities]
    derived = {line.left.columns[0]: line.right for line in identities}
    rounded = [c for c in columns if c.decimals is not None and not c.constant and not c.dates and c.name not in derived]
    yes_no = {c.name: {"least": 0, "most": 1} for c in columns if c.yes_no and c.values >= FEWEST_VALUES
              and c.name not in derived}
    floors = {kind: [c.name for c in columns if c.floor == kind] for kind in ("seen", "guessed")}
    follows = {n for n, parts in derived.items() if all(k > 0 and p in floors["seen"] for p, k in parts.terms)}
    beneath = {f"{quote_name(p)} <= {quote_name(n)}" for n in follows for p in derived[n].columns}
    seen = {
        "integers": [c.name for c in rounded if c.integer and c.values >= FEWEST_VALUES],
        "decimals": {c.name: c.decimals for c in rounded if not c.integer and c.values >= FEWEST_VALUES},
        "non_negative": [n for n in floors["seen"] if n not in follows and n not in yes_no], "bounds": yes_no,
        "rules": list(rules.identities),
    }
    guessed = {
        "integers": tuple(c.name for c in rounded if c.integer and c.values < FEWEST_VALUES),
        "non_negative": tuple(n for n in floors["guessed"] if n not in follows),
        "rules": tuple(r for r in rules.inequalities if r not in beneath),
    }
    return DraftConstraints({k: v for k, v in seen.items() if v}, {k: v for k, v in guessed.items() if v}, rules.totals)
