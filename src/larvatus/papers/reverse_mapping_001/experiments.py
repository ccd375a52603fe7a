"""The experiments for 001: everything that follows from its 25 records, and the same mechanisms with new draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, map_rows, reduce_groups
from larvatus.datasets import reverse_mapping_example
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases, measure_once
from larvatus.pipeline import read

METHODS = ("ADD", "IMP", "MIC", "SWP")
_OWN: Mapping[str, list[Any]] = {
    "ADD": [{"method": "additive_noise", "variance": 0.25}, "reverse_map"],
    "IMP": [{"method": "multiple_imputation", "copies": 1}, "reverse_map"],
    "MIC": [{"method": "microaggregation", "k": 5, "grouping": "fixed"}, "reverse_map"],
    "SWP": [{"method": "rank_swap", "window": 0.2, "tails": "two_sided"}],
}


class _Typed(Mask):
    """Release given values, in the order of record ids from 1."""

    values: tuple[float, ...]

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        values = np.array(self.values)

        def put(group: int, block: Block) -> Mapping[str, Array]:
            return {"X": values[block.record - 1]}

        return Masked(map_rows(current, put, ["X"], [Column("X", "number")]))

    def public_sentence(self) -> str:
        return "Values were given."


def _data() -> Microdata:
    return read(reverse_mapping_example(), confidential="X", non_confidential="S", record_id="ID")


def _named(table: str, name: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{table}/{name}/{r}": float(v) for r, v in zip(rows("001", table), values, strict=True)}


def _values(release: Any) -> list[float]:
    return [float(v) for v in release.frame()["X"].to_pylist()]


def _ranks(data: Microdata, name: str) -> list[float]:
    ranked = add_ranks(data, {"rank": name})
    return [float(v) for v in reduce_groups(ranked, ["rank"], lambda g, b: b["rank"], lambda a, b: np.append(a, b))[0]]


def from_printed_values(seed: int, where: Where) -> dict[str, float]:
    """Everything that follows from the printed values: ranks, Z from Y, variances, correlations and changes in rank."""
    data = _data()
    out = {f"1/{c}/{i}": v for c in ("S", "X") for i, v in enumerate(column("001", "1", c), 1)}
    example = column("001", "1", "Y")
    typed = make_releases(data, {"Y": _Typed(values=tuple(example)), "Z": [_Typed(values=tuple(example)), "reverse_map"]}, seed)
    out |= _named("1", "Y", _values(typed["Y"])) | _named("1", "Z", _values(typed["Z"]))
    out |= _named("1", "rank of S", _ranks(data, "S")) | _named("1", "rank of X", _ranks(data, "X"))
    out |= _named("1", "rank of Y", _ranks(typed["Y"].data, "X"))
    micro = make_releases(data, {"MIC": _OWN["MIC"][:1]}, seed)["MIC"]
    moments = measure_once(data, micro, "moments").by_variable[0]
    out |= _named("text", "variance", [column_number(moments[f"sd_{side}"]) ** 2 for side in ("original", "released")])
    out |= _named("2", "MIC Y", _values(micro))
    for name in ("S", "X", "ADD Y", "IMP Y"):
        out |= _named("2", name, column("001", "2", name))
    for method in METHODS:
        source = "Y" if method in ("ADD", "IMP") else "Z"
        steps: list[Any] = [_Typed(values=tuple(column("001", "2", f"{method} {source}")))]
        release = make_releases(data, {method: steps if source == "Z" else [*steps, "reverse_map"]}, seed)[method]
        out |= _named("2", f"{method} Z", _values(release))
        out |= _scored(data, release, method)
    return out


def _scored(data: Microdata, release: Any, method: str) -> dict[str, float]:
    """Rank correlations with X and with S, and the number of records by change in rank."""
    risk = attack_once(data, release, "rank_disclosure")
    pair = measure_once(data, release, "rank_correlation").by_pair[0]
    changes = risk.details["rank_change"]
    moved = dict(zip(changes.column("to"), changes.column("X"), strict=True))
    out = {f"3/correlation/{method}": risk.value, f"4/correlation/{method}": column_number(pair["released"])}
    out["4/correlation/X"] = column_number(pair["original"])
    for row in rows("001", "5"):
        out[f"5/{method}/{row}"] = column_number(moved.get(int(row.rpartition(" ")[2]), 0))
    return out


def from_own_draws(seed: int, where: Where) -> dict[str, float]:
    """The same four mechanisms, reverse-mapped, with new draws: what another set of random numbers gives."""
    data = _data()
    out: dict[str, float] = {}
    for method, release in make_releases(data, _OWN, seed).items():
        out |= {f"own {k}": v for k, v in _scored(data, release, method).items()}
    loss = {m: abs(out[f"own 4/correlation/{m}"] - out["own 4/correlation/X"]) for m in METHODS}
    risk = {m: out[f"own 3/correlation/{m}"] for m in METHODS}
    for m in METHODS:
        out[f"worst loss/{m}"] = float(loss[m] == max(loss.values()))
        out[f"least risk/{m}"] = float(risk[m] == min(risk.values()))
    return out
