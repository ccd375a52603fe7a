"""DuckDB can reach nothing but the private folder: no other file, no extension, no change of settings."""

from __future__ import annotations

import duckdb
import pytest

import larvatus as lv
from larvatus.engines.duckdb import Duckdb
from sample import SECRET

ATTEMPTS = (
    "SELECT * FROM read_csv('{path}')", "COPY (SELECT 1) TO '{path}.copy'", "ATTACH '{path}.db' AS other", "INSTALL httpfs",
    "LOAD httpfs", "SET enable_external_access = true", "SET autoload_known_extensions = true",
)


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "confidential.csv"
    path.write_text("a\n1\n")
    return path


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_sorter_is_locked(attempt, secret_file):
    connection = Duckdb().room.sorter.connection
    with pytest.raises(duckdb.Error):
        connection.execute(attempt.format(path=secret_file)).fetchall()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_returned_relation_is_locked_and_can_be_read(attempt, secret_file, tmp_path):
    source = tmp_path / "people.csv"
    source.write_text("x,g\n" + "".join(f"{i * i},{i % 2}\n" for i in range(40)))
    relation = lv.mask(lv.read(source, confidential=["x"], engine="duckdb"), "additive_noise", secret=SECRET).frame()
    assert len(relation.fetchall()) == 40
    with pytest.raises(duckdb.Error):
        relation.query("released", attempt.format(path=secret_file)).fetchall()


def test_relations_of_two_releases_share_no_tables(tmp_path):
    """A view of one would otherwise replace that of the other."""
    relations = []
    for value in (1, 2):
        source = tmp_path / f"people{value}.csv"
        source.write_text("x,g\n" + "".join(f"{i * i},{value}\n" for i in range(40)))
        data = lv.read(source, confidential=["x"], non_confidential=["g"], engine="duckdb")
        relations.append(lv.mask(data, "additive_noise", secret=SECRET).frame())
        relations[-1].create_view("people")
    assert [r.query("own", "SELECT max(g) FROM people").fetchall() for r in relations] == [[(1,)], [(2,)]]


def test_sorting_still_works_with_little_room():
    import pandas as pd

    frame = pd.DataFrame({"x": [((i * 7919) % 1009) / 8 for i in range(500)], "g": [i % 3 for i in range(500)]})
    read = (lv.read(frame, confidential=["x"], non_confidential=["g"], engine=e) for e in ("memory", Duckdb(rows=60)))
    one, other = (lv.mask(data, "rank_swap", secret=SECRET).frame() for data in read)
    pd.testing.assert_frame_equal(one, other)
