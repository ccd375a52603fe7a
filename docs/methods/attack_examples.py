"""One attack on releases by several masks: how much it finds, next to its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from example_data import CATEGORY, DATES, KEYS, NUMBERS, RECORDS, SECRET, people, processor_seconds
from pictures import Bar, draw_release_bars

import larvatus as lv
from larvatus.comparison.excess_risk import baseline
from larvatus.core.errors import LarvatusError
from larvatus.data.contracts import Attack
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release

PLAIN = ("additive_noise(variance=0.1)", "correlated_noise(variance=0.5)", "rank_swap(window=0.1)", "microaggregation(k=5)",
         "rounding(base=10)", "sufficiency_based", "data_shuffling")
SIZES = (10_000, 40_000)
BOUNDED = ("exact_equations", "swap_chain")  # their searches end after a stated amount of work


@dataclass(frozen=True, slots=True)
class Scene:
    """Roles, and the releases that an attack is shown on."""

    roles: tuple[tuple[str, Any], ...]
    releases: tuple[str, ...]


def _scene(releases: tuple[str, ...], **roles: Any) -> Scene:
    usual: dict[str, Any] = {"confidential": tuple(NUMBERS), "non_confidential": ("age",), "sub_groups": ("sex",)}
    return Scene(tuple(sorted((usual | roles).items())), releases)


USUAL = _scene(PLAIN)
# Files that attacks without pairs are shown on: synthetic ones, and two that follow single records closely.
SYNTHETIC = _scene(("normal_model", "data_shuffling", "sequential_trees", "sequential_trees(smallest_leaf=1)",
                    "additive_noise(variance=0.01)", "random_swap(rate=0.05)"), confidential=(*NUMBERS, "cost", "visits"))
KEYS_OF = {"key": tuple(KEYS), "non_confidential": (), "sub_groups": (), "weight": "weight"}
# Attacks on other columns than numbers, or on masks that are not among the usual ones.
SCENES: dict[str, Scene] = {
    "category_disclosure": _scene(("post_randomisation(stay=0.9)", "post_randomisation(stay=0.7)", "random_swap(rate=0.5)"),
                                  confidential=tuple(CATEGORY)),
    "mixed_linkage": _scene(("post_randomisation(stay=0.9) + additive_noise(variance=0.1)",
                             "post_randomisation(stay=0.6) + additive_noise(variance=0.5)",
                             "random_swap(rate=0.8, columns=['illness']) + data_shuffling"),
                            confidential=(*CATEGORY, *NUMBERS)),
    "date_intervals": _scene(("date_shift(days=10)", "date_shift(days=60)", "date_shift(days=365)"), confidential=tuple(DATES)),
    "household_linkage": _scene(PLAIN, household="household"),
    "bayesian_intruder": _scene(("bias_and_noise(bias_sd=0.02, noise_ratio=0.1)", "bias_and_noise",
                                 "additive_noise(variance=0.5)")),
    "swap_chain": _scene(("rank_swap(window=0.3, pairs=true)", "random_swap(rate=1.0, pairs=true)", "rank_swap(window=0.3)",
                          "random_swap(rate=1.0)"), confidential=(*NUMBERS, "cost", "visits")),
    "exact_equations": _scene(("sufficiency_based(insiders=0)", "sufficiency_based(similarity=0.5, insiders=0)",
                               "data_shuffling"), sub_groups=("cell",), non_confidential=()),
    "shared_values": _scene(("additive_noise(variance=1.0)", "random_swap(rate=0.8)", "data_shuffling"),
                            confidential=("revenue",), non_confidential=("firm",), sub_groups=(), nominal=("firm",)),
    "key_risk": _scene(("data_shuffling", "recoding(columns=['age'], cuts=[40, 60], replacement='label') + data_shuffling",
                        "local_suppression(k=5, columns=['age', 'job', 'district']) + data_shuffling"), **KEYS_OF),
    "key_attribution": _scene(("random_swap(rate=0.05)", "random_swap(rate=0.8)", "post_randomisation(stay=0.7)",
                               "sequential_trees"), confidential=tuple(CATEGORY), **KEYS_OF),
    "exact_match": _scene(("random_swap(rate=0.2)", "random_swap(rate=0.8)", "blank_and_impute(rate=0.5)",
                           "additive_noise(variance=0.1)")),
    "group_intersection": _scene(("microaggregation(k=10, grouping='fixed')", "microaggregation(k=30, grouping='fixed')",
                                  "microaggregation(k=10)"), confidential=(*NUMBERS, "cost", "visits")),
    "uniqueness": _scene(("data_shuffling", "local_suppression(k=5, columns=['age', 'job', 'district']) + data_shuffling"),
                         **(KEYS_OF | {"weight": None})),
}


def scene_of(attack: type[Attack]) -> Scene:
    """What an attack is shown on."""
    return SCENES.get(attack.name(), USUAL if attack.paired else SYNTHETIC)


@cache
def released(roles: tuple[tuple[str, Any], ...], steps: str, held_out: bool = False) -> tuple[Microdata, Release]:
    """The people with these roles, and the release by these steps; a fifth is held out for attacks without pairs."""
    data = read_people(roles, held_out=held_out)
    return data, lv.mask(data, steps.split(" + "), secret=SECRET)


def read_people(roles: tuple[tuple[str, Any], ...], n: int = RECORDS, held_out: bool = False) -> Microdata:
    """The first n of the people, with these roles."""
    data = lv.read(people(n), record_id="person", **{k: list(v) if isinstance(v, tuple) else v for k, v in roles})
    return lv.hold_out(data, 0.2, secret=SECRET) if held_out else data


def attack_example(attack: type[Attack]) -> tuple[str, dict[str, Any]]:
    """The picture of an attack as SVG, and its figures."""
    scene = scene_of(attack)
    bars = [_bar(attack, scene, steps) for steps in scene.releases]
    drawn = draw_release_bars(attack.name(), bars, all((b.value or 0) <= 1 for b in bars), "risk", "success of the attack",
                              "chance or S alone" if attack.paired else "records held out")
    figures = [[b.name, b.value, b.baseline, b.remark] for b in bars]
    return drawn, {"releases": figures, "roles": {k: v for k, v in scene.roles if v}}


def _bar(attack: type[Attack], scene: Scene, steps: str) -> Bar:
    try:
        data, release = released(scene.roles, steps, not attack.paired)
        score = lv.risk(data, release, [attack.name()])[0]
    except LarvatusError:
        return Bar(steps, None, remark="does not apply")
    return Bar(steps, round(score.value, 4), round(baseline(score), 4))


def attack_seconds(attack: type[Attack]) -> list[float]:
    """Processor seconds of the attack on two file sizes; none for a search that ends after a stated amount of work."""
    scene = scene_of(attack)
    steps = next(s for s in scene.releases if _bar(attack, scene, s).value is not None)
    if attack.name() in BOUNDED:
        return []
    return [_seconds(attack, read_people(scene.roles, n, not attack.paired), steps) for n in SIZES]


def _seconds(attack: type[Attack], data: Microdata, steps: str) -> float:
    """The shorter of two runs: the first one may compile."""
    release = lv.mask(data, steps.split(" + "), secret=SECRET)
    return round(min(processor_seconds(lambda: lv.risk(data, release, [attack.name()])) for _ in range(2)), 3)
