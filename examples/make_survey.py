"""Write survey.sav, survey.dta, survey.xpt and survey.xlsx: 600 made-up households with labels and missing codes.

Run it in the folder where the files should lie. It needs the packages of `pip install 'larvatus[files]'`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyreadstat

LABELS = {"region": "Region", "sex": "Sex of respondent", "mood": "Satisfaction with life", "age": "Age in years",
          "income": "Yearly income", "born": "Date of birth"}
VALUES: dict[str, dict[Any, str]] = {
    "region": {1.0: "North", 2.0: "South", 3.0: "West"}, "sex": {1.0: "Male", 2.0: "Female"},
    "mood": {1.0: "very low", 2.0: "low", 3.0: "neither", 4.0: "high", 5.0: "very high"},
}
REFUSED, UNKNOWN = -7.0, -8.0


def survey(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """The cells. Dates are days since 1960-01-01, as in Stata and SAS."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    frame = pd.DataFrame({
        "region": rng.choice([1.0, 2.0, 3.0], n, p=[0.5, 0.3, 0.2]), "sex": rng.integers(1, 3, n).astype(float),
        "mood": rng.integers(1, 6, n).astype(float), "age": age.astype(float),
        "income": np.exp(9.6 + 0.008 * age + 0.6 * rng.normal(size=n)).round(2),
        "born": 23_000.0 - 365 * age + rng.integers(0, 365, n),
    })
    frame.loc[rng.random(n) < 0.05, "income"] = REFUSED
    frame.loc[rng.random(n) < 0.03, "income"] = UNKNOWN
    return frame


def write_files() -> None:
    """Write the survey in four formats, each with what the format can hold."""
    frame = survey()
    codes = {REFUSED: "refused", UNKNOWN: "don't know"}
    spss = frame.assign(born=(frame["born"] + 137_775) * 86_400)
    pyreadstat.write_sav(
        spss, "survey.sav", file_label="Households", column_labels=LABELS, variable_value_labels={**VALUES, "income": codes},
        missing_ranges={"income": [REFUSED, UNKNOWN]}, variable_format={"born": "DATE11", "income": "F12.2"},
        variable_measure={"region": "nominal", "sex": "nominal", "mood": "ordinal", "age": "scale", "income": "scale"},
    )
    letters = frame["income"].astype(object).replace({REFUSED: "a", UNKNOWN: "b"})
    pyreadstat.write_dta(
        frame.assign(income=letters), "survey.dta", file_label="Households", column_labels=LABELS,
        variable_value_labels={**VALUES, "income": {"a": "refused", "b": "don't know"}},
        missing_user_values={"income": ["a", "b"]}, variable_format={"born": "%td"},
    )
    pyreadstat.write_xport(frame, "survey.xpt", column_labels=LABELS, variable_format={"born": "DATE9."})
    sheet = frame.assign(born=pd.to_datetime(frame["born"], unit="D", origin="1960-01-01").dt.date)
    with pd.ExcelWriter("survey.xlsx", engine="xlsxwriter") as book:
        sheet.to_excel(book, sheet_name="households", index=False)
        pd.DataFrame({"note": ["made up"]}).to_excel(book, sheet_name="notes", index=False)


if __name__ == "__main__":
    write_files()
    print("survey.sav, survey.dta, survey.xpt, survey.xlsx: 600 households")
