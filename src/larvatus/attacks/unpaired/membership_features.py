"""What an intruder sees of a record in the released file that may tell whether the record was used to make it.

    density       −log( d₁(i; released rows) / d₅(i; other real records) ),      the same with d₅ of the released rows
    nearness      −log( d₁ / d₅ ) among released rows: a near copy
    occurrence    Σ_j log( P(x_ij is released | i was used) / P(x_ij is released | i was not) )
    agreement     number of columns in which the nearest released row has the value of the record

A generator that draws values of its training records releases a value of c other records with probability 1 − exp(−cλ) if the
record was not used, and 1 − exp(−(c + 1)λ) if it was, with λ released rows for each training record. A value that nobody else
has gives its record away.
"""

from __future__ import annotations

import numpy as np

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.core.arrays import Floats
from larvatus.data.contracts import Array

DENSITY_AT, OCCURRENCE_AT = 0, 3  # columns of the features
_NEVER_SURE = 1 - 1e-12


def membership_features(files: ComparedFiles) -> Floats:
    """Features of every training record, then of every record held out; larger values speak for a training record."""
    from larvatus.stats.closeness.nearest_distances import NEIGHBOURS, nearest_distances

    records = np.concatenate([files.points(files.training), files.points(files.holdout)])
    rows = files.points(files.released)
    near, nearest = nearest_distances(records, rows, min(NEIGHBOURS, len(rows)))
    apart = nearest_distances(records, records, NEIGHBOURS + 1)[0][:, -1]  # the first one is the record itself, or its equal
    tiny = 1e-9 * max(float(apart.max(initial=0.0)), 1e-300)
    first, last, usual = (np.log(d + tiny) for d in (near[:, 0], near[:, -1], apart))
    return np.column_stack([usual - first, usual - last, last - first, _occurrence(files), _agreement(files, nearest[:, 0])])


def _occurrence(files: ComparedFiles) -> Floats:
    """The log likelihood ratio of the values that occur in the released file and of those that do not, over all columns."""
    rate = len(files.released) / max(len(files.training), 1)
    total = np.zeros(len(files.training) + len(files.holdout))
    for name in files.columns:
        real = np.concatenate([files.training.values[name], files.holdout.values[name]])
        _, code, count = np.unique(real, return_inverse=True, return_counts=True)
        others = count[code] - 1.0
        used, unused = (np.clip(-np.expm1(-c * rate), 1 / len(real), _NEVER_SURE) for c in (others + 1, others))
        occurs = np.isin(real, files.released.values[name])
        total += np.where(occurs, np.log(used / unused), np.log1p(-used) - np.log1p(-unused))
    return total


def _agreement(files: ComparedFiles, nearest: Array) -> Floats:
    """The number of columns in which the nearest released row has the value of the record."""
    total = np.zeros(len(nearest))
    for name in files.columns:
        real = np.concatenate([files.training.values[name], files.holdout.values[name]])
        total += real == files.released.values[name][nearest]
    return total
