"""Headings of the tables in the details of a score, by method and key."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.comparison.release_sentences import capitalise
from larvatus.core.number_format import words

_OF_ALL: Mapping[str, str] = {  # keys that several methods share
    "exceptions": "Without and with the knowledge of which totals hold in a record",
    "also": "This release alone and together with the other releases",
    "copies": "By copy of the release",
    "declared_sub_groups": "By declared sub-group, before small ones were pooled",
    "households": "Records, and households or persons by the columns they share",
    "null": "Loss compared with resamples of the original",
    "outliers": "Outlying records and the others",
    "parts": "Parts of the combined score",
    "presence": "Targets known to be in the file, and any record of the original",
    "published": "Success if the masking parameters are known, and if not",
    "sub_group_pairs": "Pairs of columns with the largest loss within a sub-group",
    "within": "By number of guesses",
}
_OF_METHOD: Mapping[tuple[str, str], str] = {
    ("acceptance", "rules"): "Rules broken in the original and in the release",
    ("aggregate_disclosure", "file"): "Totals of the whole file",
    ("aggregate_disclosure", "levels"): "Totals by category that break a rule",
    ("aggregate_disclosure", "unsafe"): "Totals by sub-group that break a rule",
    ("analyses", "estimates"): "Estimates from the original and from the release",
    ("attribute_inference", "models"): "By model of the intruder",
    ("bayesian_intruder", "convergence"): "Convergence of the chains",
    ("bayesian_intruder", "kernels"): "By likelihood",
    ("bayesian_intruder", "thresholds"): "By probability above which a link is made",
    ("category_disclosure", "rules"): "By rule of guessing",
    ("category_disclosure", "telling_categories"): "Released categories that say most about the original one",
    ("cluster", "clusters"): "Clusters split most unevenly between the files",
    ("cluster", "groups"): "By number of clusters",
    ("closest_record", "distances"): "Distances of released rows to the closest of as many records",
    ("closest_record", "test"): "Test that rows are no closer to records that were used",
    ("cluster_match", "clusters"): "By number of clusters",
    ("distributions", "histogram"): "Histograms",
    ("ecdf_max", "statistics"): "Statistics of the joint distribution",
    ("ecdf_mean", "statistics"): "Statistics of the joint distribution",
    ("exact_equations", "exact_totals"): "Records known from exact totals of several releases",
    ("exact_equations", "known_gaps"): "What an intruder could also use",
    ("exact_equations", "searches"): "Sub-groups whose order the equations determine",
    ("exact_equations", "insiders"): "Insiders who suffice to compute the other records",
    ("household_linkage", "distance"): "By distance",
    ("household_linkage", "units"): "Households and persons",
    ("inequality", "series"): "Inequality by period",
    ("interval_disclosure", "within"): "By width of the interval",
    ("key_attribution", "disclosure"): "Attribution of values by the keys, as in synthpop",
    ("key_risk", "anonymity"): "Records in classes smaller than k, by what a missing key agrees with",
    ("key_risk", "class_sizes"): "Records by the number of records that agree in all keys",
    ("key_risk", "diversity"): "Diversity of the confidential columns within classes of the keys (worst class)",
    ("key_risk", "household_sizes"): "Risk of households by number of members",
    ("key_risk", "household_summary"): "Risk of households: that any member is found",
    ("key_risk", "key_changes"): "Cells of each key that were suppressed or recoded",
    ("key_risk", "key_groups"): "Expected re-identifications by sub-group",
    ("key_risk", "key_stages"): "Risk by key variables before and after",
    ("key_risk", "key_summary"): "Individual risk by key variables",
    ("key_risk", "log_linear"): "Sample uniques that are population uniques, by log-linear model",
    ("key_risk", "suda_keys"): "Contribution of each key to special uniques",
    ("key_risk", "suda_scores"): "SUDA and DIS scores",
    ("key_risk", "suda_sets"): "Sets of keys in which most records are alone",
    ("key_risk", "suda_sizes"): "Minimal sample uniques by number of keys",
    ("key_risk", "superpopulation"): "Population uniques by superpopulation model",
    ("key_risk", "weight"): "What the survey weight singles out",
    ("key_risk", "without_key"): "Risk without each key",
    ("membership_inference", "closed_form"): "What normal columns would give, by closed form",
    ("membership_inference", "false_positives"): "Training records recognised, by false positives allowed",
    ("membership_inference", "forms"): "By what the intruder looks at",
    ("mixed_linkage", "links"): "Records linked alone, and one to one",
    ("near_copies", "copied_rows"): "Copies of records",
    ("near_copies", "ratios"): "By distance to the nearest record over that to the fifth nearest",
    ("near_copies", "test"): "Test that rows are no nearer to single records than real records are",
    ("nearest_record", "distance"): "By distance",
    ("optimal_assignment", "cost"): "By cost of a link",
    ("simulated_release", "known_gaps"): "What an intruder could also use",
    ("simulated_release", "law"): "By the law that the intruder learnt",
    ("probabilistic_linkage", "weights"): "By weights of agreement",
    ("propensity", "models"): "By propensity model",
    ("propensity", "percentiles"): "Percentiles of the propensity score",
    ("propensity", "scores"): "Distribution of the propensity score",
    ("propensity", "terms"): "Terms of the propensity models",
    ("rank_disclosure", "rank_change"): "Change of rank",
    ("regression_overlap", "coefficients"): "Regression coefficients",
    ("scatter", "grid"): "Scatter plots",
    ("shared_values", "cell_sizes"): "By number of records that share a value",
    ("shared_values", "shared"): "Values shared by records with equal S",
    ("swap_chain", "several possible rows"): "By rule if several rows are possible",
    ("table", "cells"): "Cells of the cross-tabulations with the largest change",
    ("singling_out", "predicates"): "By kind of condition",
    ("utility_tables", "tables"): "Statistics of every table",
    ("uniqueness", "anonymity"): "Records in classes smaller than k",
    ("uniqueness", "diversity"): "Different values within classes",
    ("uniqueness", "missing_cells"): "Records singled out by missing cells",
    ("uniqueness", "singled_out"): "Records singled out by the unmasked columns",
    ("uniqueness", "unchanged_records"): "Records released unchanged",
    ("value_disclosure", "interval_width"): "Width of confidence intervals with and without the release",
    ("value_disclosure", "regression_width"): "The same by regression alone",
}


def detail_title(method: str, key: str) -> str:
    """The heading of a table; the key in words if there is no title for it."""
    return known_title(method, key) or capitalise(words(key))


def known_title(method: str, key: str) -> str | None:
    """The title given to a table of a method, if any; a method used twice has a number behind its name."""
    return _OF_METHOD.get((method.partition(" (")[0], key), _OF_ALL.get(key))
