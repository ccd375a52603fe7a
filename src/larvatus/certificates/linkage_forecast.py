"""What the best intruder who knows one record links if the columns are normal: a forecast from a few numbers, without a file.

    P(link) = E[(1 − F(|y − x/ρ|²))^(n−1)]      F: noncentral χ² with d degrees of freedom and noncentrality |x|²/ρ²

`stats/linkage_law` evaluates it; `docs/science/linkage-law.md` derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.errors import StudyError
from larvatus.core.number_format import share
from larvatus.stats.linkage_law.link_probability import link_probability_in_groups
from larvatus.stats.linkage_law.one_to_one import MOST_MATCHED_AT_ONCE, assignment_share

_MOST_COLUMNS, _MOST_GUESSES = 300, 1_000_000


@dataclass(frozen=True, slots=True)
class LinkForecast:
    """The expected share of records linked, its numerical standard error, and the information about a record in bits.

    Examples:
        >>> import larvatus as lv
        >>> lv.linkage_law(10_000, columns=5, r2=0.49).sentence()
        'In normal columns the best intruder who knows one record links 1.0\\xa0% of records.'
    """

    links: float
    standard_error: float
    bits: float
    one_to_one: bool = False

    def sentence(self) -> str:
        who = "an intruder who knows all records and assigns them one to one" if self.one_to_one else (
            "the best intruder who knows one record")
        return f"In normal columns {who} links {share(self.links)} of records."


def linkage_law(
    records: float | Sequence[float], *, columns: int = 1, r2: float | None = None,
    correlations: Sequence[float] | None = None, guesses: int = 1, in_release: float = 1.0, one_to_one: bool = False,
) -> LinkForecast:
    """Forecast the share of records that the best intruder who knows one record links, for normal columns.

    Parameters:
        records: number of candidates, or one number for each sub-group
        columns: number of columns, with the same R² each
        r2: squared correlation of each original column with its released version, given S
        correlations: instead, the canonical correlations of original and released columns, given S
        guesses: released rows that the intruder may name
        in_release: probability that the person is in the release, if it is a sample
        one_to_one: the intruder knows all records and assigns them to released rows at once; by simulation, for at most
            2,000 candidates

    Examples:
        >>> import larvatus as lv
        >>> round(lv.linkage_law(1000, columns=5, r2=0.75).links, 3)
        0.187
        >>> round(lv.linkage_law([100, 900], correlations=[0.9, 0.5], guesses=3).links, 2)
        0.05
    """
    counts = np.atleast_1d(np.asarray(records, dtype=np.float64))
    wrong = []
    if (r2 is None) == (correlations is None):
        wrong.append("linkage law: give either r2 or correlations.")
    rho = np.asarray(correlations, dtype=np.float64) if correlations is not None else np.full(max(columns, 0), r2 or 0.0) ** 0.5
    if not 1 <= rho.size <= _MOST_COLUMNS:
        wrong.append(f"columns: must be 1 to {_MOST_COLUMNS}, but {rho.size} were given.")
    if r2 is not None and not 0 <= r2 < 1:
        wrong.append(f"r2: must be at least 0 and below 1, but is {r2:g}.")
    elif not ((rho >= 0) & (rho < 1)).all():
        wrong.append("correlations: each must be at least 0 and below 1.")
    if not counts.size or not (np.isfinite(counts) & (counts >= 1)).all():
        wrong.append("records: each number must be at least 1.")
    if not 1 <= guesses <= _MOST_GUESSES:
        wrong.append(f"guesses: must be 1 to {_MOST_GUESSES:,}, but is {guesses}.")
    if not 0 < in_release <= 1:
        wrong.append(f"in_release: must be above 0 and at most 1, but is {in_release:g}.")
    if one_to_one and (guesses > 1 or in_release < 1 or counts.max(initial=0) > MOST_MATCHED_AT_ONCE):
        wrong.append(f"one_to_one: needs one guess, in_release = 1 and at most {MOST_MATCHED_AT_ONCE:,} candidates. "
                     "Leave it out.")
    if wrong:
        raise StudyError(wrong)
    links = error = 0.0
    for n in counts:  # a number of candidates stands for that many records
        if one_to_one:
            found, off = assignment_share(rho, round(n))
        else:
            found, off = link_probability_in_groups([rho], [np.array([n])], guesses, in_release)
        links += found * n / counts.sum()
        error += off * n / counts.sum()
    return LinkForecast(float(links), float(error), float(-0.5 * np.log2(1 - rho**2).sum()), one_to_one)
