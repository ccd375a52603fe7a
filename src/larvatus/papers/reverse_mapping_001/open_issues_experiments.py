"""The experiments of the study of reverse mapping: risk and loss of Y and of Z, for every mask and shape at one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from larvatus.core.discovery import own_names
from larvatus.core.errors import LarvatusError, MaskError
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.datasets.shapes import Shape, shapes
from larvatus.papers.framework.model import Figures, Where
from larvatus.papers.framework.shortcuts import attack_once, column_number, measure_once, secret
from larvatus.pipeline import mask, read

SIZES = {25: 50, 100: 50, 1000: 25, 10_000: 10, 100_000: 3}  # records, and maximum number of seeds
QUICK_MOST = 100
_STEPS: Mapping[str, list[Any]] = {
    "multiple_imputation": [{"method": "multiple_imputation", "copies": 1}],
    "restore_covariance": ["microaggregation", "restore_covariance"],
}
LARGE = {"microaggregation": {"method": "microaggregation", "partition": 1000}}
RISKS: Mapping[str, Any] = {
    "linked": {"method": "nearest_record", "within": 1}, "value": "value_disclosure", "rank": "rank_disclosure",
}
LOSSES: Mapping[str, Any] = {
    "marginal": "marginal", "correlation": "correlation", "rank correlation": "rank_correlation", "joint": "ecdf_max",
}
WHO = {
    "linked": {"intruder": Intruder(known=("x1", "x2"))},  # S alone would identify every record
    "value": {"intruder": Intruder(published="none")},  # a regression: no posterior means from releases made again
}
STUDY_SCORES = (*RISKS, *LOSSES)
LEFT_ALONE = {"reverse_map", "date_shift"}  # there are no dates in these data
SAME_FIGURE = 1e-9


def steps_of(name: str, n: int) -> list[Any]:
    """The steps that represent a mask: its defaults, after a step it needs."""
    steps = _STEPS.get(name, [name])
    return [LARGE.get(s, s) if isinstance(s, str) and n > 10_000 else s for s in steps]


def masks() -> tuple[str, ...]:
    """Every mask except reverse mapping itself, and masks of dates."""
    return tuple(n for n in own_names("larvatus.masks") if n not in LEFT_ALONE)


def open_issue_data(n: int, shape: Shape, seed: int) -> Microdata:
    return read(shapes(n, seed, shape), confidential=["x1", "x2"], non_confidential="s", engine="memory")


@cache
def refusals() -> dict[str, str]:
    """Masks that are not studied, with the reason: they cannot mask numbers, or reverse mapping after them is refused."""
    data = open_issue_data(100, "normal", 0)
    out: dict[str, str] = {}
    for name in masks():
        for more in ([], ["reverse_map"]):
            try:
                mask(data, *steps_of(name, 100), *more, secret=secret(0))
            except MaskError as error:
                out.setdefault(name, str(error).partition(". ")[0])
    return out


def masks_keeping_order() -> list[str]:
    """The masks after which reverse mapping is refused because they keep the order of values."""
    return [name for name, why in refusals().items() if "preserves the order of values" in why]


def followed_if_allowed(name: str) -> bool:
    """Whether reverse mapping can follow a mask that keeps the order of values."""
    try:
        mask(open_issue_data(100, "normal", 0), *steps_of(name, 100), "reverse_map(allow_reversible=true)", secret=secret(0))
    except MaskError:
        return False
    return True


def study_masks(n: int, kinds: Sequence[Shape], seed: int, where: Where) -> Figures:
    """Risk and loss of Y and of Z for every mask, at one size and for these shapes; what cannot be measured is omitted."""
    if where.quick and n > QUICK_MOST:
        return {}
    out: dict[str, float] = {}
    refused = refusals()
    for shape in kinds:
        data = open_issue_data(n, shape, seed)
        for name in masks():
            if name not in refused:
                out |= _both(data, name, n, f"{n}/{shape}/{name}", seed)
    return out


def _both(data: Microdata, name: str, n: int, head: str, seed: int) -> dict[str, float]:
    versions: dict[str, list[Any]] = {"Y": [], "Z": ["reverse_map"]}
    try:
        releases = {v: mask(data, *steps_of(name, n), *more, secret=secret(seed)) for v, more in versions.items()}
    except MaskError:
        return {}
    out: dict[str, float] = {}
    for what in STUDY_SCORES:
        found = {}
        for version, release in releases.items():
            try:
                if what in RISKS:
                    score = attack_once(data, release, RISKS[what], **WHO.get(what, {}))
                else:
                    score = measure_once(data, release, LOSSES[what])
            except LarvatusError:
                break
            found[version] = column_number(score.value)
        if len(found) == len(releases):
            out |= {f"{head}/{what}/{v}": value for v, value in found.items()}
            out[f"{head}/{what}"] = found["Z"] - found["Y"]
    return out
