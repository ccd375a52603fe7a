"""Columns of dates: read from every kind of source, masked, and released as dates of the same type or form."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import larvatus as lv
from larvatus.core.errors import LarvatusWarning, MaskError, ReadError, RolesError
from sample import SECRET

ENGINES = ["memory", "duckdb"]
N = 60
BIRTHS = [datetime.date(1940, 1, 31) + datetime.timedelta(int(d)) for d in np.random.default_rng(2).integers(0, 20_000, N)]
X = np.random.default_rng(4).lognormal(8, 1, N)


def csv_file(folder: Path, delimiter: str = ",", **columns: list) -> Path:
    path = folder / "in.csv"
    size = len(next(iter(columns.values())))
    pd.DataFrame({**columns, "x": X[:size].round(2)}).to_csv(path, index=False, sep=delimiter)
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
])
@pytest.mark.filterwarnings("ignore::larvatus.core.errors.LarvatusWarning")
def test_a_csv_file_comes_back_in_its_form(tmp_path, engine, form):
    cells = [b.strftime(form) for b in BIRTHS]
    cells[7] = ""
    path = csv_file(tmp_path, born=cells)
    unmasked = lv.read(path, confidential="x", non_confidential="born", engine=engine)
    assert unmasked.table.columns["born"].dates is not None
    lv.mask(unmasked, "additive_noise", secret=SECRET).write(tmp_path / "same.csv", row_order="keep")
    assert pd.read_csv(tmp_path / "same.csv", dtype=str, keep_default_na=False)["born"].tolist() == cells
    masked = lv.mask(lv.read(path, confidential=["born", "x"], engine=engine), "random_swap(rate=1)", secret=SECRET)
    masked.write(tmp_path / "swapped.csv", row_order="keep")
    found = pd.read_csv(tmp_path / "swapped.csv", dtype=str, keep_default_na=False)["born"].tolist()
    assert sorted(found) == sorted(cells)
    assert found != cells
    assert found[7] == ""


def test_a_release_is_read_back_in_the_form_of_its_source(tmp_path):
    """In the release no day is above 12, so the file itself decides nothing."""
    path = csv_file(tmp_path, day=[f"{1 + i % 31:02}/01/2020" for i in range(N)])
    with pytest.warns(LarvatusWarning, match=r"dates dd/mm/yyyy \(day\)"):
        data = lv.read(path, confidential=["day", "x"])
    release = lv.mask(data, 'recoding(unit="month", columns=["day"])', 'additive_noise(columns=["x"])', secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairing.parquet")
    assert set(pd.read_csv(tmp_path / "out.csv")["day"]) == {"01/01/2020"}
    assert len(lv.risk(data, tmp_path / "out.csv", ["nearest_record"], pairing=tmp_path / "pairing.parquet")) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_the_form_is_reported_and_can_be_stated(tmp_path, engine):
    path = csv_file(tmp_path, ";", day=["03/04/2020", "05/04/2020"] * 15, num=[20200301 + i for i in range(30)])
    with pytest.raises(ReadError, match=r"day and month cannot be told apart .* 'day'.*dates = \{ day = \"dd/mm/yyyy\" \}"):
        lv.read(path, confidential=["day", "x"], engine=engine)
    stated = {"day": "mm/dd/yyyy", "num": "yyyymmdd"}
    data = lv.read(path, confidential=["day", "x", "num"], engine=engine, dates=stated)
    table = data.to_arrow()
    assert table["day"].to_pylist()[:2] == [datetime.date(2020, 3, 4), datetime.date(2020, 5, 4)]
    assert table["num"].to_pylist()[0] == datetime.date(2020, 3, 1)
    lv.mask(data, "random_swap(rate=1)", secret=SECRET).write(tmp_path / "out.csv")
    again = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str)
    assert set(again["day"]) == {"03/04/2020", "05/04/2020"}
    assert sorted(again["num"]) == [str(20200301 + i) for i in range(30)]
    assert lv.read(path, confidential="x", nominal="day", non_confidential="day").table.columns["day"].kind == "nominal"


@pytest.mark.parametrize(("stated", "said"), [
    ({"born": "dd.mm.yyyy"}, "not all cells of column 'born' are dates of the form dd.mm.yyyy"),
    ({"born": "dd.mm.yy"}, "two digits for the year"), ({"birth": "yyyy-mm-dd"}, "no column 'birth'; there are: born, x"),
])
def test_forms_that_do_not_fit_are_refused(tmp_path, stated, said):
    path = csv_file(tmp_path, born=[str(b) for b in BIRTHS])
    with pytest.raises(ReadError, match=said):
        lv.read(path, confidential=["x", "born"], dates=stated)


def test_a_file_without_csv_cells_has_no_forms():
    with pytest.raises(ReadError, match="a data frame has no CSV format"):
        lv.read(pd.DataFrame({"x": X}), confidential="x", dates={"x": "yyyy-mm-dd"})


HOSTILE = {
    "mixed forms": (["2024-03-01", "01.03.2024"], False), "two-digit years": (["01.03.24", "31.12.99"], False),
    "no 29 February": (["2023-02-29", "2023-02-28"], False), "29 February": (["2024-02-29", "2000-02-29"], True),
    "the first and the last year": (["0001-01-01", "9999-12-31"], True), "before 1582": (["1066-10-14", "1215-06-15"], True),
    "zeros": (["0000-00-00", "2024-03-01"], False), "a stray text": (["2024-03-01", "unknown"], False),
    "missing in words": (["2024-03-01", "NA"], True), "constant": (["2024-03-01", "2024-03-01"], True),
    "times on some": (["2024-03-01", "2024-03-01 10:00"], False),
    "two zones": (["2024-03-01T10:00Z", "2024-03-01T10:00+01:00"], False),
    "one zone": (["2024-03-01T10:00:00Z", "2024-07-01T10:00:00Z"], True),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_columns(tmp_path, case, engine):
    cells, dated = HOSTILE[case]
    path = csv_file(tmp_path, day=cells * 15)
    data = lv.read(path, confidential="x", non_confidential="day", engine=engine)
    assert (data.table.columns["day"].dates is not None) == dated
    lv.mask(data, "additive_noise(columns=['x'])", secret=SECRET).write(tmp_path / "out.csv", row_order="keep")
    expected = ["" if dated and c == "NA" else c for c in cells * 15]
    assert pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)["day"].tolist() == expected


def test_a_contradiction_after_the_first_records_makes_the_column_text(tmp_path):
    cells = ["2024-03-01"] * 4000 + ["01.03.2024"]
    path = tmp_path / "in.csv"
    pd.DataFrame({"day": cells, "x": np.arange(4001.0)}).to_csv(path, index=False)
    assert lv.read(path, confidential="x", non_confidential="day").table.columns["day"].kind == "nominal"


TYPES = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns"),
         pa.timestamp("us", "America/New_York")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_parquet_types_come_back(tmp_path, kind, engine):
    dates = pa.array(BIRTHS, pa.date32()).cast(pa.timestamp("s")) if pa.types.is_timestamp(kind) else pa.array(BIRTHS)
    column = pa.array([None, *dates.cast(kind).to_pylist()[1:]], kind)
    pq.write_table(pa.table({"day": column, "keep": column, "x": X}), tmp_path / "in.parquet")
    stored = pq.read_schema(tmp_path / "in.parquet").field("day").type  # Parquet has no seconds
    data = lv.read(tmp_path / "in.parquet", confidential=["day", "x"], non_confidential="keep", engine=engine)
    lv.mask(data, "rank_swap(window=0.3)", secret=SECRET).write(tmp_path / "out.parquet", row_order="keep")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.field("day").type == found.schema.field("keep").type == stored
    assert found["keep"].to_pylist() == column.to_pylist()
    assert sorted(found["day"].to_pylist()[1:]) == sorted(column.to_pylist()[1:])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("library", ["pandas", "polars", "objects"])
def test_frames_keep_their_types(library, engine):
    frame = pd.DataFrame({"day": pd.to_datetime(BIRTHS), "x": X})
    frame["aware"] = frame["day"].dt.tz_localize("Europe/Paris")
    if library == "objects":
        frame = pd.DataFrame({"day": BIRTHS, "aware": BIRTHS, "x": X})
    source = pl.from_pandas(frame) if library == "polars" else frame
    data = lv.read(source, confidential=["day", "aware", "x"], engine=engine)
    found = lv.mask(data, "random_swap(rate=1)", secret=SECRET).frame()
    assert [found[n].dtype for n in ("day", "aware")] == [source[n].dtype for n in ("day", "aware")]
    assert sorted(found["day"]) == sorted(source["day"])


@pytest.mark.parametrize("step", [
    "rank_swap", "data_shuffling", "random_swap", "microaggregation", "additive_noise", 'recoding(unit="quarter")',
    'recoding(unit="month", replacement="label")', "date_shift", "top_coding(tail=0.1)", "copula_perturbation", "sampling",
    'top_coding(bound="1985-01-01", side="top")', 'recoding(cuts=["1950-01-01", "1970-01-01"], replacement="label")',
])
def test_engines_release_the_same(step):
    frame = pd.DataFrame({"day": pd.to_datetime(BIRTHS), "when": pd.Timestamp("1960-05-01") + pd.to_timedelta(
        np.random.default_rng(9).integers(0, 10**9, N), unit="s")})
    frame.loc[3:9, "day"] = pd.NaT
    found = [lv.mask(lv.read(frame, confidential=["day", "when"], engine=e), step, secret=SECRET).frame() for e in ENGINES]
    pd.testing.assert_frame_equal(*found)
    if "label" not in step:
        there = found[0]["day"].dropna()
        assert (there == there.dt.normalize()).all()
        assert (found[0]["when"] == found[0]["when"].dt.floor("s")).all()


def test_noise_on_dates_is_noted_and_exact_masks_are_refused():
    data = lv.read(pd.DataFrame({"day": pd.to_datetime(BIRTHS), "x": X}), confidential=["day", "x"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert any("masked dates of day are rounded to whole days" in str(n) for n in release.notes)
    for step in ("sufficiency_based", "random_orthogonal", "bias_and_noise"):
        with pytest.raises(MaskError, match=f"{step}: cannot mask dates, and 'day' contains dates.*date_shift"):
            lv.mask(data, step)


def test_a_mask_that_leaves_the_calendar_is_refused():
    frame = pd.DataFrame({"day": np.array(["9999-12-31", "2020-01-01", "2020-01-05", "2021-03-04"] * 5, "M8[s]")})
    data = lv.read(frame, confidential="day")
    with pytest.raises(MaskError, match=r"would lie outside the years 1 to 9999.*missing"):
        lv.mask(data, "date_shift(days=400)", secret=SECRET)


@pytest.mark.parametrize("engine", ENGINES)
def test_dates_that_stand_for_missing_keep_their_place(engine):
    days = np.array(["9999-12-31", "2020-01-01", "2020-01-05", "2021-03-04"] * 5, "M8[s]")
    data = lv.read(pd.DataFrame({"day": days}), confidential="day", missing={"day": ["9999-12-31"]}, engine=engine)
    found = lv.mask(data, "date_shift(days=400)", secret=SECRET).frame()["day"]
    assert (found.iloc[::4] == pd.Timestamp("9999-12-31")).all()
    assert (found.drop(index=found.index[::4]) < pd.Timestamp("2030-01-01")).all()
    with pytest.raises(RolesError, match="a missing code of it is not a date"):
        lv.read(pd.DataFrame({"day": days}), confidential="day", missing={"day": [99]}, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cells", [[None] * 20, [datetime.date(2020, 1, 1)] * 20], ids=["all missing", "constant"])
def test_columns_without_variation(cells, engine):
    table = pa.table({"day": pa.array(cells, pa.date32()), "x": X[:20]})
    data = lv.read(table, confidential=["day", "x"], engine=engine)
    release = lv.mask(data, "random_swap(rate=1)", secret=SECRET)
    assert release.frame()["day"].to_pylist() == cells


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt", ".xlsx", ".ods"])
def test_labelled_files_release_dates(tmp_path, suffix):
    table = pa.table({"day": pa.array(BIRTHS), "x": X})
    unmasked = lv.read(table, confidential="x", non_confidential="day")
    lv.mask(unmasked, "additive_noise", secret=SECRET).write(tmp_path / f"a{suffix}")
    data = lv.read(tmp_path / f"a{suffix}", confidential=["day", "x"])
    assert data.table.columns["day"].dates is not None
    lv.mask(data, "random_swap(rate=1)", secret=SECRET).write(tmp_path / f"b{suffix}")
    found = lv.read(tmp_path / f"b{suffix}", confidential=["day"]).to_arrow()["day"]
    assert pa.types.is_date32(found.type)
    assert sorted(found.to_pylist()) == sorted(BIRTHS)


def test_rules_between_dates_hold_and_dates_stay_whole():
    frame = pd.DataFrame({"day": pd.to_datetime(BIRTHS)})
    frame["end"] = frame["day"] + pd.to_timedelta(np.arange(N) % 4, unit="D")
    data = lv.read(frame, confidential=["day", "end"])
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET, constraints=["day <= end"])
    found = release.frame()
    assert (found["day"] <= found["end"]).all()
    inside = np.concatenate([b["day"] for _, b in release.data.table.blocks(["day"])])
    assert np.array_equal(inside, np.rint(inside))


def test_parquet_times_released_as_csv_are_read_back(tmp_path):
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) * 3601, unit="s")
    for unit in ("s", "us", "ns"):
        table = pa.table({"when": pa.array(moments.as_unit("ns")).cast(pa.timestamp(unit)), "x": X})
        data = lv.read(table, confidential=["when", "x"])
        lv.mask(data, "random_swap(rate=1)", secret=SECRET).write(tmp_path / f"{unit}.csv")
        again = lv.read(tmp_path / f"{unit}.csv", confidential=["when", "x"])
        assert again.table.columns["when"].dates is not None


def test_figures_of_dates_are_in_days():
    data = lv.read(pd.DataFrame({"day": pd.to_datetime(BIRTHS), "x": X}), confidential=["day", "x"])
    release = lv.mask(data, "date_shift(columns=['day'])", "additive_noise(columns=['x'])", secret=SECRET)
    moments, inequality = lv.utility(data, release, ["moments", "inequality"])
    rows = {r["variable"]: r for r in moments.by_variable}
    days = np.array([(b - datetime.date(1970, 1, 1)).days for b in BIRTHS])
    assert rows["day"]["unit"] == "days since 1970-01-01"
    assert rows["day"]["mean_original"] == pytest.approx(days.mean())
    assert abs(rows["day"]["mean_released"] - days.mean()) <= 30
    assert "unit" not in rows["x"]
    assert [r["variable"] for r in inequality.by_variable] == ["x"]


def test_an_axis_of_dates_has_dates_at_its_ticks():
    from larvatus.reporting.figures.histograms import histograms_of

    data = lv.read(pd.DataFrame({"day": pd.to_datetime(BIRTHS), "x": X}), confidential=["day", "x"])
    score = lv.utility(data, lv.mask(data, "data_shuffling", secret=SECRET), ["distributions"])[0]
    axes = {n: h.axis for n, h in histograms_of(score)["all records"].items()}
    assert all(re.fullmatch(r"(19|20)\d\d(-\d\d){0,2}", text) for _, text in axes["day"].ticks())
    assert len(axes["day"].ticks()) == 3
    assert not axes["x"].dates


def test_conditions_compare_dates():
    frame = pd.DataFrame({"day": pd.to_datetime(BIRTHS), "x": X})
    data = lv.read(frame, confidential=["day", "x"])
    release = lv.mask(data, lv.masks.AdditiveNoise(where='day < "1960-01-01"'), secret=SECRET).frame()
    early = frame["day"] < "1960-01-01"
    assert release["x"][~early].equals(frame["x"][~early])
    assert (release["x"][early] != frame["x"][early]).all()
    with pytest.raises(RolesError, match=r"'day' contains dates\. Compare it with a date"):
        lv.mask(data, lv.masks.AdditiveNoise(where='day < "soon"'))
    with pytest.raises(MaskError, match="'x' does not contain dates"):
        lv.mask(data, 'top_coding(bound="1960-01-01")')


