"""Winkler, on easy methods of masking: Tables 1 to 11 on regenerated four-field files and a stand-in pair of wages."""

from __future__ import annotations

from larvatus.papers.frame import Experiment, Paper, Table, slip
from larvatus.papers.paper_004_claims import CLAIM_EXPERIMENTS, CLAIMS
from larvatus.papers.paper_004_measured import extracted, fields, truncated

STAND_IN = "On a regenerated file (datasets.four_fields, n = 100) with the published correlations, drawn afresh by seed."
WAGES = (
    "On a stand-in pair of wages (datasets.wages) drawn afresh by seed, whose constants are fitted to Tables 3 to 5: "
    "that these are in band says that such a pair can be, not that it is theirs."
)


PAPER = Paper(
    "004", "Examples of easy-to-implement, widely used methods of masking for which analytic properties are not justified",
    experiments=(
        Experiment("fields", fields, quick=5), Experiment("extracted", extracted, quick=5),
        Experiment("truncated", truncated, quick=3), *CLAIM_EXPERIMENTS,
    ),
    tables=(
        Table("1", "fields", exact=("",), symmetric=True, note=STAND_IN),
        Table("2a", "fields", symmetric=True,
              note=f"{STAND_IN} Of the two printed cells of x2 and x3, .122 is also that of Table 2b."),
        Table("2b", "fields", symmetric=True, note=STAND_IN),
        *(Table(t, "truncated", note=WAGES) for t in ("3", "4", "5")),
        *(Table(t, "fields", symmetric=True, note=STAND_IN) for t in ("6a", "6b", "6c")),
        Table("7a", "fields", symmetric=True, cannot={"": (
            "a swap of 10 % of the values leaves (1 - .1)² of a correlation of two swapped fields: .895 becomes .81 · .895 and "
            "not .010, whatever the data")}),
        Table("7b", "fields", symmetric=True, cannot={"": (
            "fields that are swapped completely, each for itself, are unrelated: correlations near ±.9 belong elsewhere")}),
        *(Table(t, "fields", symmetric=True, note=STAND_IN) for t in ("8a", "8b", "8c")),
        Table("9", "extracted", exact=("",), symmetric=True, note="Correlations are exact by construction "
              "(datasets.extracted_fields); the published extract is not described further."),
        Table("10", "extracted", symmetric=True, cannot={"": (
            "microaggregation of all four fields together raises the correlation of x3 and x4, as the figure beside it shows; "
            "-.305 needs fields that were aggregated each by other groups, or another file")}),
        Table("11", "fields", cannot={
            "rate/base 50": "“~100 %” is reached only when the own record may be among the three nearest: see the claims",
            "rate/base 100": "“< 5 %” is reached only by clustering: see the claims",
        }, note="Nearest record, Euclidean over standardised fields, n = 100."),
    ),
    claims=(
        slip("Table 2a gives the correlation of x2 and x3 as .122 and as .175.", "A correlation matrix is symmetric."),
        slip("Table 6a gives the correlation of x1 and x2 as .887 and as .881.", "A correlation matrix is symmetric."),
        slip("“In Table 1, the correlations are 0.881 and 0.170” (swapping), “0.881 and 0.186” (rank swapping).",
             "Table 1 has .895 and .186; .881 and .170 are those of Table 6a, after rounding."),
        slip("“In Table 9, the correlation between x3 and x4 is 0.95.”", "Table 9 prints .935."),
        *CLAIMS,
    ),
)
