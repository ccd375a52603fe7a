"""Parts of the file in which a column is not masked: combinations of divisions, and which parts count."""

from __future__ import annotations

from fractions import Fraction
from math import factorial, prod

import numpy as np
import pytest

from larvatus.data.exposure import unmasked_parts as module
from larvatus.data.exposure.unmasked_parts import FilePart, unmasked_parts


@pytest.mark.parametrize("most", [0, module._MOST_CELLS], ids=["sorted", "in a table"])
def test_combinations_are_those_that_occur(most, monkeypatch):
    monkeypatch.setattr(module, "_MOST_CELLS", most)
    one, other = FilePart(np.array([0, 0, 1, 2, -1, 2]), ["a", "b", "c"]), FilePart(np.array([1, 1, 0, -1, 0, 1]), ["x", "y"])
    both = one.crossed(other)
    assert both.names == (("a", "y"), ("b", "x"), ("c", "y"))
    assert both.part.tolist() == [0, 0, 1, -1, -1, 2]


def test_a_part_counts_if_nearly_all_of_it_is_unchanged_beyond_coincidence():
    """Twenty records in each of four parts: 20, 19, 17 and 19 values unchanged; those of the last part are nearly all alike."""
    part = np.repeat(np.arange(4), 20)
    x = np.arange(80.0)
    x[61:] = 7.0
    same = np.ones(80, dtype=bool)
    same[[20, 40, 41, 42, 60]] = False
    rows = unmasked_parts([FilePart(part, ["a", "b", "c", "d"])], {"x": x}, {"x": same}, [])
    assert [(row["sub_group"], row["count"]) for row in rows] == [("x where a", 20), ("x where b", 19)]
    assert not unmasked_parts([FilePart(part, ["a", "b", "c", "d"])], {"x": np.full(80, np.nan)}, {"x": same}, [])


@pytest.mark.parametrize("records", [5, 6])
def test_a_small_part_counts_if_a_permutation_would_hardly_leave_it_unchanged(records):
    """Two equal values among different ones: a permutation leaves all unchanged with probability 2 / n!."""
    x = np.arange(float(records))
    x[1] = x[0]
    luck = Fraction(prod(factorial(int(k)) for k in np.unique(x, return_counts=True)[1]), factorial(records))
    found = unmasked_parts([FilePart(np.zeros(records, dtype=int), ["a"])], {"x": x}, {"x": np.ones(records, dtype=bool)}, [])
    assert bool(found) == (luck <= Fraction(1, 100)) == (records == 6)
