"""Fisher's discriminant against scikit-learn, and placements against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.closeness.seen_records import discriminant, placements


def test_the_direction_is_that_of_scikit_learn():
    analysis = pytest.importorskip("sklearn.discriminant_analysis", reason="scikit-learn is not installed")
    rng = np.random.default_rng(1)
    mixed = rng.normal(size=(3, 3))
    seen, unseen = rng.normal(0.3, 1, (4000, 3)) @ mixed, rng.normal(0, 1, (3000, 3)) @ mixed
    theirs = analysis.LinearDiscriminantAnalysis().fit(np.concatenate([seen, unseen]), np.repeat([1, 0], [4000, 3000])).coef_[0]
    ours = discriminant(seen, unseen)
    assert np.corrcoef(seen @ ours, seen @ theirs)[0, 1] > 0.999  # the ridge is a thousandth


def test_a_constant_feature_has_no_weight():
    rng = np.random.default_rng(2)
    seen = np.column_stack([rng.normal(size=50), np.full(50, 7.0)])
    unseen = seen + np.array([1.0, 0.0])
    assert discriminant(seen, unseen)[1] == 0.0


def test_placements_are_shares_of_the_others_below():
    scores = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    others = np.array([1, 2, 3])
    expected = [np.mean(np.where(scores[others] < s, 1.0, np.where(scores[others] == s, 0.5, 0.0))) for s in scores]
    np.testing.assert_allclose(placements(scores, others), expected)
