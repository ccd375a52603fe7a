"""Time of key risk against one GROUP BY over the same keys.

    python benchmarks/key_risk_speed.py [--rows 10000000] [--records 1000000] [--repeats 3] [--save]

The file has six keys: age, sex, region, occupation, education and marital status, skewed and dependent. The counts of all
combinations are made by larvatus (`key_table`, engine duckdb) and by one query of DuckDB, `SELECT …, count(*) … GROUP BY ALL`,
over the same rows in a DuckDB file. The individual risk of every record is made from the counts, for a smaller file, and is
compared with the same query over the same rows. The target of the first ratio is 3, that of the second is 2. Times are
processor time of all threads, which other work on the machine changes less than time on the clock; the ratio is the median over
alternating repeats. `--save` keeps the results in benchmarks/key_risk_speed.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import larvatus as lv
from larvatus.attacks.keys.key_population import class_totals, population_of
from larvatus.attacks.keys.key_table import key_table, record_figures
from larvatus.stats.key_risk.individual_risk import individual_risk

HERE = Path(__file__).parent
KEYS = ("age", "sex", "region", "job", "education", "marital")
LEVELS = (80, 2, 16, 40, 6, 5)
PIECE = 1_000_000


def write_file(path: Path, rows: int) -> None:
    """Keys with skewed levels, a weight and a confidential column, in pieces."""
    rng = np.random.default_rng(1)
    writer = None
    for first in range(0, rows, PIECE):
        n = min(PIECE, rows - first)
        common = rng.random(n)
        columns: dict[str, Any] = {}
        for name, levels in zip(KEYS, LEVELS, strict=True):
            place = np.minimum((0.7 * rng.random(n) + 0.3 * common) ** 1.5 * levels, levels - 1).astype(np.int32)
            columns[name] = pa.array(place) if name == "age" else pa.DictionaryArray.from_arrays(
                pa.array(place), [f"{name} {i:02d}" for i in range(levels)])
        columns["weight"] = rng.uniform(5, 20, n).round(1)
        columns["income"] = rng.normal(size=n)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Processor time and time on the clock."""
    began, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - began, time.perf_counter() - clock


def compare(ours: Callable[[], object], query: Callable[[], object], repeats: int) -> dict[str, float]:
    """Medians over alternating repeats, after one run of each."""
    ours(), query()
    pairs = [(seconds(query), seconds(ours)) for _ in range(repeats)]
    return {
        "group_by_s": round(statistics.median(q[0] for q, _ in pairs), 3),
        "larvatus_s": round(statistics.median(o[0] for _, o in pairs), 3),
        "ratio": round(statistics.median(o[0] / q[0] for q, o in pairs), 2),
        "ratio_on_the_clock": round(statistics.median(o[1] / q[1] for q, o in pairs), 2),
    }


def one_file(folder: Path, rows: int, repeats: int, with_risk: bool) -> dict[str, Any]:
    """The ratio for one file: counts of combinations, and the risk of every record if asked for."""
    path = folder / f"{rows}.parquet"
    write_file(path, rows)
    data = lv.read(path, confidential=["income"], key=KEYS, weight="weight", engine="duckdb")
    connection = duckdb.connect(str(folder / f"{rows}.duckdb"))
    names = ", ".join(KEYS)
    connection.execute(f"CREATE TABLE people AS SELECT {names}, weight FROM '{path}'")
    population = population_of(data, data.rows, None)

    def query() -> object:
        return connection.sql(f"SELECT {names}, count(*), sum(weight) FROM people GROUP BY ALL").to_arrow_table()

    def counts() -> object:
        return key_table(data, KEYS, population.weight)

    def risks() -> object:
        table = key_table(data, KEYS, population.weight)
        size, weight = class_totals(table, "value")
        return record_figures(data, table, individual_risk(size, population.share(size, weight)))

    found = compare(risks if with_risk else counts, query, repeats)
    table = key_table(data, KEYS, population.weight)
    same = len(table.count) == len(query()) and int(table.count.sum()) == rows  # type: ignore[arg-type]
    connection.close()
    return {"rows": rows, "keys": len(KEYS), "combinations": len(table.count), **found, "same_counts": bool(same)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="keep the results in benchmarks/key_risk_speed.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        results = {
            "python": platform.python_version(), "numpy": np.__version__, "duckdb": duckdb.__version__,
            "individual_risk": one_file(folder, asked.records, asked.repeats, with_risk=True),
            "counts": one_file(folder, asked.rows, asked.repeats, with_risk=False),
        }
    print(json.dumps(results, indent=1))
    if asked.save:
        (HERE / "key_risk_speed.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
