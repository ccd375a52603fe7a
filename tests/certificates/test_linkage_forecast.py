"""The forecast of links from a few numbers, in Python and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import ncx2

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import StudyError

FALSE_ALARM_SDS = 6  # a normal mean is further away once in 5e8


@pytest.mark.parametrize(("records", "r2"), [(1e4, 0.49), (1e6, 0.89), (1e9, 0.993)])
def test_one_record_in_a_hundred_is_linked_with_five_columns(records, r2):
    """Figures that were computed elsewhere, to the two or three digits in which R² is stated."""
    assert lv.linkage_law(records, columns=5, r2=r2).links == pytest.approx(0.01, abs=0.001)


def test_the_formula_as_a_plain_mean():
    """The mean of (1 − F)^(n−1) over random pairs (x, y), with SciPy's noncentral χ²."""
    n, d, r2, draws = 500, 3, 0.6, np.random.default_rng(9)
    rho = np.sqrt(r2)
    x = draws.normal(size=(20_000, d))
    y = rho * x + np.sqrt(1 - r2) * draws.normal(size=x.shape)
    beaten = ncx2.cdf(((y - x / rho) ** 2).sum(axis=1), d, (x**2).sum(axis=1) / r2)
    links = (1 - beaten) ** (n - 1)
    found = lv.linkage_law(n, columns=d, r2=r2).links
    assert abs(found - links.mean()) <= FALSE_ALARM_SDS * links.std() / np.sqrt(len(links))


def test_sub_groups_are_weighted_by_their_records_and_samples_by_their_share():
    one, other = (lv.linkage_law(n, columns=2, r2=0.8).links for n in (100, 900))
    assert lv.linkage_law([100, 900], columns=2, r2=0.8).links == pytest.approx(0.1 * one + 0.9 * other, abs=1e-12)
    assert lv.linkage_law(100, columns=2, r2=0.8, in_release=0.25).links == pytest.approx(one / 4, abs=1e-12)


def test_more_guesses_find_more_and_no_correlation_finds_one_in_n():
    shares = [lv.linkage_law(200, correlations=[0.9, 0.4], guesses=k).links for k in (1, 5, 50)]
    assert shares == sorted(shares)
    assert lv.linkage_law(200, columns=4, r2=0.0, guesses=3).links == pytest.approx(3 / 200, abs=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.7, 0.95])
def test_two_records_one_to_one(rho):
    """One column and two records: the pairing by order is right if X and Y have the same order: ½ + arcsin(ρ) / π."""
    found = lv.linkage_law(2, correlations=[rho], one_to_one=True)
    exact = 0.5 + np.arcsin(rho) / np.pi
    assert abs(found.links - exact) < FALSE_ALARM_SDS * max(np.sqrt(exact * (1 - exact) / 2000), found.standard_error)
    assert "one to one" in found.sentence()


def test_assigning_all_records_finds_more_than_one_by_one_and_is_limited():
    alone, together = (lv.linkage_law(100, columns=5, r2=0.8, one_to_one=yes) for yes in (False, True))
    assert together.links > alone.links + 3 * together.standard_error
    with pytest.raises(StudyError, match="one_to_one"):
        lv.linkage_law(10_000, columns=5, r2=0.6, one_to_one=True)


def test_wrong_numbers_are_reported_together():
    with pytest.raises(StudyError) as caught:
        lv.linkage_law(0, columns=0, r2=1.5, guesses=0, in_release=2)
    assert all(word in str(caught.value) for word in ("records:", "columns:", "r2:", "guesses:", "in_release:"))
    with pytest.raises(StudyError, match="either r2 or correlations"):
        lv.linkage_law(10)


def test_on_the_command_line(capsys):
    assert main(["linkage-law", "10000", "--columns", "5", "--r2", "0.49", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["links"] == pytest.approx(lv.linkage_law(1e4, columns=5, r2=0.49).links)
    assert main(["linkage-law", "100", "900", "--correlations", "0.9", "0.5"]) == 0
    assert "not a bound" in capsys.readouterr().out
    assert main(["linkage-law", "50", "--columns", "2", "--r2", "0.5", "--one-to-one"]) == 0
    assert "one to one" in capsys.readouterr().out
    assert main(["linkage-law", "100"]) == 2
