"""The tree: another library's tree on the same columns, and nothing found where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from larvatus.stats.models.cart import DEEPEST, grow_tree

N = 700


def files() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, 4))
    x[:, 0] = np.round(x[:, 0], 1)
    both = np.concatenate([x, x * 1.2 + rng.normal(size=x.shape) * 0.4])
    return both, np.repeat([0, 1], N)


def coded(x: np.ndarray) -> np.ndarray:
    return np.array([np.unique(c, return_inverse=True)[1] for c in x.T], dtype=np.int32)


@pytest.mark.parametrize("price", [0.0, 1.0, 5.0])
def test_agrees_with_a_library(price):
    x, label = files()
    tree = grow_tree(coded(x), 1 - label, label, 20, price)
    other = DecisionTreeClassifier(min_samples_leaf=20, ccp_alpha=2 * price / len(x), max_depth=DEEPEST, random_state=0)
    share = other.fit(x, label).predict_proba(x)[:, 1]
    assert tree.leaves == other.get_n_leaves() > 3
    assert tree.departure == pytest.approx(((share - 0.5) ** 2).sum(), rel=1e-9)
    assert tree.departure == pytest.approx(((tree.share - 0.5) ** 2).sum())  # splits that gain the same are anyone's choice
    assert tree.gain.sum() == pytest.approx(tree.departure)


def test_counts_stand_for_repeated_rows():
    x, label = files()
    times = np.random.default_rng(2).integers(0, 3, len(x))
    rows = np.repeat(np.arange(len(x)), times)
    one = grow_tree(coded(x), (1 - label) * times, label * times, 20, 1.0)
    other = grow_tree(np.ascontiguousarray(coded(x)[:, rows]), (1 - label)[rows], label[rows], 20, 1.0)
    assert (one.departure, one.leaves) == (pytest.approx(other.departure), other.leaves)


def test_nothing_is_found_in_the_same_rows():
    x, label = files()
    same = np.concatenate([x[:N], x[:N]])
    tree = grow_tree(coded(same), 1 - label, label, 1, 0.0)
    assert (tree.departure, tree.leaves) == (0.0, 1)
