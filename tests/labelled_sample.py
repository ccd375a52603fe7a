"""Made-up labelled files with every feature: labels, user-missing values, measures, formats, widths, dates."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat

SPSS_META = {
    "file_label": "Survey of households", "note": "made up",
    "column_labels": {"income": "Yearly income", "sex": "Sex of respondent", "mood": "Satisfaction", "town": "Où ça ?"},
    "variable_value_labels": {
        "income": {-7.0: "refused", -8.0: "don't know"}, "sex": {1.0: "Male", 2.0: "Female", 9.0: "no answer"},
        "mood": {1.0: "bad", 5.0: "good", 98.0: "don't know"}, "town": {"Ulm": "Ulm (DE)"},
    },
    "missing_ranges": {"income": [{"lo": -9, "hi": -7}], "sex": [9], "mood": [98], "age": [-99], "town": ["XX"]},
    "variable_measure": {"sex": "nominal", "mood": "ordinal", "income": "scale", "age": "scale", "town": "nominal"},
    "variable_format": {"income": "F12.2", "born": "DATE11", "seen": "DATETIME20", "sex": "F1.0"},
    "variable_display_width": {"income": 14, "town": 20},
}
CONFIDENTIAL, KNOWN = ["income", "mood"], ["age", "town", "born", "seen"]


def survey(n: int = 300, seed: int = 1) -> pd.DataFrame:
    """The cells of the SPSS file: numbers as SPSS stores them, with codes of missing values and system-missing cells."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "income": rng.lognormal(10, 1, n), "sex": rng.integers(1, 3, n).astype(float),
        "mood": rng.integers(1, 6, n).astype(float), "age": rng.integers(18, 90, n).astype(float),
        "town": rng.choice(["Ulm", "Köln", "Bern"], n), "born": (150_000 + rng.integers(0, 9000, n)) * 86_400.0,
        "seen": 13.5e9 + rng.integers(0, 10**8, n).astype(float),
    })
    frame.loc[::11, "income"] = -7
    frame.loc[::13, "income"] = -8
    frame.loc[::17, "income"] = np.nan
    frame.loc[::19, "sex"] = 9
    frame.loc[::23, "mood"] = 98
    frame.loc[::29, "age"] = -99
    frame.loc[::31, "town"] = "XX"
    frame.loc[::37, "born"] = np.nan
    return frame


def answered_survey(n: int = 1500, seed: int = 5) -> pd.DataFrame:
    """The same columns, with few codes of missing values, as in a survey of good quality; income rises with age."""
    rng = np.random.default_rng(seed)
    frame = survey(n, seed)
    age = rng.integers(18, 90, n).astype(float)
    frame = frame.assign(age=age, income=rng.lognormal(10, 1, n) * (1 + age / 60), sex=rng.integers(1, 3, n).astype(float),
                         mood=rng.integers(1, 6, n).astype(float), town=rng.choice(["Ulm", "Köln", "Bern"], n))
    for column, code in (("income", -7.0), ("income", -8.0), ("sex", 9.0), ("mood", 98.0)):
        frame.loc[rng.random(n) < 0.004, column] = code
    return frame


def write_spss(path: Path, frame: pd.DataFrame | None = None, **changed: Any) -> Path:
    """An SPSS file of the survey."""
    pyreadstat.write_sav(survey() if frame is None else frame, str(path), **{**SPSS_META, **changed})
    return path


def read_spss(path: Path) -> tuple[dict[str, list[Any]], Any]:
    """The cells and the metadata of an SPSS file, with codes of missing values and without conversion of dates."""
    return pyreadstat.read_sav(str(path), output_format="dict", user_missing=True, disable_datetime_conversion=True)


def write_stata(path: Path, n: int = 300, seed: int = 2) -> Path:
    """A Stata file with extended missing values .a to .c, in a column of numbers and in one of whole numbers."""
    rng = np.random.default_rng(seed)
    income = [float(v) for v in rng.lognormal(10, 1, n)]
    kids = [int(v) for v in rng.integers(0, 5, n)]
    for step, letter in ((11, "a"), (13, "b"), (17, None)):
        income[::step] = [letter] * len(income[::step])
    kids[::7] = ["c"] * len(kids[::7])
    frame = pd.DataFrame({
        "income": pd.Series(income, dtype=object), "kids": pd.Series(kids, dtype=object),
        "sex": rng.integers(1, 3, n).astype(np.int32), "born": rng.integers(-200_000, 15_000, n).astype(float),
        "seen": rng.integers(0, 10**9, n) * 1000.0, "month": rng.integers(100, 700, n).astype(float),
        "town": rng.choice(["Ulm", "Köln", ""], n),
    })
    pyreadstat.write_dta(
        frame, str(path), file_label="Survey", column_labels={"income": "Yearly income"},
        variable_value_labels={"income": {"a": "refused", "b": "don't know"}, "sex": {1: "Male", 2: "Female"},
                               "kids": {0: "none", "c": "not asked"}},
        missing_user_values={"income": ["a", "b"], "kids": ["c"]},
        variable_format={"income": "%12.2f", "born": "%td", "seen": "%tc", "month": "%tm"},
    )
    return path


def read_stata(path: Path) -> tuple[dict[str, list[Any]], Any]:
    """The cells and the metadata of a Stata file, with extended missing values and without conversion of dates."""
    return pyreadstat.read_dta(str(path), output_format="dict", user_missing=True, disable_datetime_conversion=True)


@functools.cache
def has_haven() -> bool:
    """Whether R and its package haven are installed."""
    program = shutil.which("Rscript")
    if program is None:
        return False
    asked = ["-e", 'quit(status = if (requireNamespace("haven", quietly = TRUE)) 0 else 1)']
    return subprocess.run([program, *asked], capture_output=True, timeout=120).returncode == 0
