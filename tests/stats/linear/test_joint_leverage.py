"""Records that the exact totals of several files determine together, against the rank of the joint design."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linear import joint_leverage as module
from larvatus.stats.linear.joint_leverage import ExactDesign, joint_leverage


def areas(*moves: tuple[int, int]) -> list[ExactDesign]:
    """Two files of 80 records in four areas; between them some records moved to another area."""
    old = np.repeat(np.arange(4), 20)
    new = old.copy()
    for record, area in moves:
        new[record] = area
    return [ExactDesign(g, np.zeros((80, 0))) for g in (old, new)]


@pytest.mark.parametrize(("moves", "known", "pairs"), [
    ((), [], []), (((17, 1),), [17], []), (((17, 1), (3, 1)), [], [(3, 17)]), (((17, 1), (3, 1), (4, 1)), [], []),
    (((17, 1), (25, 2)), [17, 25], []), (((17, 1), (25, 0)), [], [(17, 25)]),
], ids=["nobody moved", "one", "two together", "three together", "two apart", "two changed places"])
def test_records_that_moved(moves, known, pairs):
    found = joint_leverage(areas(*moves))
    assert found.known.tolist() == known
    assert [tuple(sorted(p)) for p in found.pairs] == pairs


def test_one_file_twice_tells_no_more_than_once():
    """Redundant columns: the same groups and the same S, and S once more as a multiple."""
    rng = np.random.default_rng(1)
    s = rng.normal(size=(60, 2))
    group = np.repeat(np.arange(3), 20)
    one, other = ExactDesign(group, s), ExactDesign(group, np.column_stack([3 * s + 5, s.sum(axis=1)]))
    assert not len(joint_leverage([one, other]).known)
    assert not joint_leverage([one, other]).pairs


@pytest.mark.parametrize("seed", range(5))
def test_what_is_known_is_what_the_row_space_holds(seed):
    """Random groups and S in three files: a record is known if its unit vector is a combination of the columns."""
    rng = np.random.default_rng(seed)
    n = 40
    designs = [ExactDesign(rng.integers(-1, 6, n), rng.integers(0, 2, (n, 1)).astype(float)) for _ in range(3)]
    columns = [np.column_stack([(d.group == g) * 1.0, (d.group == g) * d.terms[:, 0]]) for d in designs for g in range(6)]
    a = np.hstack(columns)
    h = np.diag(a @ np.linalg.pinv(a, rcond=1e-10))
    assert joint_leverage(designs).known.tolist() == np.flatnonzero(h > 0.99).tolist()
    assert (h > 0.99).any()


def test_blocks_that_are_too_large_are_counted(monkeypatch):
    monkeypatch.setattr(module, "_MOST_CELLS", 5)
    found = joint_leverage(areas((17, 1)))
    assert found.skipped == 40
    assert not len(found.known)


def test_totals_that_do_not_hold_are_found():
    (one, _), difference = areas(), np.zeros(80)
    difference[25] = 1.0
    assert one.inexact_groups(difference, 1.0, 1e-3) == [1]
    assert set(one.without([1]).group.tolist()) == {-1, 0, 2, 3}
