"""What attacks that link records share: who the candidates are, which targets are tried, and the score of their credits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.credits import OUTLYING_SHARE, Credits, collect, distance_from_centre, outlyingness, risk_score
from larvatus.data.intruder import Intruder
from larvatus.data.linkage import remembered
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import codes_in

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HIT, ALONE, EVEN, BY_X, OUT = "success", "s alone", "chance", "x alone", "outlying"


@dataclass(frozen=True, slots=True)
class Sides:
    """One sub-group: records × columns of originals and of released values, S as a code, and which records are targets.

    Names are codes that mean the same on both sides; what is missing is NaN.
    """

    originals: Floats
    y: Floats
    same: Ints
    own: Ints

    @property
    def x(self) -> Floats:
        """Originals of the targets."""
        return self.originals[self.own]

    def without_s(self) -> Sides:
        return replace(self, same=np.zeros_like(self.same))

    @property
    def guess(self) -> Floats:
        """What a guess among the candidates with the same S gives each target."""
        return np.asarray(1.0 / np.bincount(self.same)[self.same[self.own]])


Link = Callable[[Sides], Floats]


def known_columns(
    attack: Attack, original: Microdata, data: Microdata, intruder: Intruder, names_too: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Confidential columns that the attack links by, non-confidential ones that are known, and what is left unused."""
    masked, given = intruder.columns(data.confidential, (*_merged(data, pool_of(data, intruder)), *data.known))
    kinds, theirs = data.table.columns, original.table.columns
    usable = tuple(n for n in masked if kinds[n].kind == theirs[n].kind and (names_too or kinds[n].kind == "number"))
    if not usable:
        what = "confidential column" if names_too else "numeric confidential column"
        raise RiskError(f"{attack.name()}: the intruder knows no {what} of the release. Name one in intruder.known, or leave "
                        "it empty for all.")
    return usable, given, [n for n in masked if n not in usable]


def pool_of(data: Microdata, intruder: Intruder) -> Microdata:
    """Where the intruder looks: the sub-group, or the whole file where its columns are not all known."""
    unknown = [c for c in data.sub_groups.columns if intruder.known and c not in intruder.known]
    return data.ungrouped() if unknown else data


def linked(
    attack: Attack, meaning: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom,
    link: Link, *, targets: int | None = None, names_too: bool = False, notes: Sequence[str] = (),
    trials: tuple[str, Sequence[float]] = ("", (0.0,)),
) -> Score:
    """Run a linkage within every sub-group and score its credits beside chance, S alone and X alone.

    Where several trials are named, the linkage gives a row of credits for each; the most successful one is scored, and the
    details hold what each of them found.
    """
    data = release.data
    masked, given, unused = known_columns(attack, original, data, intruder, names_too)
    pool = pool_of(data, intruder)
    originals = [f"original {n}" for n in masked]
    joined = pool.holding(pool.table.pair(original.table, dict(zip(originals, masked, strict=True))))
    numbers = [o for o, n in zip(originals, masked, strict=True) if data.table.columns[n].kind == "number"]
    centres = outlyingness(joined, numbers)
    joined = remembered(joined, {o: n for o, n in zip(originals, masked, strict=True) if o in numbers}, intruder)
    share = 1.0 if targets is None else min(1.0, targets / max(data.rows, 1))
    recode = [codes_in(data.table.columns[n], original.table.columns[n]) for n in masked]
    hits, by_x = ([f"{kind} {i}" for i in range(len(trials[1]))] for kind in (HIT, BY_X))
    made = [*hits, *by_x, ALONE, EVEN, OUT]

    def run(group: int, block: Block) -> Mapping[str, Array]:
        chosen = np.flatnonzero(random.uniform(block.record, purpose="targets")[0] < share) if share < 1 \
            else np.arange(len(block))
        out = {n: np.full(len(block), np.nan) for n in made}
        out[OUT] = distance_from_centre(*centres[group], block, numbers)
        if not len(chosen):
            return out
        y = np.array([_plain(block[n], code) for n, code in zip(masked, recode, strict=True)]).T
        x = np.array([_plain(block[n], None) for n in originals]).T
        same = same_code([block[n] for n in given], len(block))
        sides = Sides(x, y, same, chosen)
        credit = np.atleast_2d(link(sides))
        for names, values in ((hits, credit), (by_x, np.atleast_2d(link(sides.without_s())) if given else credit)):
            for name, row in zip(names, values, strict=True):
                out[name][chosen] = row
        out[ALONE][chosen], out[EVEN][chosen] = sides.guess, 1.0 / len(block)
        return out

    found = joined.map_groups(run, [*originals, *masked, *given], [Column(n, "number") for n in made])
    back = data.holding(data.table.pair(found.table, {n: n for n in made}))
    error = [f"the intruder's numbers have a relative error of {intruder.error:.3g}"] if intruder.error else []
    error += ["the intruder's own file is not used by this attack"] if intruder.file else []
    said = [*notes, *error, *(f"{n} is not of a kind that links records here and is not used" for n in unused)]
    _, group, values = collect(back, made)
    means = [float(np.nanmean(values[n])) if (~np.isnan(values[n])).any() else np.nan for n in hits]
    best = int(np.argmax(means))
    score = scored(attack, meaning, back, group, {
        HIT: values[hits[best]], BY_X: values[by_x[best]], **{n: values[n] for n in (ALONE, EVEN, OUT)}
    }, said, targets)
    if len(hits) == 1:
        return score
    rows: list[Row] = [{trials[0]: label, "value": mean} for label, mean in zip(trials[1], means, strict=True)]
    return replace(score, details={**score.details, trials[0]: Rows.of(rows)})


