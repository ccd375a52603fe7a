"""From measured figures to verdicts: exact, in band, outside, or cannot be reproduced, because …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import numpy as np

from larvatus.papers.figures import Published, published, title
from larvatus.papers.frame import FEWEST, NOT_YET, Claim, Figures, Holds, Paper, Table

Verdict = Literal["exact", "in band", "outside", "too few seeds", "cannot be reproduced", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LOW, HIGH = 0.01, 0.99
BY_CHANCE = 1 - (HIGH - LOW)  # share of figures of the same law that lie outside
T = TypeVar("T")
ENOUGH = 100  # seeds from which percentiles make the band; with fewer it is where one more draw would lie
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure over seeds: mean, band, extremes, and how many seeds there were."""

    mean: float
    low: float
    high: float
    least: float
    most: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Measured:
        x = np.asarray(values, dtype=np.float64)
        mean, n = float(x.mean()), len(x)
        if n >= ENOUGH:
            low, high = (float(v) for v in np.quantile(x, [LOW, HIGH]))
        elif np.ptp(x) == 0:
            low = high = mean
        else:
            from scipy.stats import t

            wide = float(t.ppf(HIGH, n - 1) * x.std(ddof=1) * np.sqrt(1 + 1 / n))
            low, high = mean - wide, mean + wide
        return cls(mean, low, high, float(x.min()), float(x.max()), n)


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure beside the measured one."""

    published: Published
    measured: Measured | None
    verdict: Verdict
    because: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """One table with all its rows."""

    paper: str
    table: Table
    title: str
    rows: tuple[Row, ...]
    seeds: int
    random: bool = True
    hurry: str = ""

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.table.number}"

    @property
    def notes(self) -> list[str]:
        """What the table was made on, what was smaller in a hurry, and what follows from the rows."""
        held = [r for r in self.rows if r.measured and r.verdict in ("exact", "in band", "outside")]
        remark = self.table.remark(held) if self.table.remark and held else ""
        return [said for said in (self.table.note, self.hurry, remark) if said]

    def count(self, verdict: Verdict) -> int:
        return sum(r.verdict == verdict for r in self.rows)

    def in_words(self) -> str:
        """How many rows have which verdict, and how many would lie outside by chance."""
        said = ", ".join(f"{self.count(k)} {k}" for k in VERDICTS if self.count(k))
        held = [r.measured for r in self.rows if r.measured and r.verdict in ("in band", "outside")]
        random = [m for m in held if m.low < m.high]
        by_chance = round(BY_CHANCE * len(random))
        return said + (f" (about {by_chance} of {len(random)} would lie outside by chance)" if by_chance else "")


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with what was measured."""

    paper: str
    says: str
    verdict: Holds | Literal["not measured"]
    evidence: str


def measured(seeds: Sequence[Figures]) -> dict[str, Measured]:
    """Every figure over the seeds that gave it."""
    found: dict[str, list[float]] = {}
    for figures in seeds:
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
    return {name: Measured.of(values) for name, values in found.items()}


def checked(
    paper: Paper, table: Table, found: Mapping[str, Measured], missing: str = "", quick: bool = False
) -> Checked:
    """A table's rows with their verdicts; `missing` says why some or all of it was not measured."""
    out = []
    random = paper.experiment(table.experiment).seeds != 1
    for figure in published(paper.number, table.number, table.symmetric):
        now = found.get(figure.name)
        impossible = _beginning(table.cannot, figure.name)
        reason = ("" if now else missing) or impossible or ("" if now else "the experiment gives no such figure")
        if reason:
            out.append(Row(figure, now, "not run" if reason == NOT_YET else "cannot be reproduced", reason))
        elif now is not None:
            out.append(Row(figure, now, _verdict(table, figure, now, random)))
    seeds = max((r.measured.seeds for r in out if r.measured), default=0)
    short = [paper.experiment(e).hurry for e in table.experiments]
    hurry = f"In a hurry: {'; '.join(filter(None, short))}." if quick and any(short) else ""
    return Checked(paper.number, table, title(paper.number, table.number), tuple(out), seeds, random, hurry)


def _verdict(table: Table, figure: Published, now: Measured, random: bool) -> Verdict:
    room, value = figure.half + ROUNDING, figure.value
    equal = value - room <= now.least and now.most <= value + room
    few = random and now.seeds < FEWEST
    if any(figure.name.startswith(f"{table.number}/{e}") for e in table.exact):
        return "exact" if equal else "outside"
    if equal and not few:
        return "exact"
    allowed = _beginning(table.within, figure.name)
    if allowed is not None:
        return "in band" if abs(now.mean - value) <= allowed + ROUNDING else "outside"
    if now.low - room <= value <= now.high + room:
        return "in band"
    return "too few seeds" if few else "outside"


def _beginning(said: Mapping[str, T], name: str) -> T | None:
    """What is said of the figures whose name, after that of the table, begins like this."""
    rest = name.partition("/")[2]
    return next((v for k, v in said.items() if rest.startswith(k)), None)


def judged(paper: Paper, claim: Claim, found: Mapping[str, Measured], missing: str = "") -> Judged:
    """A claim held against what was measured."""
    if missing:
        return Judged(paper.number, claim.says, "not measured", missing)
    verdict, evidence = claim.judge(found)
    return Judged(paper.number, claim.says, verdict, evidence)
