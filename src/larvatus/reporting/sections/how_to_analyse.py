"""How to analyse a release, given its steps, with code to copy in Python and R."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.comparison.comparison import About, Candidate
from larvatus.core.number_format import count, quote, words
from larvatus.reporting.page.blocks import Code, Fold, Listing, Paragraph, ReportBlock, Section
from larvatus.reporting.sections.analysis_code import (
    COPIES_PYTHON,
    COPIES_R,
    PLAIN_PYTHON,
    PLAIN_R,
    in_r,
    noise_python,
    noise_r,
)

_NOISES = ("additive_noise", "correlated_noise", "bias_and_noise")
# What each mask preserves, for masks after which no correction is needed.
_PRESERVED = {
    "blank_and_impute": "linear relations on average",
    "copula_perturbation": "the distribution of each column and the rank correlations on average",
    "data_shuffling": "the values of each column exactly and the rank correlations on average",
    "least_loss_model": "means and covariances on average",
    "linear_model": "means and covariances on average",
    "multiple_imputation": "means and covariances on average over the copies",
    "random_orthogonal": "means and covariances exactly",
    "sufficiency_based": "means and covariances exactly",
}
_IN_R = "The same in R, which reads the file as CSV"
_AS_COLLECTED = "Analyse the file as you would analyse the collected data, and keep the losses in mind."
_UNKNOWN = "variances, relations between columns and tails may differ from the collected data"
PARTLY = (
    "A step was not applied to some values, columns or records. Relations between masked and unmasked values may have "
    "changed; so may means and variances if zeros or signs were preserved."
)
_RULES = "Values were adjusted to satisfy rules. This may have changed means, variances and relations."
NO_CODE = "There is no ready-made correction for this. Analyse the file with these changes and the losses below in mind."


def how_to_analyse(candidate: Candidate, about: About) -> Section:
    """Advice and code for this release: combine copies, correct for published noise, or neither."""
    blocks: list[ReportBlock] = []
    columns = tuple(n for n, kind in about.kinds if kind == "number" and n in about.confidential) or tuple(about.confidential)
    if candidate.copies > 1:
        blocks += _copies(candidate.copies, columns)
    noise = _published_noise(candidate, columns)
    if noise is not None:
        blocks += _noise(noise, columns, about, _within(candidate))
    elif blocks:
        blocks += _changed(candidate, about) if candidate.publishable else []
    else:
        blocks += _plain(candidate, about, columns)
    if about.weight:
        blocks.append(Paragraph(f"Estimates for the population need the weights in the column {quote(about.weight)}."))
    return Section("How to analyse the file", tuple(blocks))


def advice_in_short(candidate: Candidate, about: About) -> list[str]:
    """The advice in a few sentences, for the first screen."""
    columns = tuple(n for n, kind in about.kinds if kind == "number" and n in about.confidential) or tuple(about.confidential)
    out = []
    if candidate.copies > 1:
        combined = f"Analyse each of the {count(candidate.copies)} copies and combine the results."
        out += [combined, "One copy alone looks more precise than it is."]
    if _published_noise(candidate, columns) is not None:
        out.append("Correct variances, correlations and regressions for the published noise; means need no correction.")
    elif not candidate.publishable:
        out.append(f"{_method(candidate)} is not described, so no correction can be given.")
    elif not out:
        altered = bool(_changed(candidate, about))
        plain = "Analyse it as you would analyse the collected data."
        out.append("Analyse it with the changes described below in mind." if altered else plain)
    if about.weight:
        out.append(f"Use the weights in the column {quote(about.weight)} for the population.")
    return [*out, "Ready-made code is below."]


def _method(candidate: Candidate) -> str:
    """What made the file, if nothing is said about it."""
    return "The masking method" if candidate.paired else "The generator"


def _copies(copies: int, columns: tuple[str, ...]) -> list[ReportBlock]:
    said = Paragraph(
        f"The release has {count(copies)} copies. Compute each estimate and its variance from every copy, then combine them. "
        "The combined estimate is the mean over the copies. Its variance is the mean of the variances plus the variance "
        f"between the estimates divided by {count(copies)} (the rule for partially synthetic data; Reiter 2003)."
    )
    return [said, *_both(COPIES_PYTHON, COPIES_R, columns[0], copies=copies)]


def _plain(candidate: Candidate, about: About, columns: tuple[str, ...]) -> list[ReportBlock]:
    said: list[ReportBlock] = _changed(candidate, about) if candidate.publishable else [
        Paragraph(f"{_method(candidate)} is not described here, so no correction can be given.")
    ]
    return [*(said or [Paragraph(_preserved(candidate))]), *(_both(PLAIN_PYTHON, PLAIN_R, columns[0]) if columns else [])]


def _preserved(candidate: Candidate) -> str:
    """One sentence for each step on what it preserves, and the advice that this needs no correction."""
    out = []
    for step in candidate.publishable:
        name = str(step.get("method", "step"))
        what = _PRESERVED.get(name, "the statistics that its description above names")
        weighted = "weighted " if step.get("weighted") and what.startswith("means") else ""
        out.append(f"{words(name).capitalize()} preserves {weighted}{what}.")
    return " ".join([*dict.fromkeys(out), "These need no correction.", _AS_COLLECTED])


def _changed(candidate: Candidate, about: About) -> list[ReportBlock]:
    """What each step changes according to its method, without code to correct it; empty if nothing changes."""
    told = [str(step.get("method", "step")) for step in candidate.publishable]
    clauses = [*candidate.altered, *[_UNKNOWN] * (len(told) - len(candidate.altered))]
    items = [f"{words(name).capitalize()}: {said}." for name, said in zip(told, clauses, strict=False) if said]
    items += [PARTLY] if any(_partly(step, about) for step in candidate.steps) else []
    items += [_RULES] if candidate.rules else []
    if not items:
        return []
    return [Paragraph("Masking affects analyses of the file as follows:"), Listing(tuple(items)), Paragraph(NO_CODE)]


def _partly(step: Mapping[str, Any], about: About) -> bool:
    some = set(step.get("columns") or about.confidential) != set(about.confidential)
    return some or step.get("where") is not None or step.get("zeros") == "keep" or bool(step.get("positive"))


def _noise(noise: Mapping[str, Any], columns: tuple[str, ...], about: About, within: bool) -> list[ReportBlock]:
    groups = tuple(about.sub_groups) if within else ()
    said = Paragraph(
        "The noise does not change means on average, but it inflates variances and weakens correlations and regression slopes. "
        "Its size is published, so you can correct for it with the code below. The Python version also gives standard errors "
        "that account for the noise."
    )
    python, r = noise_python(noise, columns, groups), noise_r(noise, columns, groups)
    return [said, Code("Python", python), Fold(_IN_R, (Code("R", r),), "whole")]


def _both(python: str, r: str, column: str, **more: int) -> list[ReportBlock]:
    names = {"column": column, "quoted": in_r(column), **more}
    return [Code("Python", python.format(**names)), Fold(_IN_R, (Code("R", r.format(**names)),), "whole")]


def _within(candidate: Candidate) -> bool:
    return str(candidate.steps[0].get("scope", "sub_group")) == "sub_group"


def _published_noise(candidate: Candidate, columns: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The published noise parameters by column; None if anything else was done to the columns."""
    if len(candidate.steps) != 1 or len(candidate.publishable) != 1 or candidate.copies > 1 or candidate.rules or not columns:
        return None
    step, told = candidate.steps[0], candidate.publishable[0]
    method = told.get("method")
    changed = step.get("zeros") == "keep" or step.get("positive") or step.get("where") is not None or step.get("columns")
    if method not in _NOISES or changed:
        return None
    wanted = ("bias_sd", "noise_ratio") if method == "bias_and_noise" else ("variance",)
    found = {name: _by_column(told.get(name), columns) for name in wanted}
    if any(v is None for v in found.values()):
        return None
    return {"method": method, "noise": told.get("noise", "normal"), "bias": told.get("bias", "normal"), **found}


def _by_column(value: Any, columns: tuple[str, ...]) -> dict[str, float] | None:
    """A setting for each column; None if it is not certain."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return dict.fromkeys(columns, float(value))
    if isinstance(value, Mapping) and set(value) == set(columns):
        return {n: float(value[n]) for n in columns}
    if isinstance(value, list | tuple) and len(value) == len(columns):
        return {n: float(v) for n, v in zip(columns, value, strict=True)}
    return None
