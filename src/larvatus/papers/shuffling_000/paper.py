"""Muralidhar and Sarathy, on linear models and shuffling: Tables 1 to 7 and Figures 1 to 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.papers.framework.model import (
    Claim,
    Evidence,
    Experiment,
    Holds,
    Paper,
    PublishedTable,
    Summary,
    Where,
    band_text,
    slip,
)
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.remarks import furthest, one_draw, outside
from larvatus.papers.framework.seed_comparison import beyond, each_seed, least, most, verdict_of
from larvatus.papers.framework.shortcuts import make_releases
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow
from larvatus.papers.shuffling_000.experiments import (
    KS,
    MONEY,
    SHUFFLING_MASKS,
    census,
    census_aggregates,
    census_data,
    household_data,
    tables_2_to_4,
)
from larvatus.papers.shuffling_000.table_1 import techniques
from larvatus.reporting.page.blocks import Paragraph, ReportBlock

_NEAR = 0.1  # largest relative difference at which a count is said to be that of chance
_CLOSE = 0.05  # largest difference at which two correlations count as very close


def shuffling_figures(where: Where) -> list[ReportBlock]:
    """Figures 1 to 7 on the stand-in, 8 to 10 on Census if the file exists."""
    from larvatus.papers.shuffling_000.figures import census_figures, simulated_figures

    data = household_data(0)
    out = list(simulated_figures(data, make_releases(data, SHUFFLING_MASKS, 0)))
    file = where.file("census.csv")
    if file is None:
        return [*out, Paragraph("Figures 8 to 10 need census.csv, which was not found.", "quiet")]
    census_file = census_data(file)
    return [*out, *census_figures(census_file, make_releases(census_file, SHUFFLING_MASKS, 0))]


def _attenuation(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    lost = {k: 1 - found[f"least variance/{k}"].mean for k in KS}
    said = tuple((f"k = {k}", f"{v:.0%}", f"{1 - found[f'mean variance/{k}'].mean:.0%}") for k, v in lost.items())
    usual, any_k = max(v for k, v in lost.items() if k <= 10), max(lost.values())
    verdict: Holds = "holds" if usual >= 0.5 else "holds in part" if any_k >= 0.5 else "does not hold"
    return verdict, Evidence("Variance lost by Census columns under MDAV over the file. The claim holds if a column loses half "
                             "with k = 10 or less, and in part if one does with any k",
                             ("group size", "column that loses most", "mean of columns"), said)


def _interval(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    narrow, wide = found["within 1.5"], found["within 3"]
    return verdict_of([beyond(wide, 0.99)], [beyond(wide, 0.97)]), (
        f"Share of the home values of the first sub-group within 3 standard deviations of the mean, on the stand-in: "
        f"{band_text(wide)}; within 1.5: {band_text(narrow)}. The ratio of widths does not depend on the level. “99 %” is read "
        "as above .99; below .97 the claim would not hold at all")


def _similar(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    low, high = least(found["d within, least"]), most(found["d within, most"])
    exact = abs(low - 0.5) < 1e-9 > abs(high - 0.5)
    return "holds" if exact else "does not hold", Evidence(
        f"d = .5: between {low:.9f} and {high:.9f} in every sub-group and seed. Over the file, where sub-groups differ and the "
        "paper claims nothing", ("column", ""), tuple((n, band_text(found[f"d over the file/{n}"])) for n in MONEY))


def _close(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    """From the paper's own Table 6; draws of our own, and the other columns, are shown."""
    printed = zip(rows("000", "6"), column("000", "6", "original"), column("000", "6", "shuffled"), strict=True)
    change = {row: abs(after - before) for row, before, after in printed}
    whole, most_inside = change.pop("all"), max(change, key=lambda row: change[row])
    said = (f"The sentence is about Table 6, so its printed figures decide. “Very close” is read as a change below {_CLOSE:g}. "
            f"Over the file the change is {whole:.3f}; it is largest in sub-group {most_inside}: {change[most_inside]:.3f}")
    if "shuffled, mean change" in found:
        mean, largest, inside = (band_text(found[f"shuffled, {what}"]) for what in (
            "mean change", "largest change", "largest change in a sub-group"))
        said += (f". In draws of our own, the 28 correlations of Census change by {mean} on average and by at most {largest} "
                 f"over the file, and by at most {inside} within a sub-group")
    return verdict_of([1 if whole < _CLOSE else -1, 1 if max(change.values()) < _CLOSE else -1]), said


