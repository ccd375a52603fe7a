"""The strongest linkage attack on a release, found without running the slow attacks if a quick one is strong enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import larvatus as lv
from larvatus.core.errors import RiskError
from larvatus.data.contracts import Attack
from larvatus.data.method_parsing import all_of
from larvatus.pipeline.attack_release import risk_of_methods

NOT_LINKED = frozenset({"value_disclosure", "rank_disclosure", "interval_disclosure", "aggregate_disclosure",
                        "attribute_inference", "category_disclosure"})
FIRST = ("optimal_assignment", "posterior_match", "nearest_record", "exact_match", "rank_window", "mixed_linkage")
LAST = ("exact_equations", "probabilistic_linkage", "simulated_release", "rerun", "bayesian_intruder", "swap_chain")


def in_order_of_time(names: Iterable[str]) -> list[str]:
    """Attacks that are quick and usually strong, then the others, then those that take longest."""
    place = {**{name: i - len(FIRST) for i, name in enumerate(FIRST)}, **{name: i + 1 for i, name in enumerate(LAST)}}
    return sorted(names, key=lambda name: (place.get(name, 0), name))


def linked(
    data: lv.Microdata, release: lv.Release, attacks: Iterable[str] | None = None, intruder: lv.Intruder | None = None
) -> Iterator[tuple[str, float]]:
    """The share of records that each linkage attack finds, one attack at a time.

    By default every attack that applies is run with its defaults, as `lv.risk` does. Attacks that are named must apply.
    """
    methods = {m.name(): m for m in all_of(Attack, None if attacks is None else list(attacks)) if m.name() not in NOT_LINKED}
    for name in in_order_of_time(methods):
        method = methods[name]
        try:
            scores = risk_of_methods(data, release, [method], [] if attacks is None else [method], intruder=intruder)
        except RiskError:
            if attacks is not None:
                raise
            continue
        yield from ((s.method, s.value) for s in scores if s.identifies)


def strongest(
    data: lv.Microdata, release: lv.Release, enough: float = math.inf, attacks: Iterable[str] | None = None,
    intruder: lv.Intruder | None = None,
) -> float:
    """The largest share of records that an attack finds.

    No further attack is run once one has reached `enough`, so the result is at least `enough` if and only if that of all
    attacks is.
    """
    best = -math.inf
    for _, value in linked(data, release, attacks, intruder):
        best = max(best, value)
        if best >= enough:
            break
    return best
