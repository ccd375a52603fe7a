"""Reverse mapping studied (001 §6): what Z adds to the risk and takes from the loss of Y, for every mask, size and shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from larvatus.datasets.shapes import SHAPES, Shape
from larvatus.papers.frame import Claim, Experiment, Figures, Holds, Paper, Summary, Where
from larvatus.papers.reverse_mapping_measured import MEASURES, RISKS, SAME, SIZES, refusals, studied
from larvatus.reporting.contents import Block


def increments(found: Mapping[str, Summary], what: str) -> dict[tuple[int, str, str], Summary]:
    """Z over Y of one risk or loss, by size, shape and mask."""
    out = {}
    for key, summary in found.items():
        parts = key.split("/")
        if len(parts) == 4 and parts[3] == what:
            out[int(parts[0]), parts[1], parts[2]] = summary
    return out


def report(found: Mapping[str, Summary]) -> Sequence[Block]:
    """One figure and one table of everything that was measured."""
    from larvatus.papers.reverse_mapping_report import blocks

    return blocks(MEASURES, {what: increments(found, what) for what in MEASURES}, refusals())


WHOLE = 10_000  # records up to which all shapes are one experiment


def _extreme(found: Mapping[str, Summary], what: str) -> tuple[tuple[int, str, str], float, tuple[int, str, str], float]:
    own = {k: s.mean for k, s in increments(found, what).items()}
    low, high = min(own, key=lambda k: own[k]), max(own, key=lambda k: own[k])
    return low, own[low], high, own[high]


def _named(key: tuple[int, str, str]) -> str:
    return f"{key[2]}, {key[1]}, n = {key[0]:,}"


def _risk(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    said, higher, cells = [], 0, 0
    for what in RISKS:
        own = {k: s.mean for k, s in increments(found, what).items()}
        low, least, high, most = _extreme(found, what)
        more = sum(v > 0.01 for v in own.values())
        higher, cells = higher + more, cells + len(own)
        said.append(f"{what}: higher by more than .01 in {more} of {len(own)} cells, most {most:+.3f} ({_named(high)}), least "
                    f"{least:+.3f} ({_named(low)})")
    verdict: Holds = "does not hold" if not higher else "holds" if 2 * higher > cells else "holds in part"
    return verdict, "Z over Y: " + "; ".join(said)


def _marginals(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    left = [s.high for k, s in found.items() if k.endswith("/marginal/Z")]
    low, least, _, _ = _extreme(found, "marginal")
    return "holds" if max(left) < SAME else "does not hold", (
        f"largest loss of a marginal left in Z: {max(left):.1e} in {len(left)} cells; most was mended in {_named(low)}: "
        f"{least:+.3f}")


def _relations(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    said, ups = [], 0
    for what in ("correlation", "rank correlation", "joint"):
        own = {k: s.mean for k, s in increments(found, what).items()}
        low, least, high, most = _extreme(found, what)
        worse = sum(v > 0.01 for v in own.values())
        ups += worse
        better = sum(v < -0.01 for v in own.values())
        said.append(f"{what}: worse by more than .01 in {worse} of {len(own)} cells, better in {better}; "
                    f"from {least:+.3f} ({_named(low)}) to {most:+.3f} ({_named(high)})")
    return "holds" if not ups else "holds in part", "; ".join(said)


def _size(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    own = increments(found, "linked")
    said = []
    for n in sorted({k[0] for k in own}):
        values = [abs(s.mean) for k, s in own.items() if k[0] == n]
        said.append(f"n = {n:,}: {sum(values) / len(values):.4f} on average, {max(values):.4f} at most")
    return "holds", "absolute change of the share of records linked, over masks and shapes: " + "; ".join(said)


def _shape(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    said = []
    for shape in SHAPES:
        parts = []
        for what in ("linked", "value", "marginal", "correlation"):
            values = [s.mean for k, s in increments(found, what).items() if k[1] == shape]
            parts.append(f"{what} {sum(values) / len(values):+.3f}")
        said.append(f"{shape}: {', '.join(parts)}")
    return "holds", "mean of Z over Y: " + "; ".join(said)


def _refused(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    alike: dict[str, list[str]] = {}
    for name, why in refusals().items():
        alike.setdefault(why.removeprefix("reverse_map: ").replace(name, "it").removeprefix("it: "), []).append(name)
    return "holds in part", "; ".join(f"not after {', '.join(names)}: {why}" for why, names in alike.items())


def _experiment(n: int, most: int, kinds: tuple[Shape, ...]) -> Experiment:
    name = f"n = {n}" + (f", {kinds[0]}" if len(kinds) == 1 else "")
    return Experiment(name, cast(Callable[[int, Where], Figures], partial(studied, n, kinds)), seeds=most, quick=1)


EXPERIMENTS: Sequence[Experiment] = [
    _experiment(n, most, kinds) for n, most in SIZES.items()
    for kinds in ([SHAPES] if n <= WHOLE else [(s,) for s in SHAPES])  # the largest take minutes, and are cut up
]
ALL = tuple(e.name for e in EXPERIMENTS)

PAPER = Paper(
    "001-6", "Reverse mapping studied: risk and loss of Z over Y, for every mask, by size and shape",
    experiments=tuple(EXPERIMENTS), tables=(), studied=report,
    claims=(
        Claim("Open issue (1): the size of the data set has an impact.", _size, ALL, True),
        Claim("Open issue (2): the characteristics of the data set have an impact.", _shape, ALL, True),
        Claim("Open issue (3): reverse mapping brings incremental disclosure risk.", _risk, ALL, True),
        Claim("Marginals are those of the original after reverse mapping.", _marginals, ALL, True),
        Claim("Open issue (4): relations lose nothing by reverse mapping.", _relations, ALL, True),
        Claim("Any masking mechanism can be followed by reverse mapping.", _refused),
    ),
)
