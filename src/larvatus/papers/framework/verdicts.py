"""From measured figures to verdicts: exact, in band, outside, or cannot be reproduced (with the reason)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, get_args

import numpy as np

from larvatus.papers.framework.model import FEWEST_SEEDS, NOT_YET, Claim, Evidence, Figures, Holds, Paper, PublishedTable
from larvatus.papers.framework.published_figures import PublishedFigure, published_figures, title

Verdict = Literal["exact", "in band", "outside", "too few seeds", "cannot be reproduced", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_LOW, _HIGH = 0.01, 0.99
_T = TypeVar("_T")
ENOUGH = 99  # with this many seeds the percentiles lie within the observed range; with fewer the band is that range
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure over seeds: mean, band, extremes, and the number of seeds.

    One more draw lies between the percentiles with the stated probability, whatever its distribution. The percentiles never
    exceed the observed range, so a band contains only possible values, be it a share, a count or an absolute shift.
    """

    mean: float
    low: float
    high: float
    least: float
    most: float
    seeds: int
    by_seed: Mapping[int, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, values: Sequence[float] | Mapping[int, float]) -> MeasuredFigure:
        by_seed = dict(values) if isinstance(values, Mapping) else dict(enumerate(values))
        x = np.fromiter(by_seed.values(), dtype=np.float64)
        low, high = (float(v) for v in np.quantile(x, [_LOW, _HIGH], method="weibull"))
        least, most = float(x.min()), float(x.max())
        mean = least if least == most else float(x.mean())
        return cls(mean, low, high, least, most, len(x), by_seed)

    @property
    def by_chance(self) -> float:
        """Upper bound of the probability that a figure of the same distribution lies outside the band; 0 if not random.

        Ties, and the allowance for rounding in print, make it less likely.
        """
        return max(1 - (_HIGH - _LOW), 2 / (self.seeds + 1)) if self.high - self.low > _ROUNDING else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation over seeds."""
        x = np.fromiter(self.by_seed.values(), dtype=np.float64)
        return float(x.std(ddof=1)) if len(x) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A published figure and the measured one; `of` is the number of seeds run, some of which may not give the figure.

    `banded` is true if it is compared with the band over seeds, not with a tolerance or with every seed.
    """

    published: PublishedFigure
    measured: MeasuredFigure | None
    verdict: Verdict
    because: str = ""
    of: int = 0
    banded: bool = True

    @property
    def deviations(self) -> float:
        """The printed figure minus the mean over seeds, in standard deviations over seeds."""
        spread = self.measured.deviation if self.measured else 0.0
        return (self.published.value - self.measured.mean) / spread if self.measured and spread > 0 else float("inf")

    @property
    def by_chance(self) -> float:
        """Upper bound of the probability that this figure lies outside; 0 if no band decides or nothing is random."""
        return self.measured.by_chance if self.measured and self.banded and self.verdict in ("in band", "outside") else 0.0


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """One table with all its rows."""

    paper: str
    table: PublishedTable
    title: str
    rows: tuple[VerdictRow, ...]
    seeds: int
    random: bool = True
    hurry: str = ""
    remark: str = ""
    capped: str = ""

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.table.number}"

    @property
    def notes(self) -> list[str]:
        """The data used, what is smaller in a quick run, and what follows from the rows."""
        return [said for said in (self.table.note, self.hurry, *self.remark.split("\n")) if said]

    def count(self, verdict: Verdict) -> int:
        return sum(r.verdict == verdict for r in self.rows)

    def in_words(self) -> str:
        """The count of each verdict, and how many figures would lie outside by chance."""
        said = ", ".join(f"{self.count(k)} {k}" for k in VERDICTS if self.count(k))
        random = distinct([r for r in self.rows if r.by_chance])
        by_chance = sum(r.by_chance for r in random)
        return said + (f" (expected outside by chance: at most {by_chance:.1f} of {len(random)})" if by_chance >= 0.5 else "")


