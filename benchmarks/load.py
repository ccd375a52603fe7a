"""Time and memory under load: how both grow with columns, sub-groups, records, levels, candidates and trials of a search.

    python benchmarks/load.py                        all cases, largest sizes as in the table below
    python benchmarks/load.py --case columns --most 500
    python benchmarks/load.py --save                 also write benchmarks/load.json

Each size runs in a process of its own, with one thread, after a small run that loads the code. Times are processor seconds of
the step; memory is what the peak of the process grows by. The growth exponent is the slope of log seconds on log size between
the last two sizes: 1 is linear, 2 is quadratic.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

SECRET = b"sixteen bytes or more, kept for the benchmark"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
RESULTS = Path(__file__).with_name("load.json")
MOST = {"columns": 1_000, "sub-groups": 10_000, "records": 10_000_000, "levels": 100_000, "candidates": 200, "trials": 3_600}
SMALL = {"columns": 8, "sub-groups": 10, "records": 1_000, "levels": 20, "candidates": 2, "trials": 4}
BEGIN, END = "<!-- what benchmarks/load.py printed -->\n", "<!-- until here -->"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
_HALVINGS = 3


class Clock:
    """Processor seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[name] = time.process_time() - start


def scored(clock: Clock, frame: Any, mask: str, attack: str, measure: str, **roles: Any) -> None:
    """Read, mask, attack, measure and write one release."""
    import larvatus as lv

    with clock.step("read"):
        data = lv.read(frame, engine="memory", **roles)
    with clock.step("mask"):
        release = lv.mask(data, mask, secret=SECRET)
    with clock.step("attack"):
        lv.risk(data, release, [attack])
    with clock.step("measure"):
        lv.utility(data, release, [measure])
    with clock.step("write"), tempfile.TemporaryDirectory() as folder:
        release.write(Path(folder) / "out.parquet", pairing=Path(folder) / "pairs.parquet")


