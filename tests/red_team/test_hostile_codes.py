"""Codes of missing values stay in their cells: -8 refused, -9 does not know. An intruder who knows them compares them.

300 records in three sub-groups, three columns, .4 of the cells missing with one of five codes: guesses among the records of a
sub-group with the same codes find .43. The standard error of a share of 300 records is at most .029. Each test asks for .3, so
false alarms are rarer than 1e-5 for each secret.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv

CODES = [-1, -2, -3, -4, -5]


def coded_file() -> pd.DataFrame:
    draws = np.random.default_rng(1)
    frame = pd.DataFrame({c: draws.lognormal(10, 1, 300).round() for c in "abc"})
    for column in "abc":
        gone = draws.random(300) < 0.4
        frame.loc[gone, column] = draws.choice(CODES, gone.sum())
    frame["s"] = draws.integers(0, 3, 300)
    return frame


def read(source: pd.DataFrame | Path, engine: str = "memory") -> lv.Microdata:
    missing = dict.fromkeys("abc", CODES)
    return lv.read(source, confidential=list("abc"), sub_groups=["s"], missing=missing, engine=engine)


def found_by_codes(frame: pd.DataFrame) -> float:
    """What guesses among records of a sub-group with the same codes find."""
    codes = frame.where(frame < 0, 0).assign(s=frame["s"])
    return len(codes.drop_duplicates()) / len(frame)


@pytest.mark.parametrize("secret", [1, 2, 3])
@pytest.mark.parametrize("attack", ["nearest_record", "posterior_match"])
def test_codes_of_missing_values_are_compared(secret: int, attack: str):
    data = read(coded_file())
    release = lv.mask(data, ["data_shuffling"], secret=bytes([secret]) * 32)
    score = lv.risk(data, release, attack)[0]
    assert found_by_codes(coded_file()) == pytest.approx(0.427, abs=1e-3)
    assert score.value > 0.3
    assert score.chance == pytest.approx(0.01), "that codes are released is part of what the release gives away"


def test_engines_agree(tmp_path: Path):
    coded_file().to_csv(tmp_path / "coded.csv", index=False)
    values = []
    for engine in ("memory", "duckdb"):
        data = read(tmp_path / "coded.csv", engine)
        values.append(lv.risk(data, lv.mask(data, ["data_shuffling"], secret=b"k" * 32), "nearest_record")[0].value)
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert values[0] > 0.3


def test_codes_are_not_compared_where_cells_were_filled():
    """Half of the missing cells have a value in the release: the score is that of the same file with blanks instead of codes.

    Otherwise the released codes would count as known, and the risk would be too high.
    """
    frame, draws = coded_file(), np.random.default_rng(2)
    filled = frame.copy()
    for column in "abc":
        cells = (frame[column] < 0) & (draws.random(len(frame)) < 0.5)
        filled.loc[cells, column] = 22_000.0
    coded, blank = read(frame), lv.read(frame.where(frame >= 0), confidential=list("abc"), sub_groups=["s"])
    with_codes, with_blanks = (
        lv.risk(known, released, "nearest_record", row_order="keep")[0].value
        for known, released in ((coded, filled), (blank, filled.where(filled >= 0)))
    )
    assert with_codes == pytest.approx(with_blanks, abs=1e-12)
