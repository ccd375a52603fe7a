"""Woo, Reiter, Oganian and Karr, on global measures of utility: Tables 1 to 4 and Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from larvatus.papers.comparing import difference
from larvatus.papers.frame import FEWEST, Experiment, Paper, Table
from larvatus.papers.paper_003_claims import CLAIMS
from larvatus.papers.paper_003_figures import figures
from larvatus.papers.paper_003_measured import SHAPES, clustered, eight, flexible, order, printed
from larvatus.papers.paper_003_surveys import QUICK_ROWS, household_survey, school_survey
from larvatus.papers.remarks import outside, steps
from larvatus.papers.verdicts import Measured, Row

SHORT = f"{QUICK_ROWS:,} records, and as many fewer clusters"
NO_FILE = ("{}; the figure beside it is that of a stand-in of the same shape (datasets.{}), on which only orders can be held "
           "against the paper")
HEADS = "which 51,016 heads of the March 2000 survey were taken is not said, nor are the draws of maskings published"
STATES = "which nine states of the 2003-2004 survey were taken is not said, nor are the draws of maskings published"
PRINTED = "high positive"


def _clusters(rows: Sequence[Row], found: Mapping[str, Measured]) -> str:
    """Over how many seeds clusters are, and how far cells are from points."""
    over = {r.measured.seeds for r in rows if r.measured and r.published.row.startswith("U_c")}
    table = rows[0].published.table
    ratio = {k.partition(f"/{table}/")[2]: m.mean for k, m in found.items() if k.startswith(f"cells over points/{table}/")}
    said = [f"Clusters over {n} seeds." for n in over]
    if ratio:
        far = max(ratio, key=lambda k: abs(ratio[k] - 1))
        near = sorted(abs(v - 1) for v in ratio.values())[len(ratio) // 2]
        said.append(f"Of cells, U_c is within {near:.0%} of that of all 20,000 points in half of the {len(ratio)} figures of "
                    f"the first seed, and furthest off in {far}: {ratio[far]:.2f} of it.")
    return " ".join((*said, outside(rows, found))).strip()


def _places(rows: Sequence[Row], found: Mapping[str, Measured]) -> str:
    """Which two maskings change places where an order is not that of Table 1 or 2, and what the correlation does to them."""
    swaps: dict[tuple[str, str, str], list[str]] = {}
    for r in (r for r in rows if r.verdict == "outside"):
        measure, (shape, _, correlation) = r.published.column, r.published.row.partition(", ")
        kept = order(next(t for t, s in SHAPES.items() if s == shape), measure)
        of = {n: found[f"eight/{measure}/{r.published.row}/{n}"] for n in kept}
        for a, b in pairwise(kept):
            if difference(of[a], of[b]).sign > 0:
                before = [found[f"eight/{measure}/{shape}, {PRINTED}/{n}"].mean for n in (a, b)]
                swaps.setdefault((b, a, correlation.partition(",")[0]), []).append(
                    f"{measure}, {shape} ({of[b].mean:.3g} against {of[a].mean:.3g}; {before[1]:.3g} against {before[0]:.3g} "
                    "with a high positive correlation)")
    if not swaps:
        return ""
    said = [f"{b} is ahead of {a} where the correlation is {c}: {'; '.join(dict.fromkeys(where))}." for (b, a, c), where in
            swaps.items()]
    return " ".join(("The paper prints figures of high positive correlations alone.", *said, *_why(swaps, found)))


def _why(swaps: Mapping[tuple[str, str, str], Sequence[str]], found: Mapping[str, Measured]) -> list[str]:
    """Reasons, where what they rest on was measured: swapping with nothing to lose, groups that a negative relation spoils."""
    def of(name: str, correlation: str) -> list[Measured]:
        return [found[f"eight/U_p (Model II)/{s}, {correlation}/{name}"] for s in SHAPES.values()]

    out = []
    lost = [difference(a, b).sign for a, b in zip(of("Swap", PRINTED), of("Swap", "none"), strict=True)]
    if any(b == "Swap" and c == "none" for b, _, c in swaps) and min(lost) > 0:
        out.append("Swapping spoils nothing but relations, and has none to spoil where there is no correlation.")
    both = zip(of("Micro + Noise", "high negative"), of("Micro + Noise", PRINTED), strict=True)
    spoilt = [difference(a, b).sign for a, b in both]
    if any(a == "Micro + Noise" and c == "high negative" for _, a, c in swaps) and min(spoilt) > 0:
        out.append("Groups are made by the sum of z-scores: where the relation is negative, points of one sum lie far apart, "
                   "and the noise that is to restore the covariance is large.")
    return out


PAPER = Paper(
    "003", "Global measures of data utility for microdata masked for disclosure limitation",
    experiments=(
        Experiment("printed", printed, seeds=100, quick=2),
        Experiment("clustered", clustered, seeds=100, quick=1, hurry="clusters are made of 2,000 cells"),
        Experiment("eight", eight, seeds=100, quick=1, hurry="3,000 records instead of 10,000, clusters made of 1,500 cells"),
        Experiment("flexible", flexible, seeds=100, quick=2),
        Experiment("household survey", household_survey, seeds=FEWEST, quick=1, hurry=SHORT),
        Experiment("school survey", school_survey, seeds=FEWEST, quick=1, hurry=SHORT),
    ),
    tables=(
        Table("1", "printed", also=("clustered",), within={"Micro + Noise/U_p (Model I)": 0.005},
              note="Bivariate t₂, |ρ| = .75 (datasets.heavy_tails), drawn afresh by seed; simulated data and micro + noise "
              "carry the exact sample moments, so that Model I gives 0.000; swaps within 500 ranks either way. The second row "
              "that is printed as G = 500 is taken for 750. Clusters are made of 5,000 cells of near points, which is "
              "many times quicker than linking 20,000 points.",
              remark=_clusters),
        Table("2", "printed", also=("clustered",), within={"Micro + Noise/U_p (Model I)": 0.005},
              note="F(10, 10) and a regression on it; otherwise as Table 1.", remark=_clusters),
        Table("3.1", "eight", note="Measured is the share of seeds. A correlation of nothing has no sign: the mirror image "
              "stands for the eighth data set. Clusters are made of cells.", remark=_places),
        Table("3", "household survey", cannot={"": NO_FILE.format(HEADS, "household_heads")}),
        Table("figure 1", "household survey", note="Measured is the share of seeds on the stand-in.",
              remark=lambda rows, found: steps(rows, found, "3")),
        Table("4", "school survey", cannot={"": NO_FILE.format(STATES, "schools")}),
        Table("4 order", "school survey", note="Measured is the share of seeds on the stand-in.",
              remark=lambda rows, found: steps(rows, found, "4")),
    ),
    claims=CLAIMS,
    figures=figures,
)