def numbers(rows: int, names: list[str]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {name: rng.lognormal(3, 1, rows) for name in names}


def columns(size: int, clock: Clock) -> None:
    """2,000 records; half of the columns are swapped by rank, half are released as they are."""
    import pandas as pd

    names = [f"v{i}" for i in range(size)]
    frame = pd.DataFrame(numbers(2_000, names))
    scored(clock, frame, "rank_swap(window=0.1)", "exact_match", "marginal",
           confidential=names[: size // 2], non_confidential=names[size // 2 :])


def sub_groups(size: int, clock: Clock) -> None:
    """20 records in each sub-group."""
    import pandas as pd

    frame = pd.DataFrame({**numbers(20 * size, ["a", "b", "s"]), "g": np.repeat(np.arange(size), 20)})
    scored(clock, frame, "additive_noise", "exact_match", "moments", confidential=["a", "b"], non_confidential=["s"],
           sub_groups=["g"])


def records(size: int, clock: Clock) -> None:
    """One sub-group."""
    import pandas as pd

    frame = pd.DataFrame({**numbers(size, ["a", "b", "s"]), "g": 1})
    scored(clock, frame, "additive_noise", "exact_match", "moments", confidential=["a", "b"], non_confidential=["s"],
           sub_groups=["g"])


def levels(size: int, clock: Clock) -> None:
    """Two records of each level."""
    import pandas as pd

    codes = np.random.default_rng(2).permutation(np.repeat(np.arange(size), 2))
    frame = pd.DataFrame({**numbers(2 * size, ["a", "s"]), "c": [f"level {i}" for i in codes]})
    scored(clock, frame, "random_swap", "exact_match", "acceptance", confidential=["a", "c"],
           non_confidential=["s"])


def _study(extra: Mapping[str, Any]) -> Any:
    import pandas as pd

    from larvatus.study.study import Study

    folder = Path(tempfile.mkdtemp())
    pd.DataFrame(numbers(200, ["a", "b", "s"])).to_csv(folder / "people.csv", index=False)
    return Study.of({"source": "people.csv", "roles": {"confidential": ["a", "b"], "non_confidential": ["s"]},
                     "attack": [{"method": "exact_match"}], "measure": [{"method": "moments"}], **extra}, folder)


def candidates(size: int, clock: Clock) -> None:
    """200 records, one attack and one measure; with scores, files and report."""
    import larvatus as lv

    study = _study({"release": [{"name": f"r{i}", "steps": [{"method": "additive_noise", "variance": 0.1 + i / 1000}]}
                                for i in range(size)]})
    with clock.step("run"):
        lv.run(study, study.folder / "out", secret=SECRET, execution=lv.Execution(jobs=1))


def trials(size: int, clock: Clock) -> None:
    """A search over 200 records, resumed from nothing."""
    from larvatus.pipeline.run_search import search_study

    study = _study({
        "search": [{"steps": [{"method": "additive_noise", "range": {"variance": [0.1, 0.9]}}]}],
        "limits": {"exact_match": {"at_most": 1.0}},
        "goal": {"trials": size, "finalists": 1, "secrets": 1, "objective": "moments"},
    })
    with clock.step("search"):
        search_study(study, study.folder / "out", secret=SECRET, jobs=1)


CASES: dict[str, Callable[[int, Clock], None]] = {
    "columns": columns, "sub-groups": sub_groups, "records": records, "levels": levels, "candidates": candidates,
    "trials": trials,
}


def peak() -> float:
    """The most memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024


def measured(case: str, size: int) -> dict[str, Any]:
    """Seconds by step and growth of memory, in this process."""
    os.environ["LARVATUS_PROGRESS"] = "off"
    CASES[case](SMALL[case], Clock())
    before, clock = peak(), Clock()
    CASES[case](size, clock)
    return {"size": size, "seconds": clock.seconds, "mb": peak() - before}


def in_child(case: str, size: int) -> dict[str, Any]:
    variables = {**os.environ, **dict.fromkeys(THREADS, "1")}
    ran = subprocess.run([sys.executable, __file__, "--one", case, str(size)], env=variables, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{case} {size}: {ran.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def exponent(rows: list[dict[str, Any]], step: str) -> float:
    """The slope of log seconds on log size between the last two sizes; steps of less than 20 ms are not judged."""
    one, other = rows[-2:]
    if one["seconds"][step] < 0.02:
        return math.nan
    return math.log(other["seconds"][step] / one["seconds"][step]) / math.log(other["size"] / one["size"])


def table(results: Mapping[str, list[dict[str, Any]]]) -> str:
    lines = ["| case | size | step | seconds | exponent | memory at the largest size, and at half of it |",
             "|---|---|---|---|---|---|"]
    for case, rows in results.items():
        for step, seconds in rows[-1]["seconds"].items():
            slope = exponent(rows, step)
            grown = f"{rows[-1]['mb']:.0f} MB, {rows[-2]['mb']:.0f} MB" if step == next(iter(rows[-1]["seconds"])) else ""
            shown = "" if math.isnan(slope) else f"{slope:.2f}"
            lines.append(f"| {case} | {rows[-1]['size']:,} | {step} | {seconds:.2f} | {shown} | {grown} |")
    return "\n".join(lines)


def on_page(page: str, text: str) -> str:
    """The page with this table where the earlier one was."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + "\n" + END + rest.split(END, 1)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--most", type=int, help="the largest size (default: as listed in MOST)")
    parser.add_argument("--save", action="store_true", help="write benchmarks/load.json")
    parser.add_argument("--page", action="store_true", help="write the table of benchmarks/load.json into docs/reliability.md")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.one[0], int(asked.one[1]))))
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if (asked.save or asked.page) and RESULTS.exists() else {}
    for case in asked.case or (CASES if asked.save or not asked.page else ()):
        most = asked.most or MOST[case]
        results[case] = [in_child(case, most // 2**i) for i in range(_HALVINGS, -1, -1)]
        print(table({case: results[case]}), flush=True)
        if asked.save:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if asked.page:
        text = table({case: results[case] for case in CASES if case in results})
        PAGE.write_text(on_page(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
