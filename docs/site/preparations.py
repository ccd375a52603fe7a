"""Files and names that pages take for granted, and what the site tells its readers to do to have them too.

The files are those of `examples/page_files.py`, which readers save and run. Names such as `data` are made by lines of Python
that the site shows.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "page_files.py"
PEOPLE = 300
INCOMES = '"in.csv", confidential=["INCOME", "TAX"], non_confidential=["REGION", "AGE"]'
# Lines that make the names which a page takes for granted.
NAMES = {
    "data": """import larvatus as lv

data = lv.read("people.csv", confidential=["income", "wealth"], non_confidential=["age"])
release = lv.mask(data, "data_shuffling")""",
    "incomes": f"""import larvatus as lv

data = lv.read({INCOMES})
release = lv.mask(data, "data_shuffling")""",
    "totals": """import larvatus as lv

data = lv.read("census.csv", confidential=["AGI", "TAXINC", "PEARNVAL", "POTHVAL", "PTOTVAL"])""",
    "copies": """q1, q2, q3, q4, q5 = 2.1, 2.2, 2.3, 2.4, 2.5      # your estimate from each copy
u1, u2, u3, u4, u5 = 0.4, 0.5, 0.6, 0.7, 0.8      # its squared standard error""",
}
# What parts of a study on a page stand beside.
FRAMES: dict[str, dict[str, Any]] = {
    "released": {"roles": {"confidential": ["income", "wealth"], "non_confidential": ["age"]},
                 "sub_groups": {"columns": ["region", "sex"], "small": "pool"}},
    "incomes": {"source": "in.csv", "roles": {"confidential": ["INCOME", "TAX"], "non_confidential": ["REGION", "AGE"]}},
    "totals": {"source": "census.csv", "roles": {"confidential": [
        "AGI", "TAXINC", "FEDTAX", "STATETAX", "PEARNVAL", "POTHVAL", "PTOTVAL", "INTVAL", "WSALVAL", "FICA"]}},
    "survey_files": {"source": "survey.sav", "roles": {"confidential": ["income"], "non_confidential": ["sex"]}},
    "stays": {"roles": {"confidential": ["admitted", "discharged", "cost"], "person": "person"},
              "release": [{"name": "shuffled", "steps": ["data_shuffling"]}]},
}


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
    """study.toml, as readers save it from the site."""
    shutil.copyfile(ROOT / "examples" / "small_study.toml", "study.toml")


def survey_files() -> None:
    """The survey as .sav, .dta, .xpt, .xlsx and .ods."""
    subprocess.run([sys.executable, str(ROOT / "examples" / "make_survey.py")], check=True)


def examples() -> None:
    """The folder examples/ of the repository."""
    shutil.copytree(ROOT / "examples", "examples", ignore=shutil.ignore_patterns("out", "*.csv", "*.parquet"))


# These are explained in the text of the pages that use them.
EXPLAINED: dict[str, Callable[[], None]] = {f.__name__: f for f in (people, scripts, study, survey_files, examples)}


def prepare(word: str) -> dict[str, Any]:
    """Make the files and names of one word; a part of the result under `frame` goes beside parts of a study."""
    if word in EXPLAINED:
        EXPLAINED[word]()
    elif word in files():
        subprocess.run([sys.executable, str(SCRIPT), word], check=True, stdout=subprocess.DEVNULL)
    elif word not in NAMES and word not in FRAMES:
        raise LookupError(f"no preparation {word!r}")
    made: dict[str, Any] = {}
    exec(NAMES.get(word, ""), made)
    made.pop("__builtins__", None)
    return {**made, **({"frame": FRAMES[word]} if word in FRAMES else {})}


def files() -> dict[str, str]:
    """The words of the script for readers, and what each writes."""
    return {name: str(made.__doc__) for name, made in runpy.run_path(str(SCRIPT))["FILES"].items()}


def instructions(words: Sequence[str], script: str) -> str:
    """What a reader has to do before a block that takes these words for granted; empty if the text of the page says it."""
    written = [w for w in words if w in files() and w not in EXPLAINED]
    lines = [NAMES[w] for w in words if w in NAMES]
    if not written and not lines:
        return ""
    out = []
    if written:
        what = "; ".join(files()[w] for w in written)
        out.append(f"*To follow this page, save [page_files.py]({script}) and run `python page_files.py {' '.join(written)}`. "
                   f"It writes {what}.*")
    if lines:
        lead = "*The Python blocks of this page begin with*" if not written else "*In Python, begin with*"
        out.append(f"{lead}\n\n```python\n" + "\n\n".join(lines) + "\n```")
    return "\n\n".join(out)
