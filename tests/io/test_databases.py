"""Databases as sources: SQLite, DuckDB, and connections that the user opens."""

from __future__ import annotations

import datetime
import decimal
import pickle
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.database_urls import address_from, check_address, database_file, database_kind
from larvatus.core.errors import EngineError, LarvatusError, ReadError, StudyError, WriteError
from larvatus.core.input_paths import paths_read, refuse_inputs
from larvatus.engines._databases import staging
from larvatus.engines._databases.database_sources import SourceQuery, source_as_parquet
from larvatus.engines._databases.query_text import check_reads, query_has_order
from larvatus.engines._databases.value_types import ColumnType, array_of
from larvatus.study import Study

duckdb = pytest.importorskip("duckdb")
PASSWORD = "open-sesame"
QUERY = "SELECT * FROM people ORDER BY id"


@pytest.fixture
def sqlite_file(tmp_path):
    """A file with whole numbers, decimal numbers, text and missing values; a sparse column, and one of several types."""
    path = tmp_path / "people.db"
    draws = np.random.default_rng(5)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, income REAL, age INTEGER, region TEXT, late TEXT, mixed)")
        rows = [(i, float(draws.normal(100, 9)), int(draws.integers(18, 90)), None if i == 3 else f"r{i % 2}",
                 "x" if i > 150 else None, "a" if i == 190 else 1) for i in range(200)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows[::-1])
        connection.execute("CREATE TABLE visits (person INTEGER)")
        connection.commit()
    return path


