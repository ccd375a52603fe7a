"""No original value that is rare stands anywhere in a public report, in whatever way it is written."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from catalogue import MASKS as EVERY

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
RARE = 10
DIGITS = 5  # a number of fewer significant digits may stand in any text by chance
FIGURE = re.compile(r"[-−]?\d(?:[\d,'’_]|[\u00a0\u2009\u202f ](?=\d{3}\b))*(?:\.\d+)?(?:[eE][-+]?\d+)?")
SEPARATORS = str.maketrans("", "", ",'’_\u00a0\u2009\u202f ")
MASKS = {
    "noise": [lv.masks.AdditiveNoise(variance=0.25)], "shuffled": [lv.masks.DataShuffling()],
    "top-coded": [lv.masks.TopCoding(tail=0.05)], "grouped": [lv.masks.Microaggregation()],
    "sufficient": [lv.masks.SufficiencyBased(similarity=0.5)], "imputed": [lv.masks.MultipleImputation(copies=2)],
    "noise, then mapped": [lv.masks.AdditiveNoise(variance=0.25), lv.masks.ReverseMap()],
}


def households() -> pa.Table:
    return lv.datasets.households(900, 3)


def distinctive() -> pa.Table:
    """Incomes of seven digits, and towns of which some have few people."""
    rng = np.random.default_rng(8)
    n = 900
    towns = np.array([f"town{'abcdefghijklmnopqrstuvwxyz'[i]}ville" for i in range(26)])
    income = 1_000_003 + 7919 * rng.permutation(n)
    return pa.table({
        "gender": rng.integers(0, 2, n), "marital": rng.integers(0, 2, n), "income": income.astype(float),
        "wealth": np.round(income * rng.lognormal(0, 0.3, n), 2),
        "town": towns[np.minimum(rng.geometric(0.15, n) - 1, 25)],
    })


TABLES = {
    "households": (households, {"confidential": ["home_value", "mortgage_balance", "net_assets"]}),
    "distinctive": (distinctive, {"confidential": ["income", "wealth"], "non_confidential": ["town"]}),
}


def rare(values: list) -> list:
    return [v for v, n in Counter(values).items() if n < RARE]


def figures(text: str) -> list[str]:
    return [m.group().translate(SEPARATORS).replace("−", "-") for m in FIGURE.finditer(text)]


def significant(figure: str) -> int:
    return len(re.sub(r"[eE].*|[-.]", "", figure).strip("0"))


def leaks(html: str, table: pa.Table) -> list[str]:
    """Rare originals that the page holds: names as they are, numbers at any rounding that still tells them."""
    page = unescape(re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL))
    text = " ".join(re.findall(r">([^<]+)<", page)) + " ".join(re.findall(r'(?:data-\w+|aria-label|title)="([^"]*)"', page))
    told = {f for f in figures(text) if significant(f) >= DIGITS}
    found = []
    for name in table.column_names:
        values = rare([v.isoformat() if isinstance(v, datetime.date) else v for v in table[name].to_pylist()])
        if isinstance(values[0] if values else 0, str):
            found += [v for v in values if v.lower() in page.lower()]
            continue
        for figure in told:
            digits, value = significant(figure), float(figure)
            found += [f"{name}: {figure}" for v in values for w in (v, v / 1e3, v / 1e6)
                      if w and float(f"{w:.{max(digits, DIGITS)}g}") == value]
    return found


@pytest.mark.parametrize("which", TABLES)
def test_the_scan_finds_what_it_looks_for(which):
    table = TABLES[which][0]()
    column = TABLES[which][1]["confidential"][0]
    value = table[column][5].as_py()
    spaced = f"{value:,.6f}".replace(",", " ")
    for written in (f"{value:.6g}", f"{value:,.7f}", f"{value:.8e}", f"{value!r}", f"{value:_}", spaced):
        assert leaks(f"<p>the largest is {written}.</p>", table), written
    assert not leaks("<p>0.25, 900 records, 12,345 others, 3.1 %</p>", table)
    if which == "distinctive":
        few = rare(table["town"].to_pylist())
        assert few
        assert leaks(f"<p>{few[0].upper()}</p>", table)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("which", TABLES)
def test_no_rare_original_is_public(which, mask):
    make, roles = TABLES[which]
    table = make()
    data = lv.read(table, **roles, sub_groups=lv.SubGroups(columns=("gender", "marital"), small="pool"))
    release = lv.mask(data, *MASKS[mask], secret=b"s" * 16, name=mask)
    measures = ["moments", "correlation", "distributions", "scatter"]
    made = lv.compare(data, [release], attacks=["nearest_record"], measures=measures).for_purpose("a purpose")
    html = made.html("public")
    assert not leaks(html, table)
    assert "minimum" not in html.lower()
    assert "maximum" not in html.lower()
    assert "ssssssss" not in html


FEW = re.compile(  # a limit that a mask states is no count
    r"(?<![\d.,=])(?<!fewer than )(?<!rarer than )[1-9](?:\u00a0| )(?:of \d[\d,]* )?"
    r"(?:records?|values?|people|persons?)\b[^<]{0,40}"
)


def few_in_a_cell(html: str) -> list[str]:
    """Counts of records or values that are under ten, in a sentence or in a table's column of counts."""
    page = unescape(re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL))
    return FEW.findall(page)


def test_the_scan_for_few_finds_few():
    assert few_in_a_cell("<p>9 records of one town, 3 of 1,200 values</p>") == ["9 records of one town, 3 of 1,200 values"]
    assert not few_in_a_cell("<p>fewer than 10 records, rarer than 3 records, 2,009 records, 0.9 records</p>")


ONE_OF_EACH = {mask.name(): mask for found in reversed(EVERY) for mask in found.values}  # its first example


def towns(mask: object) -> tuple[pa.Table, dict]:
    """Distinctive numbers, and a confidential category with rare levels, for whichever the mask can take."""
    table = distinctive()
    table = table.append_column("when", pa.array([datetime.date(1900, 1, 1) + datetime.timedelta(i * 17 % 9973)
                                                  for i in range(table.num_rows)]))
    kinds = {"number": ["income", "wealth"], "nominal": ["town"], "date": ["when"]}
    names = [n for kind, of in kinds.items() if kind in mask.handles for n in of]
    return table, {"confidential": names}


@pytest.mark.parametrize("mask", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_no_mask_makes_a_rare_original_public(mask):
    table, roles = towns(mask)
    data = lv.read(table, **roles, sub_groups=["gender"])
    steps = [lv.masks.Microaggregation(), mask] if mask.follows else [mask]
    release = lv.mask(data, *steps, secret=b"s" * 16, name="it")
    measures = ["table"] if mask.handles == {"nominal"} else ["moments", "distributions"]
    attacks = [a for a in mask.nemesis if a != "swap_chain"][:2]
    html = lv.compare(data, [release], attacks=attacks, measures=measures).html("public")
    assert not leaks(html, table)
    assert not few_in_a_cell(html)
    assert "minimum" not in html.lower()
    assert "maximum" not in html.lower()


@pytest.mark.parametrize("name", ["public-noise.html", "public-copies.html"])
def test_the_gallery_tells_no_rare_original(name):
    html = (GALLERY / name).read_text(encoding="utf-8")
    assert not leaks(html, lv.datasets.households(2000, 7))
    assert not few_in_a_cell(html)
