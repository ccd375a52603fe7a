"""Winkler, on easy methods of masking: Tables 1 to 11 on regenerated four-field files and a stand-in pair of wages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.papers.easy_masking_004.claims import CLAIM_EXPERIMENTS, CLAIMS_004, LINKS
from larvatus.papers.easy_masking_004.experiments import fields, tables_3_to_5, tables_9_and_10
from larvatus.papers.framework.model import Experiment, Paper, PublishedTable, band_text, slip
from larvatus.papers.framework.remarks import outside
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow

STAND_IN = "On a regenerated file (datasets.four_fields, n = 100) with the published correlations, drawn anew for each seed."
WAGES = (
    "On a stand-in pair of wages (datasets.wages), drawn anew for each seed, with constants fitted to Tables 3 to 5. Figures "
    "in band show that such a pair can exist, not that it is the paper's."
)
BELOW = "base 100"  # printed with a "<"


def _rates(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """For rates outside: the rates of other linkage methods, and whether one of them agrees with the printed rate."""
    said = [outside(rows, found)]
    for r in (r for r in rows if r.verdict == "outside"):
        room, printed = 0.0 if r.published.row == BELOW else r.published.half, r.published.value
        others = {words: found[f"{kind}/{r.published.row}"] for words, kind in LINKS.items() if kind != "11/rate"}
        gives = [words for words, m in others.items() if m.low - room <= printed <= m.high + room]
        ways = ", ".join(f"{words} {band_text(m)}" for words, m in others.items())
        said.append(f"{r.published.row.capitalize()}, printed {r.published.text}, by other methods: {ways}. In band by: "
                    f"{' and '.join(gives) or 'none of them'}.")
    return "\n".join(filter(None, said))


PAPER = Paper(
    "004", "Examples of easy-to-implement, widely used methods of masking for which analytic properties are not justified",
    experiments=(
        Experiment("fields", fields, quick=5), Experiment("extracted", tables_9_and_10, quick=5),
        Experiment("truncated", tables_3_to_5, quick=3), *CLAIM_EXPERIMENTS,
    ),
    tables=(
        PublishedTable("1", "fields", exact=("",), symmetric=True, note=STAND_IN, fitted=True),
        PublishedTable("2a", "fields", symmetric=True,
              note=f"{STAND_IN} The two printed cells of x2 and x3 differ; .122 is also the value of Table 2b."),
        PublishedTable("2b", "fields", symmetric=True, note=STAND_IN),
        *(PublishedTable(t, "truncated", note=WAGES, fitted=True) for t in ("3", "4", "5")),
        *(PublishedTable(t, "fields", symmetric=True, note=STAND_IN) for t in ("6a", "6b", "6c")),
        PublishedTable("7a", "fields", symmetric=True, cannot={"": (
            "swapping 10 % of the values reduces the correlation of two swapped fields by the factor (1 - .1)²: .895 becomes "
            ".81 · .895, not .010, whatever the data")}),
        PublishedTable("7b", "fields", symmetric=True, cannot={"": (
            "fields that are swapped completely and independently are unrelated: correlations near ±.9 must come from "
            "elsewhere")}),
        *(PublishedTable(t, "fields", symmetric=True, note=STAND_IN) for t in ("8a", "8b", "8c")),
        PublishedTable("9", "extracted", exact=("",), symmetric=True, fitted=True,
                       note="Correlations are exact by construction "
              "(datasets.extracted_fields); the published extract is not described further."),
        PublishedTable("10", "extracted", symmetric=True, cannot={"": (
            "joint microaggregation of all four fields raises the correlation of x3 and x4, as the measured figure shows; "
            "-.305 would need fields aggregated in different groups, or another file")}),
        PublishedTable("11", "fields",
                       note="Nearest record, Euclidean over standardised fields, n = 100. “100 %”, “~100 %” and “< 5 %” "
              "are entered as 1.00, 1.00 and 0.05.", remark=_rates),
    ),
    claims=(
        slip("Table 2a gives the correlation of x2 and x3 as .122 and as .175.", "A correlation matrix is symmetric.",
             "§2, Table 2a"),
        slip("Table 6a gives the correlation of x1 and x2 as .887 and as .881.", "A correlation matrix is symmetric.",
             "§2, Table 6a"),
        slip("“In Table 1, the correlations are 0.881 and 0.170” (swapping), “0.881 and 0.186” (rank swapping).",
             "Table 1 has .895 and .186; .881 and .170 are those of Table 6a, after rounding.",
             "§2, Swapping and Rank Swapping"),
        slip("“In Table 9, the correlation between x3 and x4 is 0.95.”", "Table 9 prints .935.",
             "§2, Multivariable Microaggregation"),
        *CLAIMS_004,
    ),
)
