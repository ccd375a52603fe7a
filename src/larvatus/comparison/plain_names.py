"""Every attack and measure in plain words: its name, what people do with what it looks at, and what it does in one sentence.

A new method is one more line here; a contract test fails until it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from larvatus.core.number_format import words

IDENTIFICATION, VALUES, KEYS = "Finding a person's record", "Learning values", "Matching by key variables"
TABLES, MEANS, CORRELATIONS, REGRESSIONS, DISTRIBUTIONS = "Tables", "Means", "Correlations", "Regressions", "Distributions"
ATTACK_GROUPS = (IDENTIFICATION, VALUES, KEYS)
MEASURE_GROUPS = (TABLES, MEANS, CORRELATIONS, REGRESSIONS, DISTRIBUTIONS)
RECORDS = "records found"


class PlainName(NamedTuple):
    """A method in plain words.

    `looks_at` is what a measure compares, as in "unchanged: means and standard deviations". `success` says what an attack
    counts, as in "7 in 1,000 records found"; it starts with "of" if the figure is a share of something that is not counted.
    """

    name: str
    group: str
    explanation: str
    success: str = RECORDS
    looks_at: str = ""


_ATTACKS = {
    "aggregate_disclosure": PlainName(
        "aggregate disclosure", VALUES, "Counts the confidential totals of sub-groups that can be read from the release.",
        "totals disclosed"),
    "attribute_inference": PlainName(
        "attribute inference", VALUES, "Predicts one confidential value of a person from that person's other values.",
        "values predicted"),
    "bayesian_intruder": PlainName(
        "the Bayesian intruder", IDENTIFICATION, "Picks the released record that is most probable for each person, knowing the "
        "size of the noise."),
    "category_disclosure": PlainName(
        "category disclosure", VALUES, "Guesses the original category of a record from its released one.",
        "categories guessed"),
    "cluster_match": PlainName(
        "cluster matching", IDENTIFICATION, "Clusters original and released records together and links within clusters."),
    "date_intervals": PlainName(
        "linkage by intervals between dates", IDENTIFICATION, "Finds persons by the number of days between their dates."),
    "exact_equations": PlainName(
        "exact equations", IDENTIFICATION, "Solves the equations of a mask that keeps means and correlations exactly."),
    "exact_match": PlainName(
        "exact matching", IDENTIFICATION, "Links each person to a released record that shares their rarest values."),
    "group_intersection": PlainName(
        "intersection of microaggregates", IDENTIFICATION, "Combines the groups of similar records that each person falls in."),
    "household_linkage": PlainName(
        "linkage of whole households", IDENTIFICATION, "Adds up what all members of a household, or all rows of a person, "
        "resemble."),
    "interval_disclosure": PlainName(
        "interval disclosure", VALUES, "Counts the original values that lie close to their released value.",
        "values nearly disclosed"),
    "interval_match": PlainName(
        "rounding-interval matching", IDENTIFICATION, "Keeps the released records whose rounded values fit the person."),
    "key_risk": PlainName(
        "matching by key variables", KEYS, "Estimates how many people the key variables identify in the population."),
    "mixed_linkage": PlainName(
        "linkage by categories and numbers", IDENTIFICATION, "Links by all columns together, each weighed by how much the mask "
        "changes it."),
    "nearest_record": PlainName(
        "nearest-record linkage", IDENTIFICATION, "Picks the released record that is nearest to each person's true values."),
    "optimal_assignment": PlainName(
        "one-to-one linkage", IDENTIFICATION, "Links all records of a sub-group at once, each to exactly one person."),
    "posterior_match": PlainName(
        "most-probable-record linkage", IDENTIFICATION, "Picks the released record that the mask makes most probable."),
    "probabilistic_linkage": PlainName(
        "probabilistic linkage", IDENTIFICATION, "Adds up the agreement in each column and links to the best record."),
    "rank_disclosure": PlainName(
        "rank disclosure", VALUES, "Compares the order of original and of released values.", "rank correlation"),
    "rank_window": PlainName(
        "rank-window linkage", IDENTIFICATION, "Keeps the released records whose ranks are near the person's ranks."),
    "rerun": PlainName(
        "a rerun of the steps", IDENTIFICATION, "Applies the masking steps to the known original again and compares."),
    "shared_values": PlainName(
        "averages over records with equal S", VALUES, "Averages the released values of records that share a value, such as "
        "employees of one firm.", "of the variation of shared values explained"),
    "simulated_release": PlainName(
        "linkage by simulated releases", IDENTIFICATION, "Makes the release again with other secrets and learns how values "
        "move."),
    "swap_chain": PlainName(
        "chains through swapped pairs", IDENTIFICATION, "Undoes an exchange of values between pairs of records."),
    "uniqueness": PlainName(
        "uniqueness", KEYS, "Counts the records that no other record resembles in the columns the intruder knows."),
    "value_disclosure": PlainName(
        "value disclosure", VALUES, "Measures how well the released values predict the original ones.",
        "of the variation of values explained"),
}
_MEASURES = {
    "acceptance": PlainName(
        "implausible values", DISTRIBUTIONS, "Counts released values that users would not accept as real.",
        looks_at="plausible values"),
    "analyses": PlainName(
        "the named analyses", REGRESSIONS, "Runs the analyses named in the study on both files and compares the results.",
        looks_at="the named analyses"),
    "cluster": PlainName(
        "clusters of records", DISTRIBUTIONS, "Clusters both files together and compares their shares in each cluster.",
        looks_at="clusters of records"),
    "correlation": PlainName(
        "correlations", CORRELATIONS, "Mean change of the correlations between columns.", looks_at="correlations"),
    "distributions": PlainName(
        "histograms", DISTRIBUTIONS, "Share of records that would have to move to another bar of the histogram.",
        looks_at="histograms"),
    "ecdf_max": PlainName(
        "largest difference between the joint distributions", DISTRIBUTIONS, "Largest difference between the joint "
        "distributions of both files.", looks_at="the joint distribution at its worst point"),
    "ecdf_mean": PlainName(
        "mean squared difference between the joint distributions", DISTRIBUTIONS, "Mean squared difference between the joint "
        "distributions of both files.", looks_at="the joint distribution on average"),
    "inequality": PlainName(
        "inequality", DISTRIBUTIONS, "Relative change of the Gini index and of the ratio of high to low values.",
        looks_at="inequality"),
    "marginal": PlainName(
        "the distribution of each column", DISTRIBUTIONS, "Largest difference between the distributions of a column.",
        looks_at="the distribution of each column"),
    "moments": PlainName(
        "means and standard deviations", MEANS, "Shift of means and standard deviations.",
        looks_at="means and standard deviations"),
    "propensity": PlainName(
        "propensity score", DISTRIBUTIONS, "How well a model separates released from original records.",
        looks_at="the joint distribution by propensity score"),
    "rank_correlation": PlainName(
        "rank correlations", CORRELATIONS, "Mean change of the correlations between ranks.", looks_at="rank correlations"),
    "regression_overlap": PlainName(
        "regression coefficients", REGRESSIONS, "Difference between the confidence intervals of regression coefficients.",
        looks_at="regression coefficients"),
    "scatter": PlainName(
        "scatter plots", CORRELATIONS, "Share of records that would have to move to another cell of a scatter plot.",
        looks_at="scatter plots"),
    "table": PlainName(
        "cross-tabulations", TABLES, "Share of records that would have to move to another cell of a table.",
        looks_at="cross-tabulations"),
}
PLAIN: Mapping[str, PlainName] = {**_ATTACKS, **_MEASURES}


def method_of(name: str) -> str:
    """The method behind a name in a report: a method used twice has a number behind its name."""
    return name.partition(" (")[0]


def plain_words(name: str, kind: str = "risk", meaning: str = "") -> PlainName:
    """A method in plain words; one that another package adds is named after its file and explained by its meaning."""
    found = PLAIN.get(method_of(name))
    if found is not None:
        return found
    said = f"{meaning[:1].upper()}{meaning[1:]}".rstrip(".")
    return PlainName(words(method_of(name)), IDENTIFICATION if kind == "risk" else DISTRIBUTIONS, f"{said}." if said else "")
