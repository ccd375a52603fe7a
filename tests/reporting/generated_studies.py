"""Studies made up of scores alone, so that twenty of them take no time; nothing is masked or attacked."""

from __future__ import annotations

import random
from dataclasses import replace

from larvatus.comparison.comparison import Candidate, Comparison
from larvatus.comparison.limits import limits_of
from larvatus.data.score import Rows, Score, Scores
from reporting.conftest import built

ATTACKS = ("nearest_record", "optimal_assignment", "mixed_linkage", "value_disclosure", "interval_disclosure", "uniqueness")
FINDING = ("nearest_record", "optimal_assignment", "mixed_linkage", "uniqueness")
MEASURES = ("moments", "correlation", "rank_correlation", "marginal", "table", "regression_overlap", "inequality")
LIMITS = (None, "public", "scientific", {"nearest_record": 0.02, "moments": 0.1}, {"marginal": 0.2})
SINGLED_OUT = Rows.of([{"column": "all", "singled_out": 0.4}, {"column": "age", "singled_out": 0.4}])


def generated_study(seed: int) -> Comparison:
    """One to twelve releases with random scores, every fifth study without limits; every third singles out records by S."""
    draw = random.Random(seed)
    made = built(draw.choice([1, 2, 3, 4, 6, 9, 12]), groups=draw.choice([1, 5]))
    attacks, measures = draw.sample(ATTACKS, draw.randint(2, 6)), draw.sample(MEASURES, draw.randint(2, 7))
    candidates = tuple(replace(c, scores=_scores(c, attacks, measures, draw, seed % 3 == 0)) for c in made.candidates)
    limits = LIMITS[seed % len(LIMITS)]
    return replace(made, candidates=candidates, **({"limits": limits_of(limits)} if limits else {}))


def _scores(candidate: Candidate, attacks: list[str], measures: list[str], draw: random.Random, alone: bool) -> Scores:
    strength = draw.choice([0.0, 0.0, 0.003, 0.05, 0.4])
    out = []
    for method in attacks:
        base = draw.choice([0.002, 0.012, 0.05])
        value = base + strength * draw.random()
        own = {"singled_out": SINGLED_OUT} if alone and method == "uniqueness" else {}
        out.append(Score(method, "risk", value, "share found", chance=base, interval=(value * 0.9, value * 1.05),
                         identifies=method in FINDING, details=own))
    out += [Score(m, "loss", draw.choice([0.0, 0.01, 0.1, 0.5]) * draw.random(), "change", worst_value=1.0) for m in measures]
    return Scores(out)
