"""CSV files as they are written: each dialect and encoding, with the outcome that is expected of it, in both engines."""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import LarvatusError, LarvatusWarning, ReadError, WriteError
from sample import SECRET

ENGINES = ["memory", "duckdb"]
VALUE = "98765"


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def read(path: Path, content: bytes, engine: str = "memory", **given: Any) -> tuple[lv.Microdata, str]:
    """What is read, and what was said about the file."""
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = lv.read(path, engine=engine, **{"confidential": "x", "non_confidential": "a", **given})
    said = [str(w.message) for w in caught if issubclass(w.category, LarvatusWarning)]
    return data, "; ".join(said)


def held(data: lv.Microdata) -> dict[str, list[Any]]:
    frame = data.frame()
    table = frame if isinstance(frame, pa.Table) else frame.to_arrow_table()
    return {n: table.column(n).to_pylist() for n in ("a", "x") if n in table.column_names}


CELLS = [("Zoë", "1.5"), ("Ünal, B", "-20.25"), ("", "1000"), ("c", "")]
WANTED = {"a": ["Zoë", "Ünal, B", None, "c"], "x": [1.5, -20.25, 1000.0, None]}


def text(delimiter: str, decimal: str, quote: str = '"', ending: str = "\n") -> str:
    rows = [f'{quote}{a}{quote}{delimiter}{quote}{x}{quote}' if decimal == delimiter else
            f'{quote}{a}{quote}{delimiter}{x}' for a, x in ((a, x.replace(".", decimal)) for a, x in CELLS)]
    return ending.join([f"{quote}a{quote}{delimiter}{quote}x{quote}", *rows, ""])