def _exactly(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    furthest = max(most(found[f"{t}/furthest of linear models"]) for t in ("3", "6"))
    verdict: Holds = "holds" if furthest < 1e-9 else "does not hold"
    return verdict, f"Largest difference of a correlation in any sub-group, d and seed, simulated and Census: {furthest:.1e}"


def _by_chance(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    groups = rows("000", "2")
    shuffled, none = (each_seed(lambda *v: sum(v), *(found[f"2/{name}/{g}"] for g in groups)) for name in ("shuffled", "d = 0"))
    n = len(groups)
    off = n * _NEAR
    same = least(none) == most(none) == n
    near = min(beyond(shuffled, n - off), -beyond(shuffled, n + off))
    seen = f"{n} records in {n} sub-groups in every seed" if same else f"{band_text(none, 1)} records in {n} sub-groups"
    printed = {name: sum(column("000", "2", name)) for name in ("d = 0", "shuffled")}
    return verdict_of([1 if same else -1, near]), (
        f"Chance gives one record in each sub-group. d = 0: {seen}; printed {printed['d = 0']:g}. Shuffled: "
        f"{band_text(shuffled, 1)}; printed {printed['shuffled']:g}. “By chance alone” is read as within {_NEAR:.0%} of {n} on "
        "average")


def _printed_range() -> str:
    counts = [n for n, row in zip(column("000", "5", "shuffled"), rows("000", "5"), strict=True) if row != "all"]
    return f"{min(counts):.0f} to {max(counts):.0f}"


def _codes(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    said = tuple((f"1 {words} the mean, {column}", f"{found[f'sizes/{column}/{side}'].mean:.0f}")
                 for column in ("PEARNVAL", "PTOTVAL") for side, words in (("above", "at or above"), ("below", "below")))
    verdict: Holds = "holds" if found["sizes/PEARNVAL/above"].mean == 8 else "slip"
    return verdict, Evidence("Number of the eight sizes in Table 5 that agree", ("a code is", "sizes that agree"), said)


def _drawn(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    return "\n".join(filter(None, (outside(rows, found), one_draw(rows, found, "000", "shuffled", ("6", "7")))))


PAPER = Paper(
    "000", "“Easy to implement” is putting the cart before the horse: effective techniques for masking numerical data",
    experiments=(
        Experiment("techniques", techniques, seeds=20, quick=1), Experiment("simulated", tables_2_to_4, quick=2),
        Experiment("census", census, quick=10, file="census.csv"),
        Experiment("aggregated", census_aggregates, seeds=1, file="census.csv"),
    ),
    tables=(
        PublishedTable("1", "techniques", exact=("",),
                       note="Measured on data with a linear, a monotonic and a non-monotonic relation (4,000 records, "
              "datasets.relations). SBLM is run with d = 0, micro-aggregation as MDAV with k = 100. The baseline of risk is a "
              "linear regression on S. If X is not linear in S, this baseline is too low: shuffled values, which have the same "
              "curvature, seem to disclose X but only reflect S."),
        PublishedTable("2", "simulated", exact=("records", "d = 0/"),
                       note="On a stand-in (datasets.households), drawn anew for each seed."),
        PublishedTable("5.1.1", "simulated", exact=("ratio/d",)),
        PublishedTable("3", "simulated", fitted=True,
              note="On a stand-in, drawn anew for each seed. d = 0, 0.5 and 0.9 equal the original exactly (see the claims). "
              "An original outside therefore counts in four columns, but once in the comparison with chance."),
        PublishedTable("4", "simulated", fitted=True,
              note="On a stand-in, drawn anew for each seed. Over the file, the rank correlations after linear models depend "
              "on how far apart the sub-groups lie, which is not published."),
        PublishedTable("5", "census", exact=("records", "d = 0/"),
                       note="Likelihood rule, law learnt in-sample. The codes are 1 if "
              "AFNLWGT, EMCONTRB and PTOTVAL are below their means."),
        PublishedTable("6", "census", exact=("original", "d = "), remark=_drawn),
        PublishedTable("7", "census", within={"original": 0.0045}, cannot={
            "d = 0.5/": "in sub-group 2 FICA and WSALVAL have correlation exactly 1, which exact moments preserve: the result "
                        "must be 1.000, but .955 is printed, so the column comes from another run or another d",
        }, note="Originals by average ranks. The columns have many ties, and the paper does not say how it ranked them.",
            remark=lambda rows, found: " ".join(filter(None, (furthest(rows, "original", "Originals"), _drawn(rows, found))))),
    ),
    claims=(
        slip("With 8 variables there are 21 correlations.", "8 · 7 / 2 = 28.", "§5.2.2"),
        slip("The relationship between the last two variables (mortgage balance, net assets) was linear.",
             "§5.1.2 and Figure 5 call the same relationship non-linear, and mortgage balance is not normal.", "§5.1"),
        slip("In Census, just one or two records of each sub-group are identified in shuffled and d = 0 data.",
             f"Table 5 prints {_printed_range()} for the shuffled data.", "§5.2.1"),
        Claim("A code is 0 if the value is below the average, for AFNLWGT, EMCONTRB and PEARNVAL.", _codes, ("aggregated",),
              place="§5.2"),
        Claim("Perturbed data keep every product moment correlation exactly, in every sub-group.", _exactly,
              ("simulated", "census"), identity=True, place="§5.1.2 and §5.2.2"),
        Claim("Shuffled and d = 0 data are re-identified by chance alone.", _by_chance, ("simulated",),
              place="§5.1.1, on Table 2"),
        Claim("Attenuation in variance by micro-aggregation may be as high as 50 %.", _attenuation, ("aggregated",),
              place="§3.5"),
        Claim("A 99 % interval of a home value is about 3 × 8.643 wide.", _interval, ("simulated",), place="§5.1.1"),
        Claim("For a given sub-group, the correlation between original and masked variables is d.", _similar, ("simulated",),
              place="§5.1.1"),
        Claim("The product moment correlation of FICA and WSALVAL in the shuffled data is very close to the original.", _close,
              place="§5.2.2, Table 6"),
    ),
    figures=shuffling_figures,
)
