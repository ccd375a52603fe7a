"""R's package haven reads the files of SPSS and Stata that releases are written as, and finds the same in them."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

import larvatus as lv
from labelled_sample import SPSS_META, has_haven, read_spss, read_stata, write_spss, write_stata
from sample import SECRET

pytestmark = pytest.mark.slow
SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
suppressWarnings(library(haven))
options(digits = 17)
table <- if (grepl("dta$", arguments[1])) read_dta(arguments[1]) else read_sav(arguments[1], user_na = TRUE)
out <- file(arguments[2], "w", encoding = "UTF-8")
put <- function(...) writeLines(enc2utf8(paste(..., sep = "\\t")), out)
for (name in names(table)) {
  x <- table[[name]]
  if (!is.null(attr(x, "label"))) put("label", name, attr(x, "label"))
  labels <- attr(x, "labels")
  tags <- if (is.numeric(labels)) na_tag(labels) else rep(NA, length(labels))
  for (i in seq_along(labels)) put("value", name, if (is.na(tags[i])) labels[[i]] else tags[i], names(labels)[i])
  for (code in attr(x, "na_values")) put("missing", name, code)
  if (!is.null(attr(x, "na_range"))) put("range", name, attr(x, "na_range")[1], attr(x, "na_range")[2])
  plain <- if (inherits(x, c("Date", "POSIXct"))) as.numeric(x) else unclass(x)
  marks <- if (is.double(plain)) na_tag(plain) else rep(NA, length(plain))
  for (i in seq_along(plain)) put("cell", name, if (!is.na(marks[i])) marks[i] else if (is.na(plain[i])) "" else
    if (is.numeric(plain)) format(plain[i], digits = 17) else plain[i])
}
close(out)
"""


@pytest.fixture
def haven(tmp_path):
    """What haven finds in a file: lines of kind, column and contents."""
    if not has_haven():
        pytest.skip("R with its package haven is not installed on this machine")
    (tmp_path / "read.R").write_text(SCRIPT, encoding="utf-8")

    def read(path: Path) -> list[list[str]]:
        target = tmp_path / "found.tsv"
        subprocess.run(["Rscript", str(tmp_path / "read.R"), str(path), str(target)], check=True, capture_output=True,
                       timeout=300)
        return [line.split("\t") for line in target.read_text(encoding="utf-8").splitlines()]

    return read


def number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def of_kind(found: list[list[str]], kind: str) -> dict[str, list[list[str]]]:
    out: dict[str, list[list[str]]] = {}
    for line in found:
        if line[0] == kind:
            out.setdefault(line[1], []).append(line[2:])
    return out


def test_spss(tmp_path, haven):
    data = lv.read(write_spss(tmp_path / "in.sav"), confidential=["income"], non_confidential=["age", "town", "mood"],
                   sub_groups=["sex"])
    target = tmp_path / "out.sav"
    lv.mask(data, "additive_noise", secret=SECRET).write(target, row_order="keep")
    found, (cells, about) = haven(target), read_spss(target)
    assert {n: v[0][0] for n, v in of_kind(found, "label").items()} == {
        n: label for n, label in SPSS_META["column_labels"].items() if n in cells}
    values = {n: {number(code): text for code, text in v} for n, v in of_kind(found, "value").items()}
    assert values == {n: v for n, v in SPSS_META["variable_value_labels"].items() if n in cells}
    missing = {n: [number(v[0]) for v in codes] for n, codes in of_kind(found, "missing").items()}
    assert missing == {"sex": [9.0], "mood": [98.0], "age": [-99.0], "town": ["XX"]}
    assert of_kind(found, "range") == {"income": [["-9", "-7"]]}
    for name, column in of_kind(found, "cell").items():
        back = [number(v[0]) if v and v[0] else None for v in column]
        expected = [None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in cells[name]]
        assert back == expected, name
    source = read_spss(tmp_path / "in.sav")[0]
    assert [v for v in cells["income"] if v in (-7, -8)] == [v for v in source["income"] if v in (-7, -8)]
    assert cells["mood"] == source["mood"]
    assert about.number_rows == 300


def test_stata(tmp_path, haven):
    data = lv.read(write_stata(tmp_path / "in.dta"), confidential=["income"], non_confidential=["kids", "town", "born"],
                   sub_groups=["sex"])
    target = tmp_path / "out.dta"
    lv.mask(data, "additive_noise", secret=SECRET).write(target, row_order="keep")
    found = haven(target)
    assert of_kind(found, "label")["income"] == [["Yearly income"]]
    values = {n: {number(code): text for code, text in v} for n, v in of_kind(found, "value").items()}
    assert values == {"income": {"a": "refused", "b": "don't know"}, "sex": {1.0: "Male", 2.0: "Female"},
                      "kids": {0.0: "none", "c": "not asked"}}
    released, source = read_stata(target)[0], read_stata(tmp_path / "in.dta")[0]
    cells = {n: [number(v[0]) if v and v[0] else None for v in column] for n, column in of_kind(found, "cell").items()}
    assert [v for v in cells["income"] if isinstance(v, str)] == [v for v in source["income"] if isinstance(v, str)]
    assert cells["kids"] == [v if isinstance(v, str) else float(v) for v in source["kids"]]
    assert [v or "" for v in cells["town"]] == source["town"]
    assert [v for v in cells["income"] if isinstance(v, float)] == [
        v for v in released["income"] if isinstance(v, float) and not math.isnan(v)]
