"""Settings of masks as users of a release read them: switches at their default are left out, sizes are always given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.core.discovery import file_names, load
from larvatus.core.number_format import exact_number, words

_MOST_VALUES = 12
# By field, or by "mask.field": the phrase for a value; {} is the value.
_SIZES: Mapping[str, str] = {
    "additive_noise.bounds": "bounds to which values outside of them are moved: {}",
    "additive_noise.scale": "standard deviation of the noise: {}",
    "base": "multiples of {}", "bias_sd": "standard deviation of the factor: {}", "bins": "number of classes: {}",
    "blank_and_impute.rate": "share of values blanked: {}", "copies": "number of copies: {}", "cuts": "class boundaries: {}",
    "date_shift.days": "largest shift in days: {}", "recoding.unit": "dates are released as the first day of their {}",
    "hold": "columns whose mean is preserved: {}",
    "least_loss_model.bits": "information about a record, for normal columns, in bits: {}",
    "least_loss_model.domains": "weight of errors in unknown parts of the file: {}",
    "insiders": "number of persons in a sub-group who must not be able to compute the records of the others: {}",
    "known": "columns in the key: {}", "local_suppression.k": "smallest number of records that share a key: {}",
    "record_suppression.k": "smallest number of records that share a key: {}",
    "record_suppression.l": "smallest number of different values among records that share a key: {}",
    "record_suppression.t": "largest distance of values among records that share a key from those in the file: {}",
    "record_suppression.threshold": "largest estimated risk of a record: {}",
    "recoding.level": "levels of the hierarchy that were cut off: {}",
    "recoding.widths": "widths of classes by level: {}",
    "matrix": "transition probabilities: {}", "microaggregation.k": "smallest size of a group: {}",
    "noise_ratio": "standard deviation of the noise relative to the column: {}", "other": "label of joined categories: {}",
    "outliers": "share of outlying records never drawn: {}", "period": "the same share is cut in each {}",
    "random_blanking.rate": "probability that a value becomes missing: {}",
    "rare": "categories with fewer records are joined: {}", "sampling.rate": "share of the records in the sample: {}",
    "sequential_trees.smallest_leaf": "smallest number of records in a leaf of a tree: {}",
    "similarity": "similarity to the original deviations: {}", "smooth": "least number of records between quantiles: {}",
    "stay": "probability that a category is kept: {}", "tail": "share of values cut at each side: {}",
    "together": "columns treated together: {}", "tolerance": "largest difference of a mean, in standard deviations: {}",
    "record_swap.match": "columns in which both households agree: {}",
    "variance": "noise variance relative to the variance of the column: {}",
    "weight_calibration.lower": "smallest factor of a weight: {}",
    "weight_calibration.margins": "totals of the collected data that hold: {}",
    "weight_calibration.upper": "largest factor of a weight: {}",
    "weight_grouping.classes": "number of different weights, in each sub-group or in the file: {}",
    "weight_grouping.k": "smallest number of records with the same weight: {}",
    "weight_noise.sd": "standard deviation of the logarithm of the factors: {}",
}
_SWITCHES: Mapping[tuple[str, Any], str] = {
    ("bias", "gamma"): "gamma factor", ("bias", "lognormal"): "lognormal factor", ("bias", "normal"): "normal factor",
    ("date_shift.per", "household"): "all dates of a household are shifted alike",
    ("date_shift.per", "person"): "all dates of a person are shifted alike",
    ("date_shift.per", "record"): "all dates of a record are shifted alike",
    ("centre", "mean"): "values are replaced by the mean of their group",
    ("centre", "median"): "values are replaced by the median of their group",
    ("correlated", False): "noise is independent between columns",
    ("correlated", True): "noise has the correlations of the columns",
    ("disjoint", False): "several values of a record may be blanked",
    ("disjoint", True): "at most one value of a record is blanked",
    ("distance", "distribution"): "values move by normal distances in rank",
    ("distance", "window"): "values move within a window of ranks",
    ("grouping", "fixed"): "groups of fixed size in the order of one column",
    ("grouping", "mdav"): "groups of nearby records",
    ("grouping", "optimal"): "groups of optimal size in the order of one column",
    ("grouping", "projection"): "groups in the order of a sum of columns",
    ("sequential_trees.smoothing", "density"): "values are drawn near those of the leaf",
    ("sequential_trees.smoothing", "none"): "values are drawn from those of the leaf",
    ("invariant", False): "expected frequencies change", ("invariant", True): "expected frequencies are preserved",
    ("moments", "exact"): "means and covariances are preserved exactly",
    ("moments", "random"): "means and covariances are preserved on average",
    ("noise", "laplace"): "Laplace noise", ("noise", "mixture"): "noise from a mixture of distributions",
    ("noise", "normal"): "normal noise", ("noise", "uniform"): "uniform noise",
    ("pairs", False): "values are permuted", ("pairs", True): "values are exchanged in pairs",
    ("positive", False): "masked values may be negative", ("positive", True): "masked values are above zero",
    ("recoding.replacement", "label"): "a class is released as a label",
    ("recoding.replacement", "mean"): "a class is released as its mean",
    ("recoding.replacement", "mid"): "a class is released as its midpoint",
    ("side", "both"): "both tails are cut", ("side", "bottom"): "the lower tail is cut",
    ("side", "top"): "the upper tail is cut",
    ("tails", "one_sided"): "partners are searched upwards", ("tails", "two_sided"): "partners are searched both ways",
    ("together", "all"): "all columns are treated together",
    ("together", "correlated"): "correlated columns are treated together",
    ("together", "each"): "each column is treated alone", ("together", False): "each column is treated alone",
    ("together", True): "all columns are treated together",
    ("top_coding.replacement", "bound"): "values cut are replaced by the bound",
    ("top_coding.replacement", "mean"): "values cut are replaced by their mean",
    ("weight_calibration.distance", "linear"): "weights are linear in the margins",
    ("weight_calibration.distance", "raking"): "weights are raked",
    ("weighted", False): "means and covariances are unweighted",
    ("weighted", True): "weighted means and covariances are preserved",
    ("zeros", "keep"): "zeros are released unchanged", ("zeros", "latent"): "zeros are treated as tied values",
    ("zeros", "mask"): "zeros are masked", ("zeros", "sub_group"): "zeros and other values are masked separately",
}


def setting_phrases(mask: str, settings: Mapping[str, Any]) -> list[str]:
    """One phrase for each publishable setting, except switches at their default and empty lists."""
    masks = "larvatus.masks"
    fields = getattr(load(masks, mask) if mask in file_names(masks) else None, "model_fields", {})
    out = []
    for name, value in settings.items():
        switch = isinstance(value, bool | str)
        if (switch and name in fields and fields[name].default == value) or (not switch and value in ([], (), {}, None)):
            continue
        out.append(phrase_of(mask, name, value) or f"{words(name)}: {_value(value)}")
    return out


def phrase_of(mask: str, name: str, value: Any) -> str | None:
    """The phrase for a setting of a mask; None if there is none."""
    places = (f"{mask}.{name}", name)
    if isinstance(value, bool | str):
        said = next((_SWITCHES[place, value] for place in places if (place, value) in _SWITCHES), None)
        if said is not None:
            return said
    shape = next((_SIZES[place] for place in places if place in _SIZES), None)
    return None if shape is None else shape.format(_value(value))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return exact_number(value)
    if isinstance(value, Mapping):
        return _joined([f"{k} {_value(v)}" for k, v in value.items()])
    return _joined([_value(v) for v in value]) if isinstance(value, list | tuple) else str(value)


def _joined(parts: Sequence[str]) -> str:
    more = f"; … ({len(parts):,} in total)" if len(parts) > _MOST_VALUES else ""
    return "; ".join(parts[:_MOST_VALUES]) + more
