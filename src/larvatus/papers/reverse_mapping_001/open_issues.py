"""A study of reverse mapping (001 §6): risk and loss of Z compared with Y, for every mask, size and shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from larvatus.datasets.shapes import SHAPES, Shape
from larvatus.papers.framework.model import FEWEST_SEEDS, Claim, Evidence, Experiment, Figures, Holds, Paper, Summary, Where
from larvatus.papers.framework.remarks import RARE, at_least
from larvatus.papers.framework.seed_comparison import ERRORS, beyond, by_luck, most, sign_of_difference, varies
from larvatus.papers.reverse_mapping_001.open_issues_experiments import (
    RISKS,
    SAME_FIGURE,
    SIZES,
    STUDY_SCORES,
    followed_if_allowed,
    masks_keeping_order,
    refusals,
    study_masks,
)
from larvatus.reporting.page.blocks import ReportBlock

_Key = tuple[int, str, str]
COLUMNS = ("measure", "higher", "lower", "too few seeds", "largest", "smallest")


def increments(found: Mapping[str, Summary], what: str) -> dict[tuple[int, str, str], Summary]:
    """Z minus Y of one risk or loss, by size, shape and mask."""
    out = {}
    for key, summary in found.items():
        parts = key.split("/")
        if len(parts) == 4 and parts[3] == what:
            out[int(parts[0]), parts[1], parts[2]] = summary
    return out


def report(found: Mapping[str, Summary]) -> Sequence[ReportBlock]:
    """One figure and one table of all measured differences."""
    from larvatus.papers.reverse_mapping_001.open_issues_report import blocks

    return blocks(STUDY_SCORES, {what: increments(found, what) for what in STUDY_SCORES}, refusals())


_WHOLE = 10_000  # up to this many records, all shapes are one experiment


NOTABLE = 0.01  # smallest difference of a risk or loss that counts
UNTOLD = (f"A cell is a mask, a shape and a size. It counts if the difference exceeds {ERRORS:g} standard errors over at "
          f"least {FEWEST_SEEDS} seeds")


def _named(own: Mapping[_Key, Summary], key: _Key) -> str:
    return f"{own[key].mean:+.3f} ({key[2]}, {key[1]}, n = {key[0]:,})"


def _counted(found: Mapping[str, Summary], measures: Iterable[str]) -> tuple[list[Summary], tuple[tuple[str, ...], ...]]:
    """Cells with enough seeds, and for every measure a row that summarises all its cells."""
    said, cells = [], []
    for what in measures:
        own = increments(found, what)
        up = sum(beyond(s, NOTABLE) > 0 for s in own.values())
        down = sum(beyond(s, -NOTABLE) < 0 for s in own.values())
        few = sum(s.seeds < FEWEST_SEEDS for s in own.values())
        low, high = (end(own, key=lambda k: own[k].mean) for end in (min, max))
        said.append((what, f"{up} of {len(own)}", str(down), str(few), _named(own, high), _named(own, low)))
        cells += [s for s in own.values() if s.seeds >= FEWEST_SEEDS]
    return cells, tuple(said)


def _more_than(seen: int, luck: float) -> tuple[bool, str]:
    """Whether chance would seldom give this many cells, and the sentence for it."""
    often = at_least(seen, luck)
    share = f"{often:.1%}" if often >= 0.001 else "less than 0.1%"
    return often < RARE, (f"if cells were independent, chance alone would give about {luck:.1f}, and this many or more "
                          f"{share} of the time (limit {RARE:.0%})")


def _raised(cells: Sequence[Summary]) -> tuple[int, int, str]:
    """Cells with Z notably above Y (0 if chance may explain them), cells with Z clearly not above Y, and the sentence."""
    higher, lower = (sum(beyond(s, NOTABLE) == side for s in cells) for side in (1, -1))
    clear, luck = _more_than(higher, by_luck((s.seeds for s in cells if varies(s)), 1))
    return higher if clear else 0, lower, f"{higher} of {len(cells)} cells are higher; {luck}"


def _risk(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    cells, said = _counted(found, RISKS)
    higher, lower, luck = _raised(cells)
    verdict: Holds = "cannot tell"
    if higher:
        verdict = "holds" if 2 * higher > len(cells) else "holds in part"
    elif cells and lower == len(cells):
        verdict = "does not hold"
    return verdict, Evidence(f"Risk of Z minus risk of Y, if above {NOTABLE:g}. {UNTOLD}. {luck}", COLUMNS, said)


def _marginals(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    left = [most(s) for k, s in found.items() if k.endswith("/marginal/Z")]
    own = increments(found, "marginal")
    low = min(own, key=lambda k: own[k].mean)
    return "holds" if max(left) < SAME_FIGURE else "does not hold", (
        f"Largest marginal loss remaining in Z: {max(left):.1e} in {len(left)} cells. Largest improvement: {_named(own, low)}")


def _relations(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    cells, said = _counted(found, ("correlation", "rank correlation", "joint"))
    higher, lower, luck = _raised(cells)
    verdict: Holds = "cannot tell"
    if higher:
        verdict = "does not hold" if 2 * higher > len(cells) else "holds in part" if lower else "cannot tell"
    elif cells and lower == len(cells):
        verdict = "holds"
    return verdict, Evidence(f"Loss of Z minus loss of Y, if above {NOTABLE:g}. {UNTOLD}. {luck}", COLUMNS, said)


def _differing(pairs: Iterable[tuple[Summary, Summary]]) -> tuple[Holds, str]:
    """Whether figures from different draws differ in more pairs than chance would give; pairs with few seeds are ignored."""
    enough = [(a, b) for a, b in pairs if min(a.seeds, b.seeds) >= FEWEST_SEEDS]
    differ = sum(sign_of_difference(a, b) != 0 and abs(a.mean - b.mean) > SAME_FIGURE for a, b in enough)
    clear, luck = _more_than(differ, by_luck((min(a.seeds, b.seeds) for a, b in enough if varies(a, b)), 2))
    verdict: Holds = "cannot tell"
    if clear:
        verdict = "holds" if 2 * differ > len(enough) else "holds in part"
    return verdict, f"{differ} of {len(enough)}, beyond {ERRORS:g} standard errors; {luck}"


def _size(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    own = increments(found, "linked")
    sizes = sorted({k[0] for k in own})
    enough = [n for n in sizes if all(s.seeds >= FEWEST_SEEDS for k, s in own.items() if k[0] == n)] or sizes
    verdict, counted = _differing(
        (s, own[enough[-1], *k[1:]]) for k, s in own.items() if k[0] == enough[0] and (enough[-1], *k[1:]) in own)
    said = []
    for n in sizes:
        values = [abs(s.mean) for k, s in own.items() if k[0] == n]
        said.append((f"n = {n:,}", f"{sum(values) / len(values):.4f}", f"{max(values):.4f}"))
    return verdict, Evidence(
        f"Masks and shapes for which the change in the share of linked records differs between n = {enough[0]:,} and n = "
        f"{enough[-1]:,}: {counted}. Absolute change, over masks and shapes", ("records", "on average", "at most"), tuple(said))


def _shape(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    measures = ("linked", "value", "marginal", "correlation")
    own = {what: increments(found, what) for what in measures}
    pairs, said = [], []
    for shape in SHAPES:
        parts = []
        for what in measures:
            mine = {k: s for k, s in own[what].items() if k[1] == shape}
            parts.append(f"{sum(s.mean for s in mine.values()) / len(mine):+.3f}")
            first = {k: own[what].get((k[0], SHAPES[0], k[2])) for k in mine if shape != SHAPES[0]}
            pairs += [(mine[k], s) for k, s in first.items() if s is not None]
        said.append((shape, *parts))
    verdict, counted = _differing(pairs)
    return verdict, Evidence(
        f"Masks, sizes and measures for which Z minus Y differs from that of {SHAPES[0]} data: {counted}. Mean of Z minus Y",
        ("shape", *measures), tuple(said))


def _followed(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    """Whether reverse mapping can follow every mask; that larvatus asks before it does so is said, and refutes nothing."""
    can, cannot = ([n for n in masks_keeping_order() if followed_if_allowed(n) is done] for done in (True, False))
    said = (f"larvatus refuses reverse mapping after masks that keep the order of values ({', '.join([*can, *cannot])}), "
            f"because it would nearly return the originals. If that is allowed, it can follow {len(can)} of these "
            f"{len(can) + len(cannot)}")
    return "holds in part" if cannot else "holds", Evidence(said)


def _experiment(n: int, most: int, kinds: tuple[Shape, ...]) -> Experiment:
    name = f"n = {n}" + (f", {kinds[0]}" if len(kinds) == 1 else "")
    return Experiment(name, cast(Callable[[int, Where], Figures], partial(study_masks, n, kinds)), seeds=most, quick=1)


EXPERIMENTS: Sequence[Experiment] = [
    _experiment(n, most, kinds) for n, most in SIZES.items()
    for kinds in ([SHAPES] if n <= _WHOLE else [(s,) for s in SHAPES])  # the largest take minutes, and are split
]
_ALL = tuple(e.name for e in EXPERIMENTS)

PAPER = Paper(
    "001-6", "A study of reverse mapping: risk and loss of Z minus Y, for every mask, by size and shape",
    experiments=tuple(EXPERIMENTS), tables=(), studied=report,
    claims=(
        Claim("Open issue (1), stated as a claim: the size of the data set has an impact.", _size, _ALL, True, place="§6 (1)"),
        Claim("Open issue (2), stated as a claim: the characteristics of the data set have an impact.", _shape, _ALL, True,
              place="§6 (2)"),
        Claim("Open issue (3), stated as a claim: reverse mapping brings incremental disclosure risk.", _risk, _ALL, True,
              place="§6 (3)"),
        Claim("Marginals are those of the original after reverse mapping.", _marginals, _ALL, True, identity=True, place="§3"),
        Claim("Reverse mapping has no meaningful impact on information loss (said of an illustration; here: on relations, for "
              "every mask).", _relations, _ALL, True,
              place="§5 and §6 (4)"),
        Claim("Any masking mechanism that links each masked record to one original record can be followed by reverse mapping.",
              _followed, place="§3"),
    ),
)
