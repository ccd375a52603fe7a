"""Every attack and measure in plain words: its name, what people do with what it looks at, and what it does in one sentence.

A new method is one more line here; a contract test fails until it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from larvatus.core.number_format import words

_IDENTIFICATION, _VALUES, _KEYS = "Finding a person's record", "Learning values", "Matching by key variables"
_FOLLOWED = "Following the records used"
_TABLES, _MEANS, _CORRELATIONS, _REGRESSIONS, _DISTRIBUTIONS = "Tables", "Means", "Correlations", "Regressions", "Distributions"
ATTACK_GROUPS = (_IDENTIFICATION, _VALUES, _KEYS, _FOLLOWED)
MEASURE_GROUPS = (_TABLES, _MEANS, _CORRELATIONS, _REGRESSIONS, _DISTRIBUTIONS)
_RECORDS = "records found"


class PlainName(NamedTuple):
    """A method in plain words.

    `looks_at` is what a measure compares, as in "unchanged: means and standard deviations". `success` says what an attack
    counts, as in "7 in 1,000 records found"; it starts with "of" if the figure is a share of something that is not counted.
    """

    name: str
    group: str
    explanation: str
    success: str = _RECORDS
    looks_at: str = ""


_ATTACKS = {
    "aggregate_disclosure": PlainName(
        "aggregate disclosure", _VALUES, "Counts the confidential totals of sub-groups that can be read from the release.",
        "totals disclosed"),
    "attribute_inference": PlainName(
        "attribute inference", _VALUES, "Predicts one confidential value of a person from that person's other values.",
        "values predicted"),
    "bayesian_intruder": PlainName(
        "the Bayesian intruder", _IDENTIFICATION,
        "Picks the released record that is most probable for each person, knowing the size of the noise."),
    "category_disclosure": PlainName(
        "category disclosure", _VALUES, "Guesses the original category of a record from its released one.",
        "categories guessed"),
    "closest_record": PlainName(
        "distance to the closest record", _FOLLOWED,
        "Compares how near released rows come to records that were used and to records that were held out.",
        "of rows closer to a record that was used"),
    "cluster_match": PlainName(
        "cluster matching", _IDENTIFICATION, "Clusters original and released records together and links within clusters."),
    "date_intervals": PlainName(
        "linkage by intervals between dates", _IDENTIFICATION, "Finds persons by the number of days between their dates."),
    "exact_equations": PlainName(
        "exact equations", _IDENTIFICATION, "Solves the equations of a mask that keeps means and correlations exactly."),
    "exact_match": PlainName(
        "exact matching", _IDENTIFICATION, "Links each person to a released record that shares their rarest values."),
    "group_intersection": PlainName(
        "intersection of microaggregates", _IDENTIFICATION,
        "Combines the groups of similar records that each person falls in."),
    "household_linkage": PlainName(
        "linkage of whole households", _IDENTIFICATION, "Adds up what all members of a household, or all rows of a person, "
        "resemble."),
    "interval_disclosure": PlainName(
        "interval disclosure", _VALUES, "Counts the original values that lie close to their released value.",
        "values nearly disclosed"),
    "interval_match": PlainName(
        "rounding-interval matching", _IDENTIFICATION, "Keeps the released records whose rounded values fit the person."),
    "key_attribution": PlainName(
        "attribution by keys", _VALUES, "Reads a value from the released rows that share a person's key variables.",
        "values attributed"),
    "key_risk": PlainName(
        "matching by key variables", _KEYS, "Estimates how many people the key variables identify in the population."),
    "linkability": PlainName(
        "joining two sources", _FOLLOWED, "Joins two sources about a person through the released file.", "persons joined"),
    "membership_inference": PlainName(
        "membership inference", _FOLLOWED, "Tells from the released file whether a person's record was used to make it.",
        "of pairs told apart"),
    "mixed_linkage": PlainName(
        "linkage by categories and numbers", _IDENTIFICATION,
        "Links by all columns together, each weighed by how much the mask changes it."),
    "near_copies": PlainName(
        "copies and near copies", _FOLLOWED, "Counts released rows that are nearly the record of one person.",
        "rows nearly copied"),
    "nearest_inference": PlainName(
        "inference from the nearest row", _VALUES, "Takes a person's missing value from the nearest released row.",
        "values inferred"),
    "nearest_record": PlainName(
        "nearest-record linkage", _IDENTIFICATION, "Picks the released record that is nearest to each person's true values."),
    "optimal_assignment": PlainName(
        "one-to-one linkage", _IDENTIFICATION, "Links all records of a sub-group at once, each to exactly one person."),
    "posterior_match": PlainName(
        "most-probable-record linkage", _IDENTIFICATION, "Picks the released record that the mask makes most probable."),
    "probabilistic_linkage": PlainName(
        "probabilistic linkage", _IDENTIFICATION, "Adds up the agreement in each column and links to the best record."),
    "rank_disclosure": PlainName(
        "rank disclosure", _VALUES, "Compares the order of original and of released values.", "rank correlation"),
    "rank_window": PlainName(
        "rank-window linkage", _IDENTIFICATION, "Keeps the released records whose ranks are near the person's ranks."),
    "rerun": PlainName(
        "a rerun of the steps", _IDENTIFICATION, "Applies the masking steps to the known original again and compares."),
    "shared_values": PlainName(
        "averages over records that share a value", _VALUES,
        "Averages the released values of records that share a value, such as employees of one firm.",
        "of the differences between shared values predicted"),
    "simulated_release": PlainName(
        "linkage by simulated releases", _IDENTIFICATION, "Makes the release again with other secrets and learns how values "
        "move."),
    "singling_out": PlainName(
        "singling out", _FOLLOWED, "Reads from the released file a condition that only one person meets.",
        "conditions met by one person"),
    "swap_chain": PlainName(
        "chains through swapped pairs", _IDENTIFICATION, "Undoes an exchange of values between pairs of records."),
    "uniqueness": PlainName(
        "uniqueness", _KEYS, "Counts the records that no other record resembles in the columns the intruder knows."),
    "value_disclosure": PlainName(
        "value disclosure", _VALUES, "Measures how well the released values predict the original ones.",
        "of the differences between values predicted"),
}
_MEASURES = {
    "acceptance": PlainName(
        "implausible values", _DISTRIBUTIONS, "Counts released values that users would not accept as real.",
        looks_at="plausible values"),
    "analyses": PlainName(
        "the named analyses", _REGRESSIONS, "Runs the analyses named in the study on both files and compares the results.",
        looks_at="the named analyses"),
    "cluster": PlainName(
        "clusters of records", _DISTRIBUTIONS, "Clusters both files together and compares their shares in each cluster.",
        looks_at="clusters of records"),
    "correlation": PlainName(
        "correlations", _CORRELATIONS, "Mean change of the correlations between columns.", looks_at="correlations"),
    "distributions": PlainName(
        "histograms", _DISTRIBUTIONS, "Share of records that would have to move to another bar of the histogram.",
        looks_at="histograms"),
    "ecdf_max": PlainName(
        "largest difference between the joint distributions", _DISTRIBUTIONS, "Largest difference between the joint "
        "distributions of both files.", looks_at="the joint distribution at its worst point"),
    "ecdf_mean": PlainName(
        "mean squared difference between the joint distributions", _DISTRIBUTIONS, "Mean squared difference between the joint "
        "distributions of both files.", looks_at="the joint distribution on average"),
    "inequality": PlainName(
        "inequality", _DISTRIBUTIONS, "Relative change of the Gini index and of the ratio of high to low values.",
        looks_at="inequality"),
    "marginal": PlainName(
        "the distribution of each column", _DISTRIBUTIONS, "Largest difference between the distributions of a column.",
        looks_at="the distribution of each column"),
    "moments": PlainName(
        "means and standard deviations", _MEANS, "Shift of means and standard deviations.",
        looks_at="means and standard deviations"),
    "propensity": PlainName(
        "propensity score", _DISTRIBUTIONS, "How well a model separates released from original records.",
        looks_at="the joint distribution by propensity score"),
    "po50": PlainName(
        "records assigned to the right file", _DISTRIBUTIONS, "How many more records than half a model assigns to the right "
        "file.", looks_at="which file a record is from"),
    "rank_correlation": PlainName(
        "rank correlations", _CORRELATIONS, "Mean change of the correlations between ranks.", looks_at="rank correlations"),
    "regression_overlap": PlainName(
        "regression coefficients", _REGRESSIONS, "Difference between the confidence intervals of regression coefficients.",
        looks_at="regression coefficients"),
    "scatter": PlainName(
        "scatter plots", _CORRELATIONS, "Share of records that would have to move to another cell of a scatter plot.",
        looks_at="scatter plots"),
    "specks": PlainName(
        "distance between propensity scores", _DISTRIBUTIONS, "Largest distance between the propensity scores of both files.",
        looks_at="the distribution of propensity scores"),
    "synthetic_training": PlainName(
        "models trained on the release", _REGRESSIONS, "How much worse a model predicts original records if it was trained on "
        "released ones.", looks_at="predictions of models"),
    "table": PlainName(
        "cross-tabulations", _TABLES, "Share of records that would have to move to another cell of a table.",
        looks_at="cross-tabulations"),
    "utility_tables": PlainName(
        "tables of one and two columns", _TABLES, "Compares all tables of one and two columns, cell by cell.",
        looks_at="tables of one and two columns"),
}
PLAIN: Mapping[str, PlainName] = {**_ATTACKS, **_MEASURES}


def _bare_method(name: str) -> str:
    """The method behind a name in a report: a method used twice has a number behind its name."""
    return name.partition(" (")[0]


def plain_words(name: str, kind: str = "risk", meaning: str = "") -> PlainName:
    """A method in plain words; one that another package adds is named after its file and explained by its meaning."""
    found = PLAIN.get(_bare_method(name))
    if found is not None:
        return found
    said = f"{meaning[:1].upper()}{meaning[1:]}".rstrip(".")
    group, success = (_IDENTIFICATION, "successes") if kind == "risk" else (_DISTRIBUTIONS, "")
    return PlainName(words(_bare_method(name)), group, f"{said}." if said else "", success)
