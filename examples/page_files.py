"""Write the files that a page of the documentation uses. Each page names the words to give:

    python page_files.py study released          in the folder in which you follow the page
    python page_files.py                         lists the words

Made-up records only. `people.csv` is written first if a word needs it and it is not there.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import larvatus as lv

RECORDS = 300
STUDY = """\
source = "people.csv"

[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]

[sub_groups]
columns = ["region", "sex"]
small = "pool"

[[release]]
name = "shuffled"
steps = ["data_shuffling"]

[[attack]]
method = "nearest_record"

[[measure]]
method = "correlation"
"""


def people() -> None:
    """people.csv: income, wealth, age, region, sex and more of 300 people"""
    rng = np.random.default_rng(0)
    region, sex = rng.choice(4, RECORDS, p=[0.4, 0.3, 0.2, 0.1]), rng.integers(1, 3, RECORDS)
    age, z = rng.integers(18, 91, RECORDS), rng.normal(size=(2, RECORDS))
    household = np.arange(RECORDS) // 3
    pd.DataFrame({
        "name": [f"person {i}" for i in range(1, RECORDS + 1)], "region": np.array(["north", "east", "south", "west"])[region],
        "sex": sex, "age": age, "income": np.exp(9.6 + 0.1 * region + 0.008 * age + 0.5 * z[0]).round(-1),
        "wealth": np.where(rng.random(RECORDS) < 0.2, 0, np.exp(9.5 + 0.03 * age + 0.6 * z[0] + 0.9 * z[1]).round(-2)),
        "job": rng.choice(["clerk", "cook", "nurse"], RECORDS), "place": rng.choice(["town", "village"], RECORDS),
        "person": np.arange(RECORDS), "household": household, "weight": rng.choice([100.0, 150.0, 200.0], 100)[household],
    }).to_csv("people.csv", index=False)


def study() -> None:
    """study.toml: the roles of people.csv, one release, one attack and one measure"""
    Path("study.toml").write_text(STUDY, encoding="utf-8")


def released() -> None:
    """released.parquet and released.csv: the people, shuffled, with pairing.parquet and pairs.csv"""
    data = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["age"], sub_groups=["region", "sex"])
    release = lv.mask(data, "data_shuffling")
    release.write("released.parquet", pairing="pairing.parquet", overwrite=True)
    release.write("released.csv", pairing="pairs.csv", overwrite=True)


def noisy() -> None:
    """release.csv: the people with noise on income and wealth"""
    data = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["age"], sub_groups=["region", "sex"])
    lv.mask(data, "additive_noise(variance=0.25)").write("release.csv", overwrite=True)


def original() -> None:
    """original.csv: the people under another name"""
    shutil.copyfile("people.csv", "original.csv")


def census() -> None:
    """census.csv: tax records with the columns of the Census file"""
    rng = np.random.default_rng(2)
    agi = rng.lognormal(10.5, 0.6, RECORDS).round()
    earned, other = (agi * 0.8).round(), (agi * rng.uniform(0, 0.4, RECORDS)).round()
    pd.DataFrame({
        "AGI": agi, "TAXINC": (agi * rng.uniform(0.5, 1, RECORDS)).round(),
        "FEDTAX": (agi * 0.15 + rng.normal(0, 500, RECORDS)).round(),
        "STATETAX": (agi * 0.04 + rng.normal(0, 150, RECORDS)).round(),
        "PEARNVAL": earned, "POTHVAL": other, "PTOTVAL": earned + other,
        "INTVAL": rng.exponential(800, RECORDS).round(), "WSALVAL": earned, "FICA": (0.0765 * earned).round(2),
    }).to_csv("census.csv", index=False)


def totals() -> None:
    """survey.csv: three columns and their total"""
    parts = pd.DataFrame(np.random.default_rng(6).lognormal(4, 0.5, (RECORDS, 3)).round(1), columns=["A", "B", "C"])
    parts.assign(TOT=parts.sum(axis=1).round(1)).to_csv("survey.csv", index=False)


def incomes() -> None:
    """in.csv and out.csv: income, tax, region and age, and the same shuffled, with pairs.csv"""
    rng = np.random.default_rng(4)
    income = rng.lognormal(10, 0.5, RECORDS).round()
    pd.DataFrame({"REGION": rng.choice(["north", "south"], RECORDS), "AGE": rng.integers(18, 90, RECORDS), "INCOME": income,
                  "TAX": (0.2 * income + rng.normal(0, 900, RECORDS)).round()}).to_csv("in.csv", index=False)
    data = lv.read("in.csv", confidential=["INCOME", "TAX"], non_confidential=["REGION", "AGE"])
    lv.mask(data, "data_shuffling").write("out.csv", pairing="pairs.csv", overwrite=True)


def survey_folder() -> None:
    """survey/: the people in two Parquet files"""
    found = pd.read_csv("people.csv")
    Path("survey").mkdir(exist_ok=True)
    for i in range(2):
        found.iloc[i::2].to_parquet(f"survey/part{i}.parquet", index=False)


def german() -> None:
    """survey.csv: semicolons, decimal commas, Windows-1252"""
    lines = ["ort;income"] + [f"Köln;{1000 + 37 * i % 911},{i % 10}5" for i in range(RECORDS)]
    Path("survey.csv").write_text("\n".join(lines) + "\n", encoding="windows-1252")


FILES: dict[str, Callable[[], None]] = {
    made.__name__: made
    for made in (people, study, released, noisy, original, census, totals, incomes, survey_folder, german)
}
OF_PEOPLE = ("released", "noisy", "original", "survey_folder")


def main(words: list[str]) -> int:
    wrong = [w for w in words if w not in FILES]
    if wrong or not words:
        print("\n".join([*(f"There is no word {w}." for w in wrong), *(f"{n:14} {f.__doc__}" for n, f in FILES.items())]))
        return 2 if wrong else 0
    if not Path("people.csv").exists() and "people" not in words and set(words) & set(OF_PEOPLE):
        words = ["people", *words]
    for word in words:
        FILES[word]()
        print(FILES[word].__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
