"""Files .sas7bdat for real: one that SAS wrote, which R's haven has as an example, and one with labels that haven writes."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import larvatus as lv
from labelled_sample import has_haven
from larvatus.cli.main import main
from sample import SECRET

pytestmark = pytest.mark.slow
ENGINES = ["memory", "duckdb"]
SCRIPT = """
suppressWarnings(library(haven))
target <- commandArgs(trailingOnly = TRUE)[1]
n <- 400
income <- exp(9 + sin(1:n)); income[seq(1, n, 17)] <- tagged_na("A"); income[seq(5, n, 23)] <- NA
table <- data.frame(income = labelled(income, label = "Yearly income"), sex = labelled(rep(1:2, n / 2) + 0, label = "Sex"),
  town = rep(c("K\\u00f6ln", "Gen\\u00e8ve", "", "\\u00c5rhus"), n / 4), born = as.Date("1950-03-01") + (0:(n - 1)) * 31)
attr(table$born, "format.sas") <- "DATE9"
suppressWarnings(write_sas(table, target))
cat(system.file("examples", "iris.sas7bdat", package = "haven"))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path]:
    if not has_haven():
        pytest.skip("R with its package haven is not installed on this machine")
    folder = tmp_path_factory.mktemp("sas")
    (folder / "write.R").write_text(SCRIPT, encoding="utf-8")
    said = subprocess.run(["Rscript", str(folder / "write.R"), str(folder / "in.sas7bdat")], check=True, capture_output=True,
                          text=True, timeout=300)
    return folder / "in.sas7bdat", Path(said.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_with_labels_is_released_as_a_transport_file(tmp_path, files, engine):
    data = lv.read(files[0], confidential=["income"], non_confidential=["sex", "town", "born"], engine=engine)
    assert data.labels["income"].label == "Yearly income"
    assert data.table.columns["born"].dates is not None
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.xpt", row_order="keep")
    before, _ = pyreadstat.read_sas7bdat(str(files[0]), user_missing=True)
    after, about = pyreadstat.read_xport(str(tmp_path / "out.xpt"))
    for name in ("sex", "town", "born"):
        assert list(after[name]) == list(before[name])
    assert about.column_names_to_labels["income"] == "Yearly income"
    again = lv.read(tmp_path / "out.xpt", confidential=["income"], engine=engine)
    assert again.labels["income"].missing == (".A",)
    lost = [isinstance(v, str) or math.isnan(v) for v in before["income"]]
    assert list(np.isnan(after["income"])) == lost
    assert not set(after["income"].dropna()) & set(before["income"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_sas_wrote(tmp_path, files, engine):
    data = lv.read(files[1], confidential=["Sepal_Length"], non_confidential=["Petal_Width", "Species"], engine=engine)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.xpt", row_order="keep")
    before, after = pyreadstat.read_sas7bdat(str(files[1]))[0], pyreadstat.read_xport(str(tmp_path / "out.xpt"))[0]
    pd.testing.assert_frame_equal(after[["Petal_Width", "Species"]], before[["Petal_Width", "Species"]])


def test_advise_looks_at_it_and_a_cut_file_is_refused(tmp_path, monkeypatch, files, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["advise", str(files[0]), "-o", "draft.toml"]) == 0
    out = capsys.readouterr().out
    assert "Yearly income" in out
    assert "confidential" in out
    Path("cut.sas7bdat").write_bytes(files[0].read_bytes()[:15_000])
    assert main(["advise", "cut.sas7bdat"]) == 2
    assert "cut.sas7bdat is" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cut.sas7bdat", "draft.toml"]
