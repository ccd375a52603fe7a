"""Small files are masked and scored with one thread for matrix products; large ones with as many as there are."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import larvatus as lv
from larvatus.pipeline import compare_releases
from sample import ROLES, SECRET, people


@pytest.mark.parametrize(("worth", "units"), [(1000, 3), (100, 0)])
def test_one_thread_below_the_limit(monkeypatch, worth, units):
    entered = []

    @contextmanager
    def counted():
        entered.append(1)
        yield

    monkeypatch.setattr(compare_releases, "one_blas_thread", counted)
    monkeypatch.setattr(compare_releases, "WORTH_BLAS_THREADS", worth)
    data = lv.read(people(160), **ROLES)
    release = {"name": "noise", "steps": ["additive_noise"]}
    lv.compare(data, [release], ["nearest_record"], ["moments"], secret=SECRET, execution=lv.Execution(jobs=1))
    assert len(entered) == units  # a mask, an attack and a measure
