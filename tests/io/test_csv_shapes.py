"""CSV files of every shape: delimiters, line endings, marks, quotes, names, width."""

from __future__ import annotations

from pathlib import Path

import pytest

import larvatus as lv

ROWS = [("a", "x"), ("p", "1"), ("q", "2"), ("p", "4")]


def read(folder: Path, content: bytes | str, name: str = "file.csv", **roles: object) -> lv.Microdata:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return lv.read(path, **{"confidential": "x", "non_confidential": "a", **roles})


def held(data: lv.Microdata) -> dict[str, list]:
    return data.frame().to_pydict()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiters_line_endings_and_marks(tmp_path, delimiter, ending, mark):
    text = "".join(delimiter.join(row) + ending for row in ROWS)
    assert held(read(tmp_path, mark + text.encode())) == {"a": ["p", "q", "p"], "x": [1, 2, 4]}


@pytest.mark.parametrize("name", ["file.csv", "file.tsv", "file.txt", "FILE.CSV"])
def test_endings_of_names(tmp_path, name):
    assert held(read(tmp_path, "a,x\np,1\nq,2\n", name)) == {"a": ["p", "q"], "x": [1, 2]}


def test_a_last_line_without_an_ending(tmp_path):
    assert held(read(tmp_path, "a,x\np,1\nq,2")) == {"a": ["p", "q"], "x": [1, 2]}


def test_quoted_commas_quotation_marks_and_line_breaks(tmp_path):
    data = read(tmp_path, 'a,x\n"one, two",1\n"say ""yes""",2\n"first\nsecond",3\n')
    assert held(data) == {"a": ["one, two", 'say "yes"', "first\nsecond"], "x": [1, 2, 3]}


def test_a_line_break_inside_a_column_name(tmp_path):
    data = read(tmp_path, '"a\nb",x\np,1\nq,2\n', non_confidential=["a\nb"])
    assert held(data) == {"a\nb": ["p", "q"], "x": [1, 2]}


def test_the_delimiter_is_the_one_the_header_has_most_of(tmp_path):
    assert held(read(tmp_path, 'a;"income, net";x\np;1;1\nq;2;2\n')) == {"a": ["p", "q"], "x": [1, 2]}


def test_delimiters_inside_quoted_names_do_not_count(tmp_path):
    data = read(tmp_path, '"a;b;c","d\n;;;e",x\np,q,1\nq,r,2\n', non_confidential=["a;b;c", "d\n;;;e"])
    assert held(data) == {"a;b;c": ["p", "q"], "d\n;;;e": ["q", "r"], "x": [1, 2]}
    assert held(read(tmp_path, '"a\nb";x\np;1\nq;2\n', non_confidential=["a\nb"])) == {"a\nb": ["p", "q"], "x": [1, 2]}


def test_blank_header_names_are_numbered(tmp_path):
    data = read(tmp_path, ",x,\n7,1,8\n9,2,6\n", non_confidential=["column 1", "column 3"])
    assert held(data) == {"column 1": [7, 9], "column 3": [8, 6], "x": [1, 2]}


def test_names_in_other_scripts_and_with_spaces(tmp_path):
    data = read(tmp_path, "收入,Größe (cm)\n1,2\n3,4\n", confidential=["收入"], non_confidential=["Größe (cm)"])
    assert held(data) == {"Größe (cm)": [2, 4], "收入": [1, 3]}


def test_a_missing_value_in_a_file_of_one_column_keeps_its_row(tmp_path):
    assert held(read(tmp_path, "x\n1\n\n3\n", non_confidential=())) == {"x": [1, None, 3]}


def test_blank_lines_between_rows_are_no_records(tmp_path):
    assert held(read(tmp_path, "a,x\np,1\n\nq,2\n\n")) == {"a": ["p", "q"], "x": [1, 2]}


def test_three_thousand_columns_of_which_three_have_roles(tmp_path):
    names = [f"c{i}" for i in range(3000)]
    lines = [",".join(names), *(",".join(str(i + j) for j in range(3000)) for i in range(20))]
    data = read(tmp_path, "\n".join(lines), confidential=["c2999"], non_confidential=["c0"], sub_groups=["c1500"])
    assert held(data) == {
        "c1500": list(range(1500, 1520)), "c0": list(range(20)), "c2999": list(range(2999, 3019)),
    }
    assert set(data.table.columns) == {"c0", "c1500", "c2999"}


def test_a_row_of_several_megabytes(tmp_path):
    long = "z" * 5_000_000
    assert held(read(tmp_path, f"a,x\n{long},1\nq,2\n")) == {"a": [long, "q"], "x": [1, 2]}


def test_columns_without_a_role_are_not_looked_at(tmp_path):
    assert held(read(tmp_path, "a,x,note\np,1,inf\nq,2,99999999999999999999\n")) == {"a": ["p", "q"], "x": [1, 2]}
