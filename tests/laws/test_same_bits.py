"""Known answers: digests of ten releases of made-up integers, which every machine must give to the last bit.

After a change that is meant to change releases, print new digests with `python tests/matrix/release_digests.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv

sys.path.append(str(Path(__file__).resolve().parents[1] / "matrix"))

from integer_sample import SECRET, people, roles_for
from release_digests import column_bytes, digest_of, masks, steps

KNOWN = {
    "additive_noise-1": "7468b88b48ffafcf",
    "bias_and_noise-2": "c210d8caa4dce1a7",
    "copula_perturbation-0": "a7bfb92eed6b426c",
    "correlated_noise-0": "14a609a890678dde",
    "data_shuffling-0": "86346f1ebfe1a94f",
    "linear_model-0": "5a5afdee01a4164d",
    "microaggregation-0": "4f9533b9abcb4fd5",
    "multiple_imputation-0": "fbd99e85eab28614",
    "sufficiency_based-0": "bad405bc7d4a8e91",
    "weight_calibration-0": "57eec753d50d0eb8",
}


@pytest.fixture(scope="module")
def every_mask() -> dict:
    return dict(masks())


@pytest.mark.parametrize("name", KNOWN)
def test_a_release_has_the_known_bits(name, every_mask):
    mask = every_mask[name]
    release = lv.mask(lv.read(people(), **roles_for(mask)), *steps(mask), secret=SECRET)
    assert digest_of(release) == KNOWN[name]


def test_one_bit_changes_the_digest():
    one = pa.array([1.0, None, 2.0])
    other = pa.array([1.0, None, float(np.nextafter(2.0, 3.0))])
    assert column_bytes(one) == column_bytes(pa.array([1.0, None, 2.0])) != column_bytes(other)
