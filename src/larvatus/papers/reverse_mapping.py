"""Reverse mapping studied (001 §6): what Z adds to the risk and takes from the loss of Y, for every mask, size and shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from larvatus.datasets.shapes import SHAPES, Shape
from larvatus.papers.comparing import ERRORS, apart, beyond
from larvatus.papers.frame import FEWEST, Claim, Evidence, Experiment, Figures, Holds, Paper, Summary, Where
from larvatus.papers.reverse_mapping_measured import MEASURES, RISKS, SAME, SIZES, refusals, studied
from larvatus.reporting.contents import Block

Key = tuple[int, str, str]
COLUMNS = ("measure", "higher", "lower", "too few seeds", "most", "least")

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


NOTABLE = 0.01  # of a risk or loss, less than which is not spoken of
UNTOLD = (f"A cell is a mask, a shape and a size; it counts where the difference is beyond {ERRORS:g} standard errors, of at "
          f"least {FEWEST} seeds")


def _named(own: Mapping[Key, Summary], key: Key) -> str:
    return f"{own[key].mean:+.3f} ({key[2]}, {key[1]}, n = {key[0]:,})"


def _counted(found: Mapping[str, Summary], measures: Iterable[str]) -> tuple[int, int, tuple[tuple[str, ...], ...]]:
    """Cells in which Z is notably higher than Y, cells in all, and for every measure a row that tells of them."""
    said, higher, cells = [], 0, 0
    for what in measures:
        own = increments(found, what)
        up = sum(beyond(s, NOTABLE) > 0 for s in own.values())
        down = sum(beyond(s, -NOTABLE) < 0 for s in own.values())
        few = sum(s.seeds < FEWEST for s in own.values())
        low, high = (end(own, key=lambda k: own[k].mean) for end in (min, max))
        said.append((what, f"{up} of {len(own)}", str(down), str(few), _named(own, high), _named(own, low)))
        higher, cells = higher + up, cells + len(own) - few
    return higher, cells, tuple(said)


def _risk(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    higher, cells, said = _counted(found, RISKS)
    verdict: Holds = "does not hold" if not higher else "holds" if 2 * higher > cells else "holds in part"
    return verdict, Evidence(f"Risk of Z over that of Y, by more than {NOTABLE:g}. {UNTOLD}", COLUMNS, said)


def _marginals(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    left = [s.high for k, s in found.items() if k.endswith("/marginal/Z")]
    own = increments(found, "marginal")
    low = min(own, key=lambda k: own[k].mean)
    return "holds" if max(left) < SAME else "does not hold", (
        f"Largest loss of a marginal left in Z: {max(left):.1e} in {len(left)} cells. Most was mended: {_named(own, low)}")


def _relations(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    ups, _, said = _counted(found, ("correlation", "rank correlation", "joint"))
    return "holds" if not ups else "holds in part", Evidence(
        f"Loss of Z over that of Y, by more than {NOTABLE:g}. {UNTOLD}", COLUMNS, said)


def _size(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    own = increments(found, "linked")
    sizes = sorted({k[0] for k in own})
    told = [n for n in sizes if all(s.seeds >= FEWEST for k, s in own.items() if k[0] == n)] or sizes
    pairs = [(s, own[told[-1], *k[1:]]) for k, s in own.items() if k[0] == told[0] and (told[-1], *k[1:]) in own]
    differ = sum(apart(a, b) != 0 for a, b in pairs)
    said = []
    for n in sizes:
        values = [abs(s.mean) for k, s in own.items() if k[0] == n]
        said.append((f"n = {n:,}", f"{sum(values) / len(values):.4f}", f"{max(values):.4f}"))
    verdict: Holds = "cannot tell" if not differ else "holds" if 2 * differ > len(pairs) else "holds in part"
    return verdict, Evidence(
        f"Between n = {told[0]:,} and n = {told[-1]:,} the change of the share of records linked differs beyond {ERRORS:g} "
        f"standard errors in {differ} of {len(pairs)} masks and shapes. Absolute change, over masks and shapes",
        ("records", "on average", "at most"), tuple(said))


def _shape(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    measures = ("linked", "value", "marginal", "correlation")
    own = {what: increments(found, what) for what in measures}
    said, differ, cells = [], 0, 0
    for shape in SHAPES:
        parts = []
        for what in measures:
            mine = {k: s for k, s in own[what].items() if k[1] == shape}
            parts.append(f"{sum(s.mean for s in mine.values()) / len(mine):+.3f}")
            held = [apart(s, own[what][k[0], SHAPES[0], k[2]]) for k, s in mine.items() if (k[0], SHAPES[0], k[2]) in own[what]]
            differ += sum(s != 0 for s in held)
            cells += len(held) if shape != SHAPES[0] else 0
        said.append((shape, *parts))
    verdict: Holds = "cannot tell" if not differ else "holds" if 2 * differ > cells else "holds in part"
    return verdict, Evidence(
        f"In {differ} of {cells} masks, sizes and measures Z over Y differs from that of {SHAPES[0]} data beyond {ERRORS:g} "
        "standard errors. Mean of Z over Y", ("shape", *measures), tuple(said))


def _refused(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    alike: dict[str, list[str]] = {}
    for name, why in refusals().items():
        alike.setdefault(why.removeprefix("reverse_map: ").replace(name, "it").removeprefix("it: "), []).append(name)
    return "holds in part", Evidence(f"It is refused after {sum(map(len, alike.values()))} masks", ("masks", ""), tuple(
        (", ".join(names), why) for why, names in alike.items()))


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
        Claim("Marginals are those of the original after reverse mapping.", _marginals, ALL, True, identity=True),
        Claim("Open issue (4): relations lose nothing by reverse mapping.", _relations, ALL, True),
        Claim("Any masking mechanism can be followed by reverse mapping.", _refused),
    ),
)
