"""Files as hypothesis makes them: hard names, many or few categories, giants, zeros, missing values, constant columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from hypothesis import strategies as st

NAMES = (
    "income", "a.b", "net assets", 'quo"te', "it's", "true", "inf", "class", "lambda", "所得", "доход", "naïve é", "x = y",
    "[roles]", "# no comment", "back\\slash", "release", "1st", "nan", "a-b", "a,b", "دخل", "per cent %", "{x}", "method",
    "ΔT/°C", "import", "a>b", "b + c", "in", "NULL", "x", "value", "record_id",
)
SIZES = (150, 200, 260, 340, 450, 600)

Draw = np.random.Generator
Column = np.ndarray | list[str]


@dataclass(frozen=True)
class MadeFile:
    """A frame, and the roles that a user might give its columns."""

    frame: pd.DataFrame
    confidential: tuple[str, ...]
    non_confidential: tuple[str, ...]
    sub_groups: tuple[str, ...]
    kinds: dict[str, str] = field(default_factory=dict)
    nominal: tuple[str, ...] = ()
    weight: str = ""
    record_id: str = ""

    def options(self) -> list[str]:
        """The roles as options of the command."""
        given = (("--confidential", self.confidential), ("--non-confidential", self.non_confidential),
                 ("--sub-groups", self.sub_groups), ("--nominal", self.nominal))
        lists = [part for option, names in given if names for part in (option, json.dumps(names, ensure_ascii=False))]
        single = (("--weight", self.weight), ("--record-id", self.record_id))
        return [*lists, *(part for option, name in single if name for part in (option, name))]

    def __repr__(self) -> str:
        return f"MadeFile({len(self.frame)} records, {self.kinds})"


def _missing(draw: Draw, values: np.ndarray, share: float) -> np.ndarray:
    return np.where(draw.random(len(values)) < share, np.nan, values)


def _levels(draw: Draw, n: int, count: int, skewed: bool = False) -> np.ndarray:
    weights = 1 / np.arange(1, count + 1) if skewed else np.ones(count)
    return draw.choice(count, n, p=weights / weights.sum())


AMOUNTS: dict[str, Callable[[Draw, int, np.ndarray], Column]] = {
    "normal": lambda r, n, z: 50 + 10 * (z + r.normal(size=n)),
    "skewed": lambda r, n, z: np.exp(10 + z + r.normal(size=n)).round(),
    "giants": lambda r, n, z: np.where(np.arange(n) % 97 == 5, 1e4, 1) * np.exp(8 + z),
    "one at 1e15": lambda r, n, z: np.where(np.arange(n) == 5, 1e15, np.exp(8 + z)),
    "zeros": lambda r, n, z: np.where(r.random(n) < 0.6, 0, np.exp(9 + z)).round(2),
    "nearly all zero": lambda r, n, z: np.where(r.random(n) < 0.97, 0, np.exp(9 + z)).round(),
    "counts": lambda r, n, z: r.poisson(2, n),
    "yes or no": lambda r, n, z: r.integers(0, 2, n),
    "some missing": lambda r, n, z: _missing(r, np.exp(7 + z), 0.3),
    "nearly all missing": lambda r, n, z: np.where(np.arange(n) % 29 == 0, np.exp(7 + r.normal(size=n)), np.nan),
    "two values": lambda r, n, z: np.where(np.arange(n) < 2, np.arange(n) + 1.5, np.nan),
    "missing code": lambda r, n, z: np.where(r.random(n) < 0.2, -7, np.exp(8 + z)).round(),
    "constant": lambda r, n, z: np.full(n, 12.0),
    "empty": lambda r, n, z: np.full(n, np.nan),
    "nearly constant": lambda r, n, z: np.where(np.arange(n) == 3, 13.0, 12.0),
    "collinear": lambda r, n, z: 3 * z + 1,
    "negative": lambda r, n, z: -np.exp(z).round(3),
    "tiny": lambda r, n, z: 1e-9 * z,
    "huge": lambda r, n, z: 1e13 + 1e6 * z,
    "running number": lambda r, n, z: np.arange(1, n + 1),
    "dates": lambda r, n, z: [str(d)[:10] for d in np.datetime64("1950-01-01") + r.integers(0, 20000, n)],
    "categories": lambda r, n, z: [f"level {k}" for k in _levels(r, n, 5)],
    "300 categories": lambda r, n, z: [f"«{k}»" for k in _levels(r, n, 300)],
    "rare categories": lambda r, n, z: ["rare" if k % 83 == 0 else "usual" for k in range(n)],
    "one category": lambda r, n, z: ["all the same"] * n,
    "categories, some missing": lambda r, n, z: ["" if u < 0.2 else f"k{int(5 * u)}" for u in r.random(n)],
    "stray text": lambda r, n, z: ["refused" if k % 71 == 0 else f"{v:.1f}" for k, v in enumerate(np.exp(5 + z))],
}
KNOWN: dict[str, Callable[[Draw, int, np.ndarray], Column]] = {
    "age": lambda r, n, z: r.integers(16, 95, n),
    "exact": lambda r, n, z: 5 + z + r.normal(size=n),
    "skewed": AMOUNTS["skewed"], "giants": AMOUNTS["giants"], "some missing": AMOUNTS["some missing"],
    "constant": AMOUNTS["constant"], "empty": AMOUNTS["empty"], "collinear": AMOUNTS["collinear"],
    "categories": AMOUNTS["categories"], "300 categories": AMOUNTS["300 categories"], "dates": AMOUNTS["dates"],
    "rare categories": AMOUNTS["rare categories"], "one category": AMOUNTS["one category"],
    "categories, some missing": AMOUNTS["categories, some missing"], "running number": AMOUNTS["running number"],
    "codes": lambda r, n, z: r.integers(1, 9, n), "stray text": AMOUNTS["stray text"],
    "40 categories": lambda r, n, z: [f"{k:02d}" for k in _levels(r, n, 40, skewed=True)],
}
GROUPS: dict[str, Callable[[Draw, int, np.ndarray], Column]] = {
    "one": lambda r, n, z: ["all"] * n,
    "two": lambda r, n, z: r.integers(1, 3, n),
    "four": lambda r, n, z: [("north", "south", "east", "wäst")[k] for k in _levels(r, n, 4)],
    "many small": lambda r, n, z: [f"g{k}" for k in _levels(r, n, n // 5)],
    "300": lambda r, n, z: _levels(r, n, 300),
    "skewed": lambda r, n, z: _levels(r, n, 25, skewed=True),
    "a single record": lambda r, n, z: ["alone" if k == 0 else "others" for k in range(n)],
    "with missing": lambda r, n, z: ["" if u < 0.1 else f"r{int(3 * u)}" for u in r.random(n)],
    "by a number": lambda r, n, z: (z > 0).astype(int),
}


USABLE = frozenset({"normal", "skewed", "giants", "zeros", "counts", "some missing", "missing code", "negative", "categories"})


@st.composite
def made_files(draw: st.DrawFn) -> MadeFile:
    """A file of 150 to 600 records with one to four confidential columns."""
    r = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from(SIZES))
    names = list(draw(st.permutations(NAMES)))
    columns: dict[str, Column] = {}
    kinds: dict[str, str] = {}
    z = r.normal(size=n)
    roles: list[tuple[str, ...]] = []
    for role, (choices, least, most) in (
        ("confidential", (AMOUNTS, 1, 4)), ("known", (KNOWN, 0, 3)), ("group", (GROUPS, 0, 2)),
    ):
        picked = draw(st.lists(st.sampled_from(list(choices)), min_size=least, max_size=most, unique=True))
        if role == "confidential" and not USABLE & set(picked):
            picked.append(draw(st.sampled_from(sorted(USABLE))))
        mine = []
        for kind in picked:
            name = names.pop()
            columns[name], kinds[name] = choices[kind](r, n, z), f"{role}: {kind}"
            mine.append(name)
        roles.append(tuple(mine))
    if draw(st.booleans()) and len(roles[0]) > 1 and all(isinstance(columns[c], np.ndarray) for c in roles[0][:2]):
        name, (first, second) = names.pop(), roles[0][:2]
        columns[name], kinds[name] = columns[first] + columns[second], "confidential: sum"
        roles[0] = (*roles[0], name)
    nominal = tuple(n for n, kind in kinds.items() if kind.endswith(("counts", "codes")) and draw(st.booleans()))
    weight, record_id = (names.pop() if draw(st.booleans()) else "" for _ in range(2))
    if weight:
        weights = (np.exp(z).round(1), np.ones(n), _missing(r, z**2, 0.1))
        columns[weight], kinds[weight] = draw(st.sampled_from(weights)), "weight"
    if record_id:
        columns[record_id], kinds[record_id] = [f"id {k}" for k in r.permutation(n)], "record id"
    return MadeFile(pd.DataFrame(columns), *roles, kinds, nominal, weight, record_id)