GOOD: dict[str, tuple[str, bytes, dict[str, str], str]] = {
    "comma": ("f.csv", text(",", ".").encode(), {}, ""),
    "semicolon, point": ("f.csv", text(";", ".").encode(), {}, ""),
    "semicolon, comma": ("f.csv", text(";", ",").encode(), {}, "f.csv: semicolon, decimal comma, UTF-8"),
    "tab, comma": ("f.tsv", text("\t", ",").encode(), {}, "f.tsv: tab, decimal comma, UTF-8"),
    "pipe, comma": ("f.txt", text("|", ",").encode(), {}, "f.txt: pipe, decimal comma, UTF-8"),
    "byte order mark": ("f.csv", text(",", ".").encode("utf-8-sig"), {}, ""),
    "semicolon, byte order mark": ("f.csv", text(";", ",").encode("utf-8-sig"), {}, "f.csv: semicolon, decimal comma, UTF-8"),
    "latin-1": ("f.csv", text(",", ".").encode("latin-1"), {}, "f.csv: comma, Windows-1252"),
    "latin-1, semicolon": ("f.csv", text(";", ",").encode("latin-1"), {}, "f.csv: semicolon, decimal comma, Windows-1252"),
    "latin-1, stated": ("f.csv", text(";", ",").encode("latin-1"), {"encoding": "latin-1", "decimal": ","}, ""),
    "utf-16, little": ("f.csv", b"\xff\xfe" + text(";", ",").encode("utf-16-le"), {},
                       "f.csv: semicolon, decimal comma, UTF-16"),
    "utf-16, big": ("f.csv", b"\xfe\xff" + text("\t", ".").encode("utf-16-be"), {}, "f.csv: tab, UTF-16"),
    "utf-16, stated": ("f.csv", text(",", ".").encode("utf-16-le"), {"encoding": "utf-16-le"}, ""),
    "carriage returns": ("f.csv", text(";", ",", ending="\r").encode(), {}, "f.csv: semicolon, decimal comma, UTF-8"),
    "both line ends": ("f.csv", text(";", ",", ending="\r\n").encode("cp1252"), {},
                       "f.csv: semicolon, decimal comma, Windows-1252"),
    "empty lines": ("f.csv", text(";", ",").replace("\n", "\n\n").encode(), {}, "f.csv: semicolon, decimal comma, UTF-8"),
    "single quotation marks": ("f.csv", text(";", ".", "'").encode(), {}, "f.csv: semicolon, single quotation marks, UTF-8"),
    "quoted decimal commas": ("f.csv", text(",", ",").encode(), {"decimal": "comma"}, ""),
    "gzip": ("f.csv.gz", gzip.compress(text(";", ",").encode("cp1252")), {},
             "f.csv.gz: semicolon, decimal comma, Windows-1252"),
    "gzip in pieces": ("f.csv.gz", gzip.compress(text(";", ",").encode()[:25]) + gzip.compress(text(";", ",").encode()[25:]),
                           {}, "f.csv.gz: semicolon, decimal comma, UTF-8"),
    "zstandard": ("f.csv.zst", pa.compress(text(",", ".").encode(), "zstd", asbytes=True), {}, ""),
    "zip": ("f.zip", zipped(("inner.csv", text(";", ",").encode("utf-16"))), {}, "f.zip: semicolon, decimal comma, UTF-16"),
    "stated delimiter": ("f.csv", text(":", ".").encode(), {"delimiter": ":"}, ""),
    "a cell of 100,000 characters": ("f.csv", text(";", ",").replace("c", "c" * 100_000).encode("cp1252"), {},
                                     "f.csv: semicolon, decimal comma, Windows-1252"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", GOOD)
def test_files_of_every_dialect_hold_the_same_values(tmp_path, case, engine):
    name, content, stated, said = GOOD[case]
    data, heard = read(tmp_path / name, content, engine, **stated)
    wanted = {"a": [v if v != "c" or "100,000" not in case else "c" * 100_000 for v in WANTED["a"]], "x": WANTED["x"]}
    assert (held(data), heard) == (wanted, said)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("cells", "values", "said"), [
    (["1'234", "12'345'678", "7"], [1234, 12345678, 7], "decimal point, thousands apostrophe"),
    (["1 234,5", "12,25", "7"], [1234.5, 12.25, 7.0], "decimal comma, thousands space"),
    (["1\u00a0234,5", "1\u202f000,25", "7"], [1234.5, 1000.25, 7.0], "decimal comma, thousands space"),
    (["1.234,5", "1.000.000", "7"], [1234.5, 1e6, 7.0], "decimal comma, thousands point"),
    (["1,234.5", "1,000,000", "7"], [1234.5, 1e6, 7.0], "decimal point, thousands comma"),
    (["1,5e3", "-,25", "+7"], [1500.0, -0.25, 7.0], "decimal comma"),
    (["1.234", "7.000", "0.5"], [1.234, 7.0, 0.5], ""),
], ids=str)
def test_thousands_and_decimals_are_recognised(tmp_path, cells, values, said, engine):
    content = "a;x\n" + "".join(f"p;{c}\n" for c in cells)
    data, heard = read(tmp_path / "f.csv", content.encode(), engine)
    assert held(data)["x"] == values
    assert heard == (f"f.csv: semicolon, {said}, UTF-8" if said else "")


def test_a_point_is_a_separator_if_another_column_has_decimal_commas(tmp_path):
    data, _ = read(tmp_path / "f.csv", b"a;x\n1.234;2,5\n2.345;3,25\n")
    assert held(data) == {"a": [1234, 2345], "x": [2.5, 3.25]}


def test_a_column_of_numbers_like_1_234_alone_is_read_with_a_decimal_point_and_reported(tmp_path):
    content = b"a;x\np;1.234\nq;12.345\nr;7\n"
    data, said = read(tmp_path / "f.csv", content)
    assert held(data)["x"] == [1.234, 12.345, 7.0]
    assert "f.csv: the point in numbers such as 1.234 is read as a decimal point (x)" in said
    assert read(tmp_path / "f.csv", content, decimal="point")[1] == ""
    data, said = read(tmp_path / "f.csv", content, thousands="point")
    assert (held(data)["x"], said) == ([1234, 12345, 7], "f.csv: semicolon, decimal comma, thousands point, UTF-8")
    assert read(tmp_path / "f.csv", content.replace(b";", b","))[1] == ""


def test_in_files_with_commas_between_columns_only_decimal_points_are_recognised(tmp_path):
    content = b'a,x\n"1,234",1\n"2,345",2\n'
    assert held(read(tmp_path / "f.csv", content)[0])["a"] == ["1,234", "2,345"]
    assert held(read(tmp_path / "f.csv", content, thousands="comma")[0])["a"] == [1234, 2345]
    assert held(read(tmp_path / "f.csv", content, decimal="comma")[0])["a"] == [1.234, 2.345]


def test_a_delimiter_in_the_text_of_the_header_does_not_win_over_the_records(tmp_path):
    data, _ = read(tmp_path / "f.csv", b"a;income, net, euro;x\np;1;2\nq;3;4\n")
    assert held(data) == {"a": ["p", "q"], "x": [2, 4]}


BAD: dict[str, tuple[str, bytes, dict[str, str], str]] = {
    "1,234 alone": ("f.csv", b"a;x\np;1,234\nq;5,678\n", {}, "column 'x' have one comma and three digits"),
    "another notation far down": ("f.csv", b"a;x\n" + b"p;1,5\n" * 3000 + f"p;{VALUE}.5\n".encode(), {},
                                  "line 3002, column 2 ('x') is not a number with decimal comma"),
    "text far down": ("f.csv", b"a;x\n" + b"p;1,5\n" * 3000 + f"p;{VALUE} or so\n".encode(), {},
                      "line 3002, column 2 ('x') is not a number with decimal comma"),
    "a comma after points": ("f.csv", b"a;x\n" + b"p;1.5\n" * 3000 + f"p;{VALUE},5\n".encode(), {},
                             "line 3002, column 2 ('x') is not a number with decimal point"),
    "a byte that windows-1252 does not have": (
        "f.csv", b"a;x\n\xe9;1\n" + b"p;1\n" * 300_000 + f"{VALUE}\x81;2\n".encode("latin-1"), {},
        "line 300003, column 1 is not Windows-1252"),
    "an older encoding": ("f.csv", "a;x\nMädchen;1\n".encode("cp850"), {}, "neither UTF-8 nor Windows-1252"),
    "an older encoding of letters": ("f.csv", "a;x\nFrédéric;1\n".encode("mac-roman"), {}, "neither UTF-8 nor Windows-1252"),
    "stated utf-8": ("f.csv", f"a;x\n{VALUE}é;1\n".encode("latin-1"), {"encoding": "utf-8"}, "line 2, column 1 is not UTF-8"),
    "utf-32": ("f.csv", "a,x\n1,2\n".encode("utf-32"), {}, "UTF-32"),
    "a NUL byte": ("f.csv", f"a,x\n{VALUE}\0,2\n".encode(), {}, "NUL bytes"),
    "cut gzip": ("f.csv.gz", gzip.compress(b"a,x\np,1\n" * 10_000)[:-9], {}, "damaged or incomplete"),
    "no gzip": ("f.csv.gz", b"a,x\np,1\n", {}, "damaged or incomplete"),
    "cut zstandard": ("f.csv.zst", pa.compress(b"a,x\np,1\n" * 10_000, "zstd", asbytes=True)[:-9], {}, "damaged or incomplete"),
    "no zip": ("f.zip", b"a,x\np,1\n", {}, "damaged or incomplete"),
    "zip of two": ("f.zip", zipped(("one.csv", b"a,x\n"), ("two.csv", b"a,x\n")), {}, "contains 2 files: one.csv, two.csv"),
    "zip of none": ("f.zip", zipped(), {}, "contains 0 files"),
    "zip of something else": ("f.zip", zipped(("one.xlsx", b"PK")), {}, "one.xlsx, which is not a CSV file"),
    "only a header": ("f.csv", "a;x\n".encode("utf-16"), {}, "no records"),
    "duplicate names": ("f.csv", "x;é;x\n1;2;3\n".encode("latin-1"), {}, "duplicate column names: 'x'"),
    "ragged rows": ("f.csv", f"a;x\né;1\nq;2;{VALUE}\n".encode("latin-1"), {}, "Expected 2 columns, got 3 in line 3"),
    "an open mark": ("f.csv", 'a;x\né;1\n"q;2\n'.encode("utf-16"), {}, "a quotation mark opens in line 3 and is never closed"),
    "an unknown encoding": ("f.csv", b"a,x\np,1\n", {"encoding": "windows-125"}, "no encoding 'windows-125'"),
    "two marks alike": ("f.csv", b"a,x\np,1\n", {"decimal": ",", "thousands": "comma"}, "must be different marks"),
    "a long delimiter": ("f.csv", b"a,x\np,1\n", {"delimiter": ";;"}, "delimiter must be comma"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", BAD)
def test_what_contradicts_is_refused_with_its_place_and_without_its_value(tmp_path, case, engine):
    name, content, stated, said = BAD[case]
    with pytest.raises(ReadError) as caught:
        read(tmp_path / name, content, engine, **stated)
    assert said in str(caught.value)
    assert VALUE not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_format_is_stated_for_csv_only(tmp_path):
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "f.parquet")
    with pytest.raises(ReadError, match=r"f\.parquet is not a CSV file: leave out decimal\."):
        lv.read(tmp_path / "f.parquet", confidential="x", decimal="comma")
    with pytest.raises(ReadError, match="a data frame has no CSV format"):
        lv.read(pa.table({"x": [1.0, 2.0]}), confidential="x", decimal="comma")


def test_a_notation_that_two_parts_do_not_share_is_refused(tmp_path):
    (tmp_path / "one.csv").write_bytes(b"a;x\np;1,5\n")
    (tmp_path / "two.csv").write_bytes(b"a;x\np;1.5\n")
    with pytest.raises(ReadError, match="different notations of numbers"):
        lv.read(tmp_path, confidential="x")
    (tmp_path / "two.csv").write_bytes(b"a;x\np;2\n")
    with pytest.warns(LarvatusWarning, match="decimal comma"):
        assert lv.read(tmp_path, confidential="x").frame()["x"].to_pylist() == [1.5, 2.0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("content", [
    text(";", ",").encode("latin-1"), text(";", ",").encode("utf-8"), b"\xff\xfe" + text("\t", ",").encode("utf-16-le"),
    text("|", ".").encode(), text(";", ".", "'").encode(),
], ids=["latin-1", "utf-8", "utf-16", "pipe", "single"])
def test_a_release_has_the_dialect_of_its_source(tmp_path, content, engine):
    data, said = read(tmp_path / "in.csv", content, engine)
    made = lv.mask(data, {"method": "rounding", "base": 0.4}, secret=SECRET)
    made.write(tmp_path / "out.csv", row_order="keep")
    raw = (tmp_path / "out.csv").read_bytes()
    back, heard = read(tmp_path / "back.csv", raw, engine)
    assert heard == said.replace("in.csv", "back.csv")
    assert held(back)["a"] == WANTED["a"]
    assert back.dialect == data.dialect
    assert lv.risk(data, tmp_path / "out.csv", ["exact_match"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "cp1252"])
def test_a_file_that_is_written_again_unchanged_is_the_same_file(tmp_path, encoding, engine):
    content = '"a";"x"\n"Zoë";1,5\n"Ünal; B";-20,25\n"c";\n"say ""no""";1000\n'.encode(encoding)
    data, _ = read(tmp_path / "in.csv", content, engine)
    data.engine.write(data.table, ["a", "x"], tmp_path / "out.csv", None, None, False)
    assert (tmp_path / "out.csv").read_bytes() == content


def test_a_character_that_the_encoding_does_not_have_is_refused(tmp_path):
    from larvatus.data.csv_files.dialect import CsvDialect
    from larvatus.engines._files.targets import write_batches

    batch = pa.record_batch({"a": ["plain", VALUE + "収"]})
    with pytest.raises(WriteError, match="column 'a' has a character") as caught:
        write_batches([(batch, None)], tmp_path / "out.csv", "keep", None, dialect=CsvDialect(encoding="cp1252"))
    assert VALUE not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("cells", "values"), [
    (["01234", "12345"], ["01234", "12345"]),
    (["9007199254740993", "2"], [9007199254740993, 2]),
    (["9007199254740993", "2.5"], ["9007199254740993.0", "2.5"]),
    (["123456789012.123456", "2.5"], ["123456789012.123456", "2.500000"]),
    (["0.123456789012345678901", "2.5"], ["0.123456789012345678901", "2.5"]),
    (["0.10000000000000001", "0.30000000000000004"], [0.1, 0.30000000000000004]),
    (["1.1", "2.5"], [1.1, 2.5]),
], ids=str)
@pytest.mark.parametrize("mark", [".", ","])
def test_columns_that_are_released_unmasked_keep_every_digit(tmp_path, cells, values, engine, mark):
    content = "a;x\n" + "".join(f"{c.replace('.', mark)};{i}{mark}5\n" for i, c in enumerate(cells))
    data, _ = read(tmp_path / "f.csv", content.encode(), engine)
    found = [str(v) if isinstance(values[0], str) else v for v in held(data)["a"]]
    text = mark == "," and "0.123456789012345678901" in cells
    assert found == ([v.replace(".", ",") for v in values] if text else values)
    made = lv.mask(data, {"method": "rounding", "base": 2}, secret=SECRET)
    made.write(tmp_path / "out.csv", row_order="keep")
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    first = [line.split(";")[0].strip('"').replace(",", ".") for line in lines]
    assert [c.rstrip("0").rstrip(".") for c in first] == [
        repr(float(c)) if isinstance(v, float) else c for c, v in zip(cells, values, strict=True)]


def test_a_small_file_that_hides_a_huge_one_is_refused(tmp_path, monkeypatch):
    import larvatus.engines._files.sources as sources
    import larvatus.engines._files.text_stream as stream

    path = tmp_path / "f.csv.gz"
    path.write_bytes(gzip.compress(b"a,x\n" + b"p,1\n" * 1_000_000))
    monkeypatch.setattr(sources, "usable_memory", lambda: 1_000_000)
    with pytest.raises(ReadError, match="larger than the memory that may be used"):
        lv.read(path, confidential="x", engine="memory")
    monkeypatch.setattr(stream.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1_000_000}))
    with pytest.raises(ReadError, match="more than the free space for temporary files"):
        lv.read(path, confidential="x", engine="duckdb")


