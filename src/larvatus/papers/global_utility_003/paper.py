"""Woo, Reiter, Oganian and Karr, on global measures of utility: Tables 1 to 4 and Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from larvatus.papers.framework.model import Experiment, Paper, PublishedTable, band_text
from larvatus.papers.framework.published_figures import column
from larvatus.papers.framework.published_figures import rows as rows_of
from larvatus.papers.framework.remarks import HARDLY, describe_steps, outside
from larvatus.papers.framework.seed_comparison import paired_difference
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow
from larvatus.papers.global_utility_003.claims import CLAIMS_003
from larvatus.papers.global_utility_003.experiments import PAPER_SHAPES, cluster_rows, eight, flexible, order, tables_1_and_2
from larvatus.papers.global_utility_003.figures import utility_figures
from larvatus.papers.global_utility_003.surveys import QUICK_ROWS, household_survey, school_survey

_SHORT = f"{QUICK_ROWS:,} records, with proportionally fewer clusters"
NO_FILE = ("{}; the measured figure is that of a stand-in of the same shape (datasets.{}), on which only orders can be "
           "compared with the paper")
_HEADS = "the paper does not say which 51,016 heads of the March 2000 survey it used, and does not publish its masked data"
_STATES = "the paper does not say which nine states of the 2003-2004 survey it used, and does not publish its masked data"
PRINTED = "high positive"


def _clusters(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """The number of seeds for clusters, and how far results from cells are from those of all points."""
    over = {r.measured.seeds for r in rows if r.measured and r.published.row.startswith("U_c")}
    table = rows[0].published.table
    ratio = {k.partition(f"/{table}/")[2]: m.mean for k, m in found.items() if k.startswith(f"cells over points/{table}/")}
    said = [f"Rows of clusters: {n} seeds." for n in over]
    if ratio:
        far = max(ratio, key=lambda k: abs(ratio[k] - 1))
        near = sorted(abs(v - 1) for v in ratio.values())[len(ratio) // 2]
        said.append(f"In the first seed, U_c from cells is within {near:.0%} of that from all 20,000 points in half of the "
                    f"{len(ratio)} figures. The furthest is {far}, with a ratio of {ratio[far]:.2f}.")
    return "\n".join((" ".join(said), outside(rows, found), _upwards(rows, found))).strip()


def _upwards(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """U_s of swapped data by Moore's rule, which looks upwards only, if that of a two-sided window is outside."""
    for r in rows:
        other = found.get(f"upwards {r.published.table}/U_s")
        if r.verdict == "outside" and (r.published.column, r.published.row) == ("Swap", "U_s") and other is not None:
            fits = other.low - r.published.half <= r.published.value <= other.high + r.published.half
            return (f"With Moore's rule (tried afterwards), which looks for partners upwards only, U_s of swapped data is "
                    f"{band_text(other)}. The printed {r.published.text} is {'in' if fits else 'outside'} that band.")
    return ""


