"""Reports of few and many releases, sub-groups and columns, written into a folder to be looked at."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.limits import limits_of
from larvatus.comparison.plain_names import PLAIN
from larvatus.data.score import Rows, Score, Scores
from reporting.conftest import built
from reporting.pictured import pictured

SHAPES = {
    f"{releases}-releases-{groups}-sub-groups-{columns}-columns": (releases, groups, columns)
    for releases in (3, 60) for groups in (1, 300) for columns in (2, 40)
}


LONG_NAMES = {
    0: "Additive noise with a quarter of the variance of every column in each region, positive values kept positive",
    1: "noise_with_one_very_long_name_without_any_space_in_it_at_all_and_then_more", 2: "Зашумлённые доходы, дисперсия 1",
    3: "数据洗牌之后加入噪声", 4: "بيانات مخلوطة", 5: "हिन्दी नाम वाला रिलीज़",
}


def broken_limits() -> Comparison:
    """Six releases with long names, and names in other alphabets, of which each breaks a limit."""
    return replace(shaped(6, 6, 3, LONG_NAMES), limits=limits_of({"nearest_record": 0.05, "moments": 0.001}))


def found_by_unmasked_columns() -> Comparison:
    """Three releases in which the unmasked columns alone identify every record."""
    rows = Rows.of([{"column": "all", "singled_out": 1.0}, {"column": "weight", "singled_out": 1.0}])
    alone = Score("uniqueness", "risk", 1.0, chance=0.01, s_alone=1.0, identifies=True, interval=(0.99, 1.0),
                  details={"singled_out": rows})
    made = shaped(3, 6, 3)
    return replace(made, candidates=tuple(replace(c, scores=Scores([*c.scores, alone])) for c in made.candidates))


def with_every_method(releases: int) -> Comparison:
    """Releases with every attack and every measure, all by sub-group; every third release passes the rule."""
    made, draw = shaped(releases, 20, 5), random.Random(3)
    risk_groups, loss_groups = (getattr(made.candidates[0].scores, m).by_group for m in ("nearest_record", "moments"))
    candidates = []
    for i, candidate in enumerate(made.candidates):
        scores = []
        for method, plain in PLAIN.items():
            base, lost = draw.choice([0.002, 0.01, 0.05]), 0.5 * draw.random() ** 2
            value = base if i % 3 == 0 else base + 0.3 * draw.random() ** 3
            scores.append(
                Score(method, "loss", lost, worst_value=1.0, by_group=loss_groups) if plain.looks_at else
                Score(method, "risk", value, chance=base, interval=(0.9 * value, 1.1 * value), by_group=risk_groups))
        candidates.append(replace(candidate, scores=Scores(scores)))
    return replace(made, candidates=tuple(candidates))


def shaped(releases: int, groups: int, columns: int, names: Mapping[int, str] | None = None) -> Comparison:
    """Scores of both kinds of tests together, so that nothing a report can hold is left out."""
    plain = built(releases, groups, columns, names=names)
    drawn = pictured(plain).candidates
    return replace(plain, candidates=tuple(
        replace(a, scores=Scores([*a.scores, *(s for s in b.scores if s.method not in {x.method for x in a.scores})]))
        for a, b in zip(plain.candidates, drawn, strict=True)
    ))


def main(folder: Path) -> None:
    """Every shape as a report of both editions."""
    special = {"one-release": shaped(1, 6, 3), "forty-releases": shaped(40, 4, 3), "broken-limits": broken_limits(),
               "found-by-unmasked-columns": found_by_unmasked_columns(), "every-method": with_every_method(6)}
    for name, made in (special | {name: shaped(*shape) for name, shape in SHAPES.items()}).items():
        made.report(folder / f"{name}.html", overwrite=True)
        made.report(folder / f"{name}-public.html", "public", True, made.candidates[0].name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