def scored(
    attack: Attack, meaning: str, back: Microdata, group: Ints, values: Mapping[str, Floats], notes: Sequence[str],
    targets: int | None = None,
) -> Score:
    """The score of credits per record: success, S alone, chance, X alone, and distance from the centre."""
    tried = ~np.isnan(values[HIT])
    if not tried.any():
        raise RiskError(f"{attack.name()}: targets = {targets} of {back.rows:,} records drew no target. Ask for more.")
    success, s_alone, chance, x_alone = (values[n][tried][:, None] for n in (HIT, ALONE, EVEN, BY_X))
    credits = Credits(group[tried], success, chance, s_alone, x_alone, outlying(values[OUT])[tried])
    sampled = targets is not None and bool((~tried).any())
    said = [f"{int(tried.sum()):,} of {back.rows:,} records were tried as targets"] if sampled else []
    score = risk_score(attack.name(), meaning, attack.settings(), back.groups, (1,), credits, [*notes, *said])
    return replace(score, by_record=values[HIT], sampled=sampled)


def outlying(distance: Floats) -> NDArray[np.bool_]:
    """The tenth of the records furthest from the centre; none where all are equally far."""
    if not len(distance) or float(distance.max()) == float(distance.min()):
        return np.zeros(len(distance), dtype=bool)
    return np.asarray(distance > np.quantile(distance, 1 - OUTLYING_SHARE))


def same_code(columns: Sequence[Array], n: int) -> Ints:
    """One code for each combination of values; missing is a value."""
    code = np.zeros(n, dtype=np.int64)
    for column in columns:
        _, level = np.unique(column, return_inverse=True)
        _, code = np.unique(code * (int(level.max(initial=0)) + 1) + level, return_inverse=True)
    return np.asarray(code, dtype=np.int64)


def _merged(data: Microdata, pool: Microdata) -> tuple[str, ...]:
    """Sub-group columns that differ inside the pool: they leave as they are, so the intruder tells records apart by them."""
    return data.sub_groups.columns[min(len(label) for label in pool.groups.labels):]


def _plain(values: Array, code: Array | None) -> Floats:
    if values.dtype.kind == "f":
        return np.asarray(values, dtype=np.float64)
    codes = values if code is None else code[values]
    return np.where(codes >= 0, codes.astype(np.float64), np.nan)