def _places(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """Which two masks change places if an order differs from Table 1 or 2, and the effect of the correlation on them."""
    swaps: dict[tuple[str, str, str], list[str]] = {}
    for r in (r for r in rows if r.verdict == "outside"):
        measure, (shape, _, correlation) = r.published.column, r.published.row.partition(", ")
        table = next(t for t, s in PAPER_SHAPES.items() if s == shape)
        of = {n: found[f"eight/{measure}/{r.published.row}/{n}"] for n in order(table, measure)}
        for a, b in pairwise(of):
            if paired_difference(of[a], of[b]).sign > 0:
                near = _near(table, measure, a, b)
                swaps.setdefault((b, a, correlation.partition(",")[0]), []).append(
                    f"{measure}, {shape} ({of[b].mean:.3g} against {of[a].mean:.3g}{near})")
    if not swaps:
        return ""
    said = [f"{b} is ahead of {a} if the correlation is {c}: {'; '.join(where)}." for (b, a, c), where in swaps.items()]
    return "\n".join(("The paper prints figures for high positive correlations only.", *said, *_why(swaps, found)))


def _near(table: str, measure: str, first: str, second: str) -> str:
    """A note if two printed figures hardly differ, else nothing."""
    at = rows_of("003", table).index(measure)
    a, b = (column("003", table, n)[at] for n in (first, second))
    return f"; printed {abs(a - b) / max(a, b):.0%} apart" if abs(a - b) < HARDLY * max(a, b) else ""


def _why(swaps: Mapping[tuple[str, str, str], Sequence[str]], found: Mapping[str, MeasuredFigure]) -> list[str]:
    """Likely reasons, if their basis was measured: no correlation to lose by swapping, or groups made across a negative one."""
    def rises(name: str, low: str, high: str) -> str:
        """N·U_p of Model II under both correlations, if clearly larger under `high` for both shapes; else nothing."""
        both = [[found[f"eight/U_p (Model II)/{s}, {c}/{name}"] for c in (low, high)] for s in PAPER_SHAPES.values()]
        if any(paired_difference(b, a).sign <= 0 for a, b in both):
            return ""
        said = " and ".join(f"{b.mean:.3g} against {a.mean:.3g} ({s})" for (a, b),
                            s in zip(both, PAPER_SHAPES.values(), strict=True))
        return f"N·U_p (Model II) of {name} under correlation {high} and under correlation {low} is {said}"

    out = []
    lost, spoilt = rises("Swap", "none", PRINTED), rises("Micro + Noise", PRINTED, "high negative")
    if lost and any(b == "Swap" and c == "none" for b, _, c in swaps):
        out.append("Likely reason: swapping damages only relations, and without correlation there is none to damage. "
                   f"{lost}.")
    if spoilt and any(a == "Micro + Noise" and c == "high negative" for _, a, c in swaps):
        out.append("Likely reason: groups are formed by the sum of z-scores. If the relation is negative, points with the same "
                   f"sum lie far apart, and much noise is needed to restore the covariance. {spoilt}.")
    return out


PAPER = Paper(
    "003", "Global measures of data utility for microdata masked for disclosure limitation",
    experiments=(
        Experiment("printed", tables_1_and_2, seeds=100, quick=2),
        Experiment("clustered", cluster_rows, seeds=100, quick=1, hurry="clusters from 2,000 cells"),
        Experiment("eight", eight, seeds=100, quick=1, hurry="3,000 records instead of 10,000, clusters from 1,500 cells"),
        Experiment("flexible", flexible, seeds=100, quick=2),
        Experiment("household survey", household_survey, seeds=12, quick=1, hurry=_SHORT),
        Experiment("school survey", school_survey, seeds=12, quick=1, hurry=_SHORT),
    ),
    tables=(
        PublishedTable("1", "printed", also=("clustered", "flexible"), within={"Micro + Noise/U_p (Model I)": 0.005},
              note="Bivariate t₂, |ρ| = .75 (datasets.heavy_tails), drawn anew for each seed. Simulated data and micro + noise "
              "have the exact sample moments, so Model I gives 0.000. Swaps are within 500 ranks either way. The second row "
              "printed as G = 500 is read as 750. Clusters are formed from 5,000 cells of nearby points, which is many times "
              "faster than linking 20,000 points.",
              remark=_clusters),
        PublishedTable("2", "printed", also=("clustered", "flexible"), within={"Micro + Noise/U_p (Model I)": 0.005},
              note="F(10, 10) and a regression on it; otherwise as Table 1.", remark=_clusters),
        PublishedTable("3.1", "eight",
                       note="The measured figure is the share of seeds. A zero correlation has no sign: the mirror image "
              "is used as the eighth data set. Clusters are formed from cells.", remark=_places),
        PublishedTable("3", "household survey", cannot={"": NO_FILE.format(_HEADS, "household_heads")}),
        PublishedTable("figure 1", "household survey", note="The measured figure is the share of seeds on the stand-in.",
              remark=lambda rows, found: describe_steps(rows, found, "003", "3")),
        PublishedTable("4", "school survey", cannot={"": NO_FILE.format(_STATES, "schools")}),
        PublishedTable("4 order", "school survey", note="The measured figure is the share of seeds on the stand-in.",
              remark=lambda rows, found: describe_steps(rows, found, "003", "4")),
    ),
    claims=CLAIMS_003,
    figures=utility_figures,
)
