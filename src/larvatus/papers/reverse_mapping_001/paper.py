"""Muralidhar, Sarathy and Domingo-Ferrer, on reverse mapping: Tables 1 to 5 from the 25 records of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.papers.framework.model import Claim, Evidence, Experiment, Holds, Paper, PublishedTable, Summary, band_text, slip
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.seed_comparison import mostly, nearly_all
from larvatus.papers.reverse_mapping_001.experiments import METHODS, from_own_draws, from_printed_values


def _swapping(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    said = tuple((m, f"{found[f'worst loss/{m}'].mean:.0%}") for m in METHODS)
    return mostly([found["worst loss/SWP"]], often=0.9), Evidence(
        f"{nearly_all(0.9)}. Share of seeds in which each mechanism loses the most correlation with S", ("mechanism", ""), said)


def _imputation(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    share = found["least risk/IMP"]
    said = tuple((m, band_text(found[f"own 3/correlation/{m}"])) for m in METHODS)
    return mostly([share]), Evidence(
        f"IMP has the lowest rank correlation with X in {share.mean:.0%} of seeds. {nearly_all()}",
        ("mechanism", "rank correlation with X"), said)


def _distribution(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    inside = []
    for table in ("3", "4"):
        for row, value in zip(rows("001", table), column("001", table, "correlation"), strict=True):
            s = found[f"own {table}/correlation/{row}"]
            inside.append((f"{table}/{row}", s.low - 5e-4 <= value <= s.high + 5e-4))
    out = [n for n, good in inside if not good]
    verdict: Holds = "holds" if not out else "holds in part"
    return verdict, f"{len(inside) - len(out)} of {len(inside)} published correlations lie in the band of our draws" + (
        f"; outside: {', '.join(out)}" if out else "")


PAPER = Paper(
    "001", "Reverse mapping to preserve the marginal distributions of attributes in masked microdata",
    experiments=(Experiment("printed", from_printed_values, seeds=1), Experiment("drawn", from_own_draws, quick=20)),
    tables=(
        PublishedTable("1", "printed", exact=("",)),
        PublishedTable("2", "printed", exact=("",),
                       note="Z of MIC and SWP are the paper's own draws: their printed values are entered, "
              "and go through the same measures as all others. Y of ADD and IMP are its draws too; Z is computed from them."),
        PublishedTable("text", "printed", exact=("",)),
        PublishedTable("3", "printed", exact=("",)),
        PublishedTable("4", "printed", exact=("",)),
        PublishedTable("5", "printed", exact=("",)),
    ),
    claims=(
        slip("Four records (7, 10, 11, 22) keep their rank in Table 1.", "Table 1 has six: 3, 7, 10, 11, 16 and 22."),
        Claim("Another set of random numbers could give results different from Tables 3 and 4.", _distribution, ("drawn",)),
        Claim("Swapping results in the highest information loss.", _swapping, ("drawn",)),
        Claim("Imputation provides the lowest disclosure risk.", _imputation, ("drawn",)),
    ),
)