@pytest.fixture
def duckdb_file(tmp_path):
    path = tmp_path / "people.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("""CREATE TABLE people AS SELECT i AS id, i * 1.5::DOUBLE AS income,
            (i * 1.25)::DECIMAL(9, 2) AS tax,
            sum(i) OVER () AS total, i % 2 = 0 AS even, DATE '2020-01-01' + i::INT AS born,
            CASE WHEN i <> 3 THEN 'r' || (i % 2) END AS region FROM range(50) AS r(i)""")
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.people AS SELECT 1 AS id")
    return path


def address(path: Path) -> str:
    return f"sqlite:///{path}"


def test_a_query_of_sqlite(sqlite_file, monkeypatch):
    """Values arrive in the order of the query, with their types, also if a batch has only missing values."""
    monkeypatch.setattr(staging, "BATCH", 64)
    data = lv.read(address(sqlite_file), query="SELECT id, income, age, region, late FROM people ORDER BY id",
                   confidential=["income"], non_confidential=["id", "age", "region", "late"])
    table = data.to_arrow()
    with closing(sqlite3.connect(sqlite_file)) as connection:
        expected = connection.execute("SELECT id, age, region, late, income FROM people ORDER BY id").fetchall()
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    assert table.schema.field("age").type == pa.int64()
    assert data.inputs == (str(sqlite_file),)


def test_only_columns_with_a_role_are_copied(sqlite_file):
    with source_as_parquet(address(sqlite_file), SourceQuery(QUERY), wanted={"age"}) as opened:
        table = parquet.read_table(opened.source)
    assert {n for n in table.column_names if table.column(n).null_count < 200} == {"age"}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_table_with_a_record_id(sqlite_file, engine):
    data = lv.read(address(sqlite_file), table="people", record_id="id", confidential=["income"], engine=engine)
    other = lv.read(address(sqlite_file), query=QUERY, record_id="id", confidential=["income"])
    secret = b"0" * 32
    masked = [lv.mask(d, "additive_noise", secret=secret).data for d in (data, other)]
    values = [np.concatenate([b["income"] for _, b in m.table.blocks(["income"])]) for m in masked]
    assert np.array_equal(*values)


def test_a_relative_address(sqlite_file, monkeypatch):
    monkeypatch.chdir(sqlite_file.parent)
    assert lv.read("sqlite:///people.db", query=QUERY, confidential="income").rows == 200


def test_a_duckdb_file(duckdb_file):
    columns = ["tax", "total", "even", "born", "region"]
    for source in (duckdb_file, f"duckdb:///{duckdb_file}"):
        data = lv.read(source, query=QUERY, confidential=["income"], non_confidential=columns)
        row = data.to_arrow().to_pylist()[2]
        assert row == {"tax": decimal.Decimal("2.50"), "total": 1225, "even": True, "born": datetime.date(2020, 1, 3),
                       "region": "r0", "income": 3.0}
    assert list(duckdb_file.parent.iterdir()) == [duckdb_file], "nothing is written beside the file"


def test_tables_of_several_schemas(duckdb_file):
    assert lv.read(duckdb_file, table="people", record_id="id", confidential="income").rows == 50
    with pytest.raises(ReadError, match=r"table: no table 'peple'; did you mean 'people'"):
        lv.read(duckdb_file, table="peple", record_id="id", confidential="income")


def test_a_duckdb_query_sees_no_other_file(duckdb_file, tmp_path):
    (tmp_path / "other.csv").write_text("income\n1\n")
    with pytest.raises(ReadError, match="not allowed"):
        lv.read(duckdb_file, query=f"SELECT * FROM read_csv('{tmp_path}/other.csv') ORDER BY 1", confidential="income")


def test_a_connection(sqlite_file, monkeypatch):
    monkeypatch.setattr(staging, "BATCH", 7)
    with closing(sqlite3.connect(sqlite_file)) as connection:
        data = lv.read(connection, query=QUERY.replace("*", "id, income"), confidential="income", non_confidential="id")
        assert data.to_arrow().column("id").to_pylist() == list(range(200))
        assert connection.execute("SELECT 1").fetchone() == (1,), "the connection stays open"
        with pytest.raises(ReadError, match="table: a connection is read with a query"):
            lv.read(connection, table="people", record_id="id", confidential="income")


def test_a_connection_of_duckdb(duckdb_file):
    with closing(duckdb.connect(str(duckdb_file))) as connection:
        data = lv.read(connection, query=QUERY, confidential="income", non_confidential=["tax", "born"])
        assert data.to_arrow().to_pylist()[2] == {
            "tax": decimal.Decimal("2.50"), "born": datetime.date(2020, 1, 3), "income": 3.0}


def test_rows_as_dictionaries_are_refused(sqlite_file):
    with closing(sqlite3.connect(sqlite_file)) as connection:
        connection.row_factory = lambda cursor, row: dict(zip([d[0] for d in cursor.description], row, strict=True))
        with pytest.raises(ReadError, match="rows as dictionaries"):
            lv.read(connection, query=QUERY, confidential="income")


def test_a_column_of_several_types_is_refused_by_name(sqlite_file, monkeypatch):
    monkeypatch.setattr(staging, "BATCH", 20)
    with pytest.raises(ReadError, match="column 'mixed' contains values of several types"):
        lv.read(address(sqlite_file), query=QUERY, confidential="income", non_confidential="mixed")


@pytest.mark.parametrize(("batches", "kind"), [
    ([[1, None], [2.5]], pa.float64()),
    ([[None], [True]], pa.bool_()),
    ([[decimal.Decimal("1.50")], [decimal.Decimal("10.125")]], pa.decimal128(5, 3)),
    ([[decimal.Decimal("12")], [3]], pa.int64()),
    ([[decimal.Decimal(10) ** 20], [1]], pa.decimal128(21, 0)),
    ([[None]], pa.null()),
])
def test_one_type_for_all_batches(batches, kind):
    column = ColumnType("x")
    for values in batches:
        column.take(array_of("x", values))
    assert column.result() == kind


@pytest.mark.parametrize("values", [[1, "a"], [2**53 + 1, 0.5], [2**70], [object()], [decimal.Decimal("NaN")]])
def test_values_without_a_common_type_are_refused_by_name(values):
    with pytest.raises(ReadError, match="column 'x'") as caught:
        array_of("x", values)
    assert str(2**53 + 1) not in str(caught.value)


def test_decimal_numbers_as_text_keep_their_digits():
    column = ColumnType("x", is_decimal_text=True)
    column.take(pa.array(["-12.50", None, "3"]))
    assert column.result() == pa.decimal128(4, 2)
    with pytest.raises(ReadError, match="column 'x' contains NaN"):
        column.take(pa.array(["NaN"]))
    column.take(pa.array(["1" * 40]))
    with pytest.raises(ReadError, match="column 'x' has numbers with 42 digits"):
        column.result()


def test_exactly_one_of_query_and_table(sqlite_file):
    for given in ({}, {"query": QUERY, "table": "people"}):
        with pytest.raises(ReadError, match="The tables are: people, visits"):
            lv.read(address(sqlite_file), confidential="income", **given)


def test_rows_without_an_order_are_refused(sqlite_file):
    with pytest.raises(ReadError, match=r"no defined order.*ORDER BY.*record_id"):
        lv.read(address(sqlite_file), query="SELECT * FROM people", confidential="income")
    with pytest.raises(ReadError, match=r"no defined order.*record_id"):
        lv.read(address(sqlite_file), table="people", confidential="income")


@pytest.mark.parametrize("query", [
    "SELECT a FROM t ORDER BY a", "select a from t order\nby a;",
    "WITH t AS (SELECT 1 AS a) SELECT a FROM t ORDER BY a LIMIT 3",
])
def test_an_order_is_recognised(query):
    check_reads(query)
    assert query_has_order(query)


@pytest.mark.parametrize("query", [
    "SELECT a FROM (SELECT a FROM t ORDER BY a)", "SELECT sum(a) OVER (ORDER BY a) FROM t", "SELECT 'order by' FROM t",
    "SELECT a FROM t -- ORDER BY a", "SELECT a /* ORDER BY a */ FROM t", 'SELECT "order by" FROM t', "SELECT $$ order by $$",
])
def test_an_order_elsewhere_does_not_count(query):
    check_reads(query)
    assert not query_has_order(query)


@pytest.mark.parametrize("query", [
    "DELETE FROM people", "SELECT 1; DROP TABLE people",
    "WITH x AS (DELETE FROM people RETURNING *) SELECT * FROM x ORDER BY 1",
    "SELECT * INTO other FROM people ORDER BY 1", "", "-- nothing", "SELECT 'a\\'; DROP TABLE people; --' ORDER BY 1",
    "SELECT 1 /*! INTO OUTFILE 'x' */ ORDER BY 1", "COPY people TO 'x'", "PRAGMA table_info(people)", "ATTACH 'x' AS x",
])
def test_what_does_more_than_read_is_refused(sqlite_file, query):
    before = sqlite_file.read_bytes()
    with pytest.raises(ReadError, match="query: "):
        lv.read(address(sqlite_file), query=query, confidential="income")
    assert sqlite_file.read_bytes() == before


def test_text_and_quoted_names_may_contain_any_word():
    check_reads("SELECT \"update\", 'delete; insert' AS a FROM t ORDER BY 1")


@pytest.mark.parametrize("source", [
    f"postgresql://me:{PASSWORD}@localhost/db", f"postgresql://me@localhost/db?password={PASSWORD}",
    f"postgres://me:a/{PASSWORD}@localhost/db", f"mysql://me:{PASSWORD}@localhost/db", f"postgresql+psycopg://me:{PASSWORD}@h/db",
    f"postgresql://me@localhost/db?sslmode=require&sslpassword={PASSWORD}",
])
def test_a_password_is_refused_and_not_shown(source, tmp_path, capsys):
    for use in (
        lambda: lv.read(source, query=QUERY, confidential="income"), lambda: Study(source=source),
        lambda: Study.of({"source": {"database": source}, "query": QUERY}), lambda: Study.of({"source": source}),
        lambda: lv.read(source, query=QUERY, confidential="income", delimiter=";"),
    ):
        with pytest.raises(LarvatusError) as caught:
            use()
        assert PASSWORD not in str(caught.value) + repr(caught.value.__context__)
    assert main(["mask", source, "--query", QUERY, "--confidential", "income", "--method", "additive_noise", "-o",
                 str(tmp_path / "out.parquet")]) == 2
    written = capsys.readouterr()
    assert PASSWORD not in written.out + written.err


def test_addresses():
    assert database_kind("postgresql://me@host:5432/db") == database_kind("postgres://host/db") == "postgresql"
    assert database_kind("people.csv") == database_kind("s3://bucket/x.parquet") == database_kind(None) == ""
    assert database_file("sqlite:///a%20b.db") == "a b.db"
    assert database_file("sqlite:////data/a.db") == "/data/a.db"
    assert address_from("/data", "sqlite:///a.db") == "sqlite:////data/a.db"
    assert address_from("/data", "postgresql://host/db") == "postgresql://host/db"
    check_address("postgresql://me@[::1]:5432/db?host=/tmp")
    with pytest.raises(ReadError, match="three slashes"):
        database_file("sqlite://a.db")


def test_no_output_is_written_over_a_database(sqlite_file):
    assert paths_read("postgresql://me@host/db") == ()
    with pytest.raises(WriteError):
        refuse_inputs([sqlite_file], [address(sqlite_file)])


def test_errors_of_drivers_are_replaced(sqlite_file, duckdb_file, tmp_path):
    """Their text may contain values; it is neither shown nor attached."""
    (tmp_path / "text.db").write_text("no database " * 500)
    (tmp_path / "text.duckdb").write_text("no database " * 500)
    for source, query in [
        (address(sqlite_file), "SELECT secret_column FROM people ORDER BY 1"), (address(tmp_path / "text.db"), QUERY),
        (duckdb_file, "SELECT CAST(region AS INT) AS income FROM people ORDER BY 1"), (tmp_path / "text.duckdb", QUERY),
    ]:
        with pytest.raises(ReadError) as caught:
            lv.read(source, query=query, confidential="income")
        assert "secret_column" not in str(caught.value)
        assert "r0" not in str(caught.value)
        assert caught.value.__context__ is None


def test_other_mistakes(sqlite_file, tmp_path):
    for source, given, text in [
        (address(tmp_path / "none.db"), {"query": QUERY}, "no file"),
        (address(sqlite_file), {"query": "SELECT income FROM people WHERE id < 0 ORDER BY 1"}, "no records"),
        (address(sqlite_file), {"query": QUERY, "password_file": "x"}, "password_file: only a server"),
        (address(sqlite_file), {"query": QUERY, "sheet": "x"}, "sheet: a database has no sheets"),
        (address(sqlite_file), {"query": QUERY, "decimal": "comma"}, "a database has no CSV format"),
        (pa.table({"income": [1.0]}), {"query": QUERY}, "query: the source is not a database"),
    ]:
        with pytest.raises(ReadError, match=text):
            lv.read(source, confidential="income", **given)


def test_the_columns_are_listed_if_none_is_confidential(sqlite_file):
    with pytest.raises(LarvatusError, match="the columns are: id, income, age, region"):
        lv.read(address(sqlite_file), table="people")


def test_a_driver_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(EngineError, match=r"pip install 'larvatus\[databases\]'"):
        lv.read("postgresql://localhost/db", query=QUERY, confidential="income")


def test_the_staged_file_is_private_and_removed(sqlite_file, tmp_path, monkeypatch):
    monkeypatch.setenv("LARVATUS_TEMP", str(tmp_path / "work"))
    with source_as_parquet(address(sqlite_file), SourceQuery(query="SELECT id FROM people ORDER BY id")) as opened:
        assert opened.source.parent.stat().st_mode & 0o777 == 0o700
        assert parquet.read_metadata(opened.source).num_rows == 200
    assert not opened.source.parent.exists()
    data = lv.read(address(sqlite_file), query="SELECT id, income FROM people WHERE region = 'r1' ORDER BY id",
                   confidential="income", engine="memory")
    assert not list((tmp_path / "work").iterdir())
    assert b"SELECT" not in pickle.dumps(data)


STUDY = """
[source]
database = "sqlite:///people.db"
query = "SELECT id, income, age FROM people WHERE region <> 'r7' ORDER BY id"

