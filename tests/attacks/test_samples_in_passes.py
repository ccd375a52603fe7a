"""What is drawn or gathered in passes over blocks is what it would be with all records held at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.target_blocks import Blocks, drawn_at_once

import larvatus as lv
from larvatus.attacks.linkage.target_sample import draw_targets
from larvatus.attacks.scoring import outlying_records
from larvatus.attacks.scoring.outlying_records import outlying_limit
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Block
from larvatus.data.verbs import gather_groups
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.pieces import Pieces

ENGINES = ["memory", Duckdb(rows=512), Pieces(seed=3)]


@pytest.mark.parametrize("size", [60, 500, 4000, 11_000])
@pytest.mark.parametrize("kind", ["continuous", "ties", "equal", "unknown"])
def test_the_targets_do_not_depend_on_the_blocks(size, kind):
    rng = np.random.default_rng(size)
    group = rng.choice(5, 12_000, p=[0.7, 0.25, 0.045, 0.004, 0.001])
    record = np.sort(rng.choice(10**9, len(group), replace=False))
    distance = {"continuous": rng.chisquare(3, len(group)), "ties": rng.integers(0, 3, len(group)).astype(float),
                "equal": np.ones(len(group)), "unknown": None}[kind]
    random = RecordRandom(stream_key(b"any", str(size)))
    expected, weight = drawn_at_once(record, group, distance, size, random)
    for pieces in (1, 2, 40):
        found = draw_targets(Blocks(record, group, distance, pieces, pieces), size, random, distance is not None)
        assert found.record.tobytes() == expected.tobytes()
        assert found.weight.tobytes() == weight.tobytes()
        assert (len(found.record), found.population) == (size, len(record))


def test_few_records_are_held_while_targets_are_drawn():
    """At most the outlying ones of each block, and about twice the sample, leave a block."""
    rng = np.random.default_rng(1)
    pool = Blocks(np.arange(200_000), np.repeat([0, 1], 100_000), rng.chisquare(3, 200_000), 8)
    passed: list[int] = []
    over = pool.over

    def noted(function):
        found = over(function)
        passed.append(sum(len(p[0][0]) if isinstance(p[0], tuple) else len(p[0]) for p in found))
        return found

    pool.over = noted
    draw_targets(pool, 2000, RecordRandom(stream_key(b"any")))
    assert passed[0] <= 16 * 500
    assert passed[1] < 5000
    assert len(passed) == 2


def frame(n: int = 3000, ties: bool = False) -> pa.Table:
    rng = np.random.default_rng(8)
    x = rng.normal(size=n)
    return pa.table({"a": np.round(x) if ties else x, "b": rng.normal(size=n), "g": rng.integers(0, 4, n)})


@pytest.mark.parametrize("engine", ENGINES, ids=["memory", "duckdb", "pieces"])
@pytest.mark.parametrize("ties", [False, True])
def test_the_outlying_limit_is_the_same_in_passes(engine, ties, monkeypatch):
    data = lv.read(frame(ties=ties), confidential=["a", "b"], sub_groups=["g"], engine=engine)
    from larvatus.data.verbs import map_rows

    squared = map_rows(data, lambda g, b: {"a": b["a"] ** 2}, ["a"])
    held = outlying_limit(squared, "a")
    monkeypatch.setattr(outlying_records, "MOST_HELD", 10)
    assert outlying_limit(squared, "a") == pytest.approx(held, rel=1e-14)
    flat = map_rows(data, lambda g, b: {"a": np.full(len(b), 2.0)}, ["a"])
    assert outlying_limit(flat, "a") == np.inf


def test_a_score_in_passes_agrees(monkeypatch):
    data = lv.read(frame(), confidential=["a", "b"], sub_groups=["g"])
    release = lv.mask(data, "additive_noise(variance=0.1)", secret=b"s" * 32)
    attacks = ["value_disclosure", "nearest_record(targets=400)"]
    held = lv.risk(data, release, attacks)
    monkeypatch.setattr(outlying_records, "MOST_HELD", 10)
    passed = lv.risk(data, release, attacks)
    for one, other in zip(held, passed, strict=True):
        assert one.value == other.value
        for a, b in zip(one.details["outliers"], other.details["outliers"], strict=True):
            assert a.keys() == b.keys()
            assert all(x == (b[k] if isinstance(x, str) else pytest.approx(b[k], rel=1e-12)) for k, x in a.items())
    assert held[0].by_record is not None
    assert passed[0].by_record is None


@pytest.mark.parametrize("engine", ENGINES, ids=["memory", "duckdb", "pieces"])
def test_rows_are_gathered_in_record_order(engine):
    data = lv.read(frame(), confidential=["a", "b"], sub_groups=["g"], engine=engine)

    def largest(group: int, block: Block) -> Block:
        top = np.argsort(-block["a"])[: group + 1]
        return Block(block.record[top], {"twice": 2 * block["a"][top], "size": np.full(len(top), float(len(block)))})

    found = gather_groups(data, largest, ["a"], ["twice", "size"])
    table = frame().to_pandas()
    expected = sorted(i for g, part in table.groupby("g") for i in part["a"].nlargest(g + 1).index)
    assert found.record.tolist() == expected
    assert found["twice"].tolist() == (2 * table["a"][expected]).tolist()
    assert found["size"].tolist() == table.groupby("g")["a"].transform("size")[expected].tolist()
