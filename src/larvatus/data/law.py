"""The linear law of a mask: what Y is, in mean and covariance, given X and S. Attacks that know the mask use it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupLaw:
    """In one sub-group: E(Y | X, S) = intercept + on_x X + on_s S, and Cov(Y | X, S)."""

    intercept: Matrix
    on_x: Matrix
    on_s: Matrix
    covariance: Matrix


@dataclass(frozen=True, slots=True)
class Law:
    """The law in every sub-group, over these confidential and design columns."""

    confidential: tuple[str, ...]
    given: tuple[str, ...]
    groups: tuple[GroupLaw, ...]
