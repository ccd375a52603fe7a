"""Forty candidates: two at a time against one, in memory that does not grow with their number, and some of them on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import larvatus as lv
from run import Claim, MemoryClaim

SECRET = b"0123456789abcdef"
NAMES = [f"x{j}" for j in range(5)]


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(rows, 5)) @ rng.normal(size=(5, 5))
    return pa.table({n: z[:, j] for j, n in enumerate(NAMES)})


def candidates(many: int) -> list[dict[str, object]]:
    grid = {"variance": [round(0.05 * (i + 1), 2) for i in range(many)]}
    return [{"name": "noise", "steps": [{"method": "additive_noise", "grid": grid}]}]


LIGHT = (["rank_disclosure"], ["moments"])
USUAL = (
    ["nearest_record", "posterior_match", "rank_window"], ["propensity", "moments", "correlation", "marginal", "ecdf_mean"],
)


def compared(data: lv.Microdata, many: int, jobs: int = 1, scores: tuple[list[str], list[str]] = LIGHT) -> lv.Comparison:
    return lv.compare(data, candidates(many), *scores, secret=SECRET, execution=lv.Execution(jobs=jobs))


def claim_two_at_a_time() -> Claim:
    data = lv.read(table(20_000), confidential=NAMES)
    return Claim(
        "forty candidates of 20,000 × 5, three attacks and five measures, two at a time", lambda: compared(data, 40, 1, USUAL),
        lambda: compared(data, 40, 2, USUAL), 0.8, "the same one at a time", repeats=1,
    )


def claim_memory_forty_candidates() -> MemoryClaim:
    return MemoryClaim(
        "forty candidates of 200,000 × 5, peak memory", 1.5, "five of them",
        """
from pathlib import Path
import larvatus as lv
from claims.comparing import NAMES, compared, table
def told(key):
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1]) * 1024
data = lv.read(table(200_000), confidential=NAMES)
compared(data, 2)
Path("/proc/self/clear_refs").write_text("5")
before = told("VmRSS")
few = compared(data, 5)
INPUT = told("VmHWM") - before
def work():
    return compared(data, 40)
""",
    )


def claim_comparison_on_disk() -> Claim:
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "data.parquet"
    pa.parquet.write_table(table(200_000), file)
    memory, disk = (lv.read(file, confidential=NAMES, engine=e) for e in ("memory", "duckdb"))
    return Claim(
        "eight candidates of 200,000 × 5 on DuckDB", lambda: (folder, compared(memory, 8)), lambda: compared(disk, 8), 25.0,
        "the same in memory", repeats=1,
    )
