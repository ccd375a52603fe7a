"""Files and names that pages take for granted: made-up people, a study, a release, a census-like file."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = 300


def people() -> None:
    """people.csv, as `python make_people.py --people 300 --more` writes it."""
    from pyarrow import csv

    made = runpy.run_path(str(ROOT / "examples" / "make_people.py"))
    csv.write_csv(made["with_more"](made["people"](PEOPLE)), "people.csv")


def scripts() -> None:
    """The scripts that write example files, as readers save them from the site."""
    for name in ("make_people.py", "make_survey.py"):
        shutil.copyfile(ROOT / "examples" / name, name)


def study() -> None:
    """study.toml: the roles of people.csv and one release, as in examples/small_study.toml."""
    shutil.copyfile(ROOT / "examples" / "small_study.toml", "study.toml")


def data() -> dict[str, Any]:
    """`lv`, `data` and `release`: the people, read and shuffled."""
    import larvatus as lv

    read = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["age"])
    return {"lv": lv, "data": read, "release": lv.mask(read, "data_shuffling")}


def released() -> dict[str, Any]:
    """released.parquet and released.csv with their pairing files; parts of a study go with the roles of study.toml."""
    import larvatus as lv

    made = lv.mask(lv.read("people.csv", lv.Study.read("study.toml").roles, sub_groups=["region", "sex"]), "data_shuffling")
    made.write("released.parquet", pairing="pairing.parquet")
    made.write("released.csv", pairing="pairs.csv")
    return {"frame": {"roles": {"confidential": ["income", "wealth"], "non_confidential": ["age"]},
                      "sub_groups": {"columns": ["region", "sex"], "small": "pool"}}}


def census() -> None:
    """census.csv: 300 made-up tax records with the columns of the Census file."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(2)
    agi = rng.lognormal(10.5, 0.6, PEOPLE).round()
    earned, other = (agi * 0.8).round(), (agi * rng.uniform(0, 0.4, PEOPLE)).round()
    pd.DataFrame({
        "AGI": agi, "TAXINC": (agi * rng.uniform(0.5, 1, PEOPLE)).round(),
        "FEDTAX": (agi * 0.15 + rng.normal(0, 500, PEOPLE)).round(),
        "STATETAX": (agi * 0.04 + rng.normal(0, 150, PEOPLE)).round(),
        "PEARNVAL": earned, "POTHVAL": other, "PTOTVAL": earned + other,
        "INTVAL": rng.exponential(800, PEOPLE).round(), "WSALVAL": earned, "FICA": (0.0765 * earned).round(2),
    }).to_csv("census.csv", index=False)


def noisy() -> None:
    """release.csv: the people with noise on income and wealth."""
    import larvatus as lv

    read = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["age"], sub_groups=["region", "sex"])
    lv.mask(read, "additive_noise(variance=0.25)").write("release.csv")


def copies() -> dict[str, float]:
    """Estimates q1 … q5 from five copies, and their variances u1 … u5."""
    return {f"{name}{i}": value + 0.1 * i for name, value in (("q", 2.0), ("u", 0.3)) for i in range(1, 6)}


def original() -> None:
    """original.csv: the people under another name."""
    shutil.copyfile("people.csv", "original.csv")


def incomes() -> dict[str, Any]:
    """in.csv and out.csv with INCOME, TAX, REGION and AGE; `lv`, `data` and `release` are the same."""
    import numpy as np
    import pandas as pd

    import larvatus as lv

    rng = np.random.default_rng(4)
    income = rng.lognormal(10, 0.5, PEOPLE).round()
    pd.DataFrame({"REGION": rng.choice(["north", "south"], PEOPLE), "AGE": rng.integers(18, 90, PEOPLE), "INCOME": income,
                  "TAX": (0.2 * income + rng.normal(0, 900, PEOPLE)).round()}).to_csv("in.csv", index=False)
    read = lv.read("in.csv", confidential=["INCOME", "TAX"], non_confidential=["REGION", "AGE"])
    release = lv.mask(read, "data_shuffling")
    release.write("out.csv", pairing="pairs.csv")
    frame = {"source": "in.csv", "roles": {"confidential": ["INCOME", "TAX"], "non_confidential": ["REGION", "AGE"]}}
    return {"lv": lv, "data": read, "release": release, "frame": frame}


def survey_folder() -> dict[str, Any]:
    """survey/: the people in two Parquet files."""
    import pandas as pd

    import larvatus as lv

    made = pd.read_csv("people.csv")
    Path("survey").mkdir()
    for i in range(2):
        made.iloc[i::2].to_parquet(f"survey/part{i}.parquet", index=False)
    return {"lv": lv}


def german() -> dict[str, Any]:
    """survey.csv: semicolons, decimal commas, Windows-1252."""
    import larvatus as lv

    lines = ["ort;income"] + [f"Köln;{1000 + 37 * i % 911},{i % 10}5" for i in range(PEOPLE)]
    Path("survey.csv").write_text("\n".join(lines) + "\n", encoding="windows-1252")
    return {"lv": lv}


def totals() -> dict[str, Any]:
    """survey.csv with TOT = A + B + C; `lv` and `data`: the tax records."""
    import numpy as np
    import pandas as pd

    import larvatus as lv

    parts = pd.DataFrame(np.random.default_rng(6).lognormal(4, 0.5, (PEOPLE, 3)).round(1), columns=["A", "B", "C"])
    parts.assign(TOT=parts.sum(axis=1).round(1)).to_csv("survey.csv", index=False)
    names = list(pd.read_csv("census.csv").columns)
    return {"lv": lv, "frame": {"source": "census.csv", "roles": {"confidential": names}},
            "data": lv.read("census.csv", confidential=["AGI", "TAXINC", "PEARNVAL", "POTHVAL", "PTOTVAL"])}


def survey_files() -> dict[str, Any]:
    """The survey as .sav, .dta, .xpt, .xlsx and .ods; a part of a study is about the first one."""
    subprocess.run([sys.executable, str(ROOT / "examples" / "make_survey.py")], check=True)
    return {"frame": {"source": "survey.sav", "roles": {"confidential": ["income"], "non_confidential": ["sex"]}}}


def stays() -> dict[str, Any]:
    """What a study of stays.csv has, apart from the part that is shown."""
    return {"frame": {"roles": {"confidential": ["admitted", "discharged", "cost"], "person": "person"},
                      "release": [{"name": "shuffled", "steps": ["data_shuffling"]}]}}


def examples() -> None:
    """The folder examples/ of the repository."""
    shutil.copytree(ROOT / "examples", "examples", ignore=shutil.ignore_patterns("out", "*.csv", "*.parquet"))


PREPARATIONS: dict[str, Callable[[], dict[str, Any] | None]] = {
    made.__name__: made for made in (
        people, scripts, study, data, released, noisy, copies, original, incomes, survey_folder, german, census, totals,
        survey_files, stays, examples,
    )
}
