"""A synthesis by trees of census.csv and survey.csv, made, judged and reported: once as paired releases, once as foreign files.

    LARVATUS_DATA=FOLDER python benchmarks/synthesis_study.py [--only census.csv] [--save]
    python benchmarks/synthesis_study.py --page

The first study holds a fifth of the records out and makes fully synthetic releases by `sequential_trees`, as synthpop does:
`trees` with its defaults (leaves of five, no smoothing), `smoothed` (the same with smoothing), and `overfit` with leaves of one
record. The second study has the CSV files of the first as its releases, not paired with the original, and the same records
held out. Both run the seven attacks that need no pairs, and write a report. `check` judges every foreign file by an access
tier.

`--save` keeps the figures in benchmarks/synthesis_study.json. `--page` writes the table of
docs/guides/is-this-synthetic-file-safe.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import larvatus as lv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from page_tables import PAGE, replace_table, table  # noqa: E402
from run_facts import run_facts  # noqa: E402

RESULTS = HERE / "synthesis_study.json"
SYNTHETIC_PAGE = PAGE.with_name("is-this-synthetic-file-safe.md")
SECRET = b"sixteen bytes or more for benchmarks"
FILES = {"census.csv": (), "survey.csv": ("WEIGHT",)}
RELEASES = {
    "trees": {}, "smoothed": {"smoothing": "density"}, "overfit": {"smallest_leaf": 1, "complexity": 0.0},
}
ATTACKS = ("near_copies", "closest_record", "membership_inference", "singling_out", "linkability", "nearest_inference",
           "key_attribution")
MEASURES = ("marginal", "correlation", "utility_tables")
TESTS = ("near_copies", "closest_record")
SHARE, MOST_LEVELS, ALARM, TIER = 0.2, 40, 0.05, "secure"
RULES = {"census.csv": ["PTOTVAL = PEARNVAL + POTHVAL"]}


def roles(source: Path, left_out: tuple[str, ...]) -> dict[str, Any]:
    frame = pd.read_csv(source).drop(columns=list(left_out))
    return {"confidential": list(frame.columns), "nominal": [c for c in frame if frame[c].nunique() <= MOST_LEVELS]}


def study(source: Path, of_roles: dict[str, Any], holdout: dict[str, Any], releases: list[dict[str, Any]]) -> lv.Study:
    rules = RULES.get(source.name, []) if "steps" in releases[0] else []
    return lv.Study.of({
        "source": str(source), "roles": of_roles, "holdout": holdout, "release": releases,
        **({"constraints": {"rules": rules}} if rules else {}),
        "attack": [{"method": m} for m in ATTACKS], "measure": [{"method": m} for m in MEASURES],
    }, source.parent)


def judged(source: Path, left_out: tuple[str, ...], folder: Path) -> dict[str, lv.Comparison]:
    """Carry out both studies in this folder: the comparisons of the releases as made and as foreign files."""
    of_roles = roles(source, left_out)
    steps = [{"name": n, "steps": [{"method": "sequential_trees", **given}]} for n, given in RELEASES.items()]
    made = lv.run(study(source, of_roles, {"share": SHARE}, steps), folder / "made", secret=SECRET)
    files = [{"name": n, "file": str(folder / "made" / "releases" / f"{n}.csv"), "paired": False} for n in RELEASES]
    held = {"records": str(folder / "made" / "internal" / "holdout.csv")}
    return {"made here": made, "foreign file": lv.run(study(source, of_roles, held, files), folder / "foreign", secret=SECRET)}


def verdict(source: Path, left_out: tuple[str, ...], folder: Path, name: str) -> Any:
    """The judgement of `check` on the foreign file."""
    data = lv.hold_out(lv.read(str(source), **roles(source, left_out)), SHARE, secret=SECRET)
    return lv.check(data, folder / "made" / "releases" / f"{name}.csv", TIER, paired=False)


def figures(score: lv.Score) -> dict[str, Any]:
    """What is kept of a score."""
    low, high = score.interval or (score.value, score.value)
    row: dict[str, Any] = {"attack": score.method, "value": score.value, "baseline": score.s_alone, "low": low, "high": high}
    if score.method in TESTS:
        row["p_value"] = score.details["test"][0]["p_value"]
    if score.method == "membership_inference":
        row["recognised at 1 % false positives"] = score.details["false_positives"][1]["training records recognised"]
    return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()}


def result(name: str, folder: Path) -> dict[str, Any]:
    """All figures of one file: of both studies, and the verdicts."""
    source, left_out = Path(os.environ["LARVATUS_DATA"]) / name, FILES[name]
    found = judged(source, left_out, folder)
    scores = {kind: {c.name: [figures(s) for s in c.scores if s.method in ATTACKS] for c in comparison.candidates}
              for kind, comparison in found.items()}
    losses = {kind: {c.name: {s.method: float(f"{s.value:.5g}") for s in c.scores if s.method in MEASURES}
                     for c in comparison.candidates} for kind, comparison in found.items()}
    verdicts = {}
    for release in RELEASES:
        judgement = verdict(source, left_out, folder, release)
        verdicts[release] = {"meets": judgement.meets_limits, "broken": sorted({str(r["score"]) for r in judgement.broken})}
    return {"file": name, "attacks": scores, "losses": losses, "tier": TIER, "verdicts": verdicts}


def page(results: list[dict[str, Any]]) -> list[str]:
    """One row for each foreign file: p-values of the tests, and values of the other attacks with their baselines."""
    head = ("synthesis", "release", *(f"`{t}`, p" for t in TESTS), "`membership_inference`, and at 1 %",
            *(f"`{a}`" for a in ATTACKS[3:]), f"tier `{TIER}`")
    rows = []
    for result in results:
        for release, scores in result["attacks"]["foreign file"].items():
            of = {s["attack"]: s for s in scores}
            member = of["membership_inference"]
            rows.append((
                f"`{result['file']}`", release, *(f"{of[t]['p_value']:.2g}" for t in TESTS),
                f"{member['value']:.2f}, {member['recognised at 1 % false positives']:.0%}",
                *(f"{of[a]['value']:.3f} ({of[a]['baseline']:.3f})" for a in ATTACKS[3:]),
                "passes" if result["verdicts"][release]["meets"] else "fails",
            ))
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(FILES), help="only this file")
    parser.add_argument("--save", action="store_true", help="keep the figures")
    parser.add_argument("--page", action="store_true", help="write the kept figures into the guide")
    given = parser.parse_args()
    if given.page:
        replace_table(SYNTHETIC_PAGE, page(json.loads(RESULTS.read_text(encoding="utf-8"))["results"]))
        return
    facts, found = run_facts(), []
    for name in [given.only] if given.only else FILES:
        with tempfile.TemporaryDirectory(prefix="larvatus-synthesis-") as folder:
            found.append(result(name, Path(folder)))
    print("\n".join(page(found)))
    if given.save:
        before = json.loads(RESULTS.read_text(encoding="utf-8"))["results"] if RESULTS.exists() else []
        kept = {r["file"]: r for r in [*before, *({**f, **facts} for f in found)]}
        text = json.dumps({"held out": SHARE, "alarm": ALARM, "results": [kept[n] for n in FILES if n in kept]}, indent=1)
        RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