def test_a_study_states_the_format_of_its_source(tmp_path):
    (tmp_path / "in.csv").write_bytes(b'a,x\n"1,234",1\n"2,345",2\n')
    (tmp_path / "study.toml").write_text(
        '[source]\nfile = "in.csv"\nthousands = "comma"\n[roles]\nconfidential = ["a"]\n'
        '[[release]]\nname = "one"\nsteps = [{ method = "rounding" }]\n')
    study = lv.Study.read(tmp_path / "study.toml")
    assert (study.source, study.csv.thousands) == ("in.csv", ",")
    assert study.plain()["source"] == {"file": "in.csv", "thousands": "comma"}
    assert lv.Study.of(study.plain(), tmp_path) == study
    with pytest.raises(LarvatusError, match=r"source.*delimeter.*did you mean 'delimiter'"):
        lv.Study.of({"source": {"file": "in.csv", "delimeter": ";"}}, tmp_path)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(("encoding", "wrong"), [("utf-8", b"\xe9"), ("shift_jis", b"\xa0")])
def test_the_place_of_a_wrong_byte_does_not_depend_on_blocks(tmp_path, monkeypatch, block, encoding, wrong):
    import larvatus.engines._files.text_stream as stream

    monkeypatch.setattr(stream, "_BLOCK", block)
    with pytest.raises(ReadError, match="line 3, column 1 is not"):
        read(tmp_path / "f.csv", "a;x\nか;1\n".encode(encoding) + wrong + b";2\n", encoding=encoding)