def distinct(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Rows without repetition: columns that agree in print and in every seed count once."""
    def seen(row: VerdictRow) -> tuple[float | str, ...]:
        now = row.measured
        return row.published.row, row.published.text, *((round(v, 6) for v in (now.mean, now.least, now.most)) if now else ())

    return list({(seen(r) if r.measured and r.measured.seeds > 1 else i): r for i, r in enumerate(rows)}.values())


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its verdict and evidence."""

    paper: str
    says: str
    verdict: Holds | Literal["not measured"]
    evidence: Evidence
    place: str


def figures_by_name(seeds: Sequence[Figures]) -> dict[str, MeasuredFigure]:
    """Every figure, over the seeds that give it."""
    found: dict[str, dict[int, float]] = {}
    for seed, figures in enumerate(seeds):
        for name, value in figures.items():
            found.setdefault(name, {})[seed] = value
    return {name: MeasuredFigure.of(values) for name, values in found.items()}


def check_table(
    paper: Paper, table: PublishedTable, found: Mapping[str, MeasuredFigure], missing: str = "", quick: bool = False,
    asked: int = 0
) -> CheckedTable:
    """A table's rows with verdicts; `missing` is why some of it was not measured, `asked` the number of seeds requested."""
    from larvatus.papers.framework.remarks import outside

    out = []
    random = paper.experiment(table.experiment).seeds != 1
    for figure in published_figures(paper.number, table.number, table.symmetric):
        now = found.get(figure.name)
        impossible = _beginning(table.cannot, figure.name)
        reason = ("" if now else missing) or impossible or ("" if now else "no seed gives this figure")
        if reason:
            out.append(VerdictRow(figure, now, "not run" if reason == NOT_YET else "cannot be reproduced", reason))
        elif now is not None:
            out.append(VerdictRow(figure, now, _verdict(table, figure, now, random), banded=_banded(table, figure)))
    seeds = max((r.measured.seeds for r in out if r.measured), default=0)
    out = [replace(r, of=seeds) for r in out]
    short = [paper.experiment(e).hurry for e in table.experiments]
    hurry = f"Quick run: {'; '.join(filter(None, short))}." if quick and any(short) else ""
    held = [r for r in out if r.measured and r.verdict in ("exact", "in band", "outside")]
    remark = (table.remark or outside)(held, found) if held else ""
    experiment = paper.experiment(table.experiment)
    most = experiment.seeds
    capped = experiment.most if random and not quick and most is not None and most < asked and seeds == most else ""
    return CheckedTable(paper.number, table, title(paper.number, table.number), tuple(out), seeds, random, hurry, remark,
                        capped)


def _verdict(table: PublishedTable, figure: PublishedFigure, now: MeasuredFigure, random: bool) -> Verdict:
    room, value = figure.half + _ROUNDING, figure.value
    equal = value - room <= now.least and now.most <= value + room
    if _to_the_digit(table, figure):
        return "exact" if equal else "outside"
    allowed = _beginning(table.within, figure.name)
    if allowed is not None:
        near = abs(now.mean - value) <= allowed + _ROUNDING
        return "exact" if equal else "in band" if near else "outside"
    if random and now.seeds < FEWEST_SEEDS:
        return "too few seeds"
    if equal:
        return "exact"
    return "in band" if now.low - room <= value <= now.high + room else "outside"


def _to_the_digit(table: PublishedTable, figure: PublishedFigure) -> bool:
    return any(figure.name.startswith(f"{table.number}/{e}") for e in table.exact)


def _banded(table: PublishedTable, figure: PublishedFigure) -> bool:
    return not _to_the_digit(table, figure) and _beginning(table.within, figure.name) is None


def _beginning(said: Mapping[str, _T], name: str) -> _T | None:
    """The entry whose key is the beginning of the figure's name, after the name of the table."""
    rest = name.partition("/")[2]
    return next((v for k, v in said.items() if rest.startswith(k)), None)


def judge_claim(
    paper: Paper, claim: Claim, found: Mapping[str, MeasuredFigure], missing: str = "", ran: Mapping[str, int] | None = None
) -> JudgedClaim:
    """Judge a claim by the measured figures; `ran` is the number of seeds of each experiment.

    With fewer than FEWEST_SEEDS seeds only identities are judged, whatever the claim's own rule.
    """
    if missing:
        return JudgedClaim(paper.number, claim.says, "not measured", Evidence(missing), claim.place)
    verdict, said = claim.judge(found)
    evidence = said if isinstance(said, Evidence) else Evidence(said)
    seeds = [ran[e] for e in claim.experiments if ran and ran.get(e) and paper.experiment(e).seeds != 1]
    few = bool(seeds) and (max(seeds) if claim.any_of else min(seeds)) < FEWEST_SEEDS
    if few and not claim.identity:
        verdict = "cannot tell"
    over = _rests_on(paper, claim, ran or {}, few and not claim.identity)
    shown = replace(evidence, said=f"{evidence.said.rstrip('.')}.{over}")
    return JudgedClaim(paper.number, claim.says, verdict, shown, claim.place)


def _rests_on(paper: Paper, claim: Claim, ran: Mapping[str, int], few: bool) -> str:
    """The number of seeds behind a claim; the smallest and the largest if there are several experiments."""
    used = [e for e in claim.experiments if ran.get(e)]
    seeds = sorted({ran[e] for e in used if paper.experiment(e).seeds != 1})
    if not used:
        return ""
    if not seeds:
        return " Nothing is random."
    one = f"{seeds[0]} seed{'s' * (seeds[0] > 1)}"
    over = f"{seeds[0]} to {seeds[-1]} seeds, depending on the experiment" if len(seeds) > 1 else one
    return f" Over {over}{f': fewer than {FEWEST_SEEDS}, too few for a verdict' if few else ''}."