[roles]
confidential = ["income"]
non_confidential = ["age"]

[[release]]
name = "noise"
steps = ["additive_noise"]

[[attack]]
method = "nearest_record"

[[measure]]
method = "moments"
"""


def test_a_study(sqlite_file, tmp_path):
    """A study finds the database from its own folder; the release is Parquet; the report has no query."""
    file = sqlite_file.parent / "study.toml"
    file.write_text(STUDY)
    assert Study.of({**Study.read(file).plain()}, file.parent).query == Study.read(file).query
    lv.run(file, tmp_path / "out")
    assert parquet.read_metadata(tmp_path / "out" / "releases" / "noise.parquet").num_rows == 199
    assert "r7" not in (tmp_path / "out" / "report.html").read_text()
    assert main(["check", str(tmp_path / "out"), "--release", "noise", "--tier", "secure", "--quiet"]) in (0, 4)


def test_a_study_without_a_source(tmp_path):
    with pytest.raises(StudyError, match=r"source\.file: is required"):
        Study.of({"source": {"query": QUERY, "delimiter": ";"}})


def test_the_command_line(sqlite_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    base = [address(sqlite_file), "--table", "people", "--record-id", "id"]
    query = [address(sqlite_file), "--query", "SELECT id, income, age, region FROM people ORDER BY id"]
    assert main(["mask", *query, "--confidential", "income", "--method", "additive_noise", "-o", "out.parquet"]) == 0
    assert parquet.read_metadata("out.parquet").num_rows == 200
    assert main(["mask", *base, "--confidential", "income", "--method", "additive_noise", "-o", "two.parquet"]) == 0
    assert main(["mask", *base, "--confidential", "mixed", "--method", "additive_noise", "-o", "three.parquet"]) == 2
    assert "column 'mixed'" in capsys.readouterr().err
    assert main(["advise", *query, "-o", "roles.toml"]) == 0
    assert main(["advise", *query, "--confidential", "income", "--non-confidential", "age", "-o", "study.toml"]) == 0
    for name in ("roles.toml", "study.toml"):
        study = Study.read(name)
        assert (study.query, study.source) == (query[2], f"sqlite:///{sqlite_file}")


def test_a_file_db_is_what_its_content_says(sqlite_file, duckdb_file, tmp_path):
    other = duckdb_file.rename(tmp_path / "other.db")
    assert (database_kind(sqlite_file), database_kind(other)) == ("sqlite", "duckdb")
    for file in (sqlite_file, other):
        assert lv.read(file, query=QUERY, confidential="income").rows in (200, 50)
    with pytest.raises(ReadError, match=r"no file .*gone\.db"):
        lv.read(tmp_path / "gone.db", query=QUERY, confidential="income")


def test_the_draft_for_a_table_names_a_record_id_and_the_next_commands_run(sqlite_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect(sqlite_file)) as connection:
        connection.execute("CREATE TABLE plain AS SELECT id, income, age, region FROM people")
    assert main(["advise", "people.db", "--table", "plain"]) == 0
    draft = Path("people-roles.toml").read_text(encoding="utf-8")
    assert 'record_id = "id"' in draft
    assert '"id",  #' not in draft
    assert main(["advise", "people.db", "--study", "people-roles.toml", "-o", "people-study.toml"]) == 0
    assert lv.read("people.db", table="plain", **lv.advise("people.db", table="plain").roles).rows == 200


def test_a_table_without_a_record_id_is_pointed_out_at_once(sqlite_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    query = "SELECT income, age, region FROM people"
    assert main(["advise", "people.db", "--query", query]) == 0
    assert "no defined order" in capsys.readouterr().err
    assert main(["advise", "people.db", "--query", f"{query} ORDER BY id", "--overwrite"]) == 0
    assert "no defined order" not in capsys.readouterr().err


def test_the_command_line_says_by_which_option_to_name_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("in.db")) as connection:
        connection.execute("CREATE TABLE people (income REAL)")
    assert main(["advise", "in.db"]) == 2
    assert "give a query (--query) or a table (--table). The tables are: people." in capsys.readouterr().err
