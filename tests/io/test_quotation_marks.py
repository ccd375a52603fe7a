"""Quotation marks in CSV files: an open one is refused with its line, and legitimate ones are read on every engine alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import ReadError

ENGINES = ["memory", "duckdb"]
VALUE = "98765.4321"


def read(folder: Path, text: str, engine: str) -> dict[str, list[Any]]:
    path = folder / "file.csv"
    path.write_bytes(text.encode())
    frame = lv.read(path, confidential="x", non_confidential="a", engine=engine).frame()
    return (frame if isinstance(frame, pa.Table) else frame.to_arrow_table()).to_pydict()


def refused(folder: Path, text: str, engine: str) -> str:
    with pytest.raises(ReadError) as caught:
        read(folder, text, engine)
    said = str(caught.value)
    assert VALUE not in said
    assert "oops" not in said
    assert len(said.splitlines()) == 1
    return said


def records(broken: dict[int, str], last: str = "\n") -> str:
    """Forty records in lines 2 to 41; some of them replaced."""
    return "x,a\n" + "\n".join(broken.get(i, f"{i},p{i}") for i in range(1, 41)) + last


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("broken", [f'{VALUE},"oops', f'"{VALUE},oops', f'{VALUE},"oops""', f'{VALUE},"'])
def test_a_file_that_ends_inside_a_quoted_field_is_refused_with_the_line(tmp_path, engine, ending, broken):
    text = records({11: broken}).replace("\n", ending)
    assert "a quotation mark opens in line 12 and is never closed" in refused(tmp_path, text, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_the_last_record_too(tmp_path, engine):
    assert "opens in line 41 " in refused(tmp_path, records({40: f'{VALUE},"oops'}, last=""), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_inside_other_quoted_fields_are_counted(tmp_path, engine):
    text = records({3: '3,"two\nlines"', 11: f'{VALUE},"oops'})
    assert "opens in line 13 " in refused(tmp_path, text, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_open_marks_do_not_close_each_other(tmp_path, engine):
    said = refused(tmp_path, records({11: f'{VALUE},"oops', 20: '20,"other'}), engine)
    assert "opens in line 12, and text follows the closing one in line 21" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cell", ['"p"q', '"p" ', '"p"q"r"'])
def test_text_after_a_closed_field_is_refused(tmp_path, engine, cell):
    assert "opens in line 12, and text follows" in refused(tmp_path, records({11: f"{VALUE},{cell}"}), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mark_inside_an_unquoted_field_is_a_character_like_any_other(tmp_path, engine):
    text = 'a,x\n6\'2",1\n 5 "or so",2\np""q,3\n'
    assert read(tmp_path, text, engine)["a"] == ['6\'2"', ' 5 "or so"', 'p""q']


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_legitimate_fields_are_read(tmp_path, engine, mark, delimiter):
    cells = [f'"one{delimiter}two"', '"say ""yes"""', '"first\nsecond\r\n\nthird"', '""', '""""', '"\n"', '"last"']
    text = mark + f'"a"{delimiter}"x"\n' + "\n".join(f"{c}{delimiter}{i}" for i, c in enumerate(cells))
    wanted = [f"one{delimiter}two", 'say "yes"', "first\nsecond\r\n\nthird", None, '"', None, "last"]
    assert read(tmp_path, text, engine) == {"a": wanted, "x": list(range(7))}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mark_that_opens_in_the_header(tmp_path, engine):
    assert "opens in line 1 " in refused(tmp_path, 'x,"a\n1,p\n2,q\n', engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_column_without_a_role_and_in_a_later_part(tmp_path, engine):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text("x,a,note\n1,p,\n", encoding="utf-8")
    (tmp_path / "parts" / "2.csv").write_text('x,a,note\n2,q,\n3,r,"oops\n4,s,\n', encoding="utf-8")
    with pytest.raises(ReadError, match=r"2\.csv: a quotation mark opens in line 3 and is never closed"):
        lv.read(tmp_path / "parts", confidential="x", non_confidential="a", engine=engine)


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 18])
def test_the_quick_look_agrees_with_the_grammar(block):
    """Every text of six characters over a small alphabet: what the quick look accepts is well formed.

    Problems and their lines do not depend on how the text is divided into blocks.
    """
    from functools import partial
    from itertools import product

    from larvatus.data.csv_files.dialect import CsvDialect
    from larvatus.engines._files import quotation_marks as q

    def pieces(text: bytes, size: int) -> list[bytes]:
        return [text[i : i + size] for i in range(0, len(text), size)]

    accepted, comma = 0, CsvDialect()
    for cells in product('",\nx\r' if block == 1 else '",\nx', repeat=6):
        text = "".join(cells).encode()
        blocks = partial(pieces, text, block)
        assert q._problem(blocks, comma) == q._problem(partial(pieces, text, 6), comma)
        if q._alternate(blocks, comma):
            accepted += 1
            assert q._problem(blocks, comma) == ""
    assert accepted > 700


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("swallowed", [1, 9])
def test_an_open_mark_that_a_later_one_closes_is_refused(tmp_path, engine, swallowed):
    """Both marks stand at the edge of a field, so that the records between would be released inside one text cell."""
    rows = [f"r{i % 3},{1000 + i},{i}" for i in range(40)]
    rows[10], rows[11 + swallowed] = '"oops,3,5', 'r1",1003,5'
    (tmp_path / "in.csv").write_text("g,x,z\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(ReadError, match="line 13"):
        lv.read(tmp_path / "in.csv", confidential=["x"], non_confidential=["g"], engine=engine)


def test_line_breaks_inside_a_text_are_read(tmp_path):
    text = 'g,x,z\n"one, two\nthree\nfour, five, six",3,4\nr,5,6\n'
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    assert lv.read(tmp_path / "in.csv", confidential=["x"], non_confidential=["g"]).rows == 2
