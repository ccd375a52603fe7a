"""Shared by attacks that link a whole sub-group at once: known and released values as arrays, and the score of the credits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.linkage.agreement import RowAgreement
from larvatus.attacks.linkage.linkage_keys import IN_FILE, TARGET, Keys, keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
from larvatus.attacks.linkage.target_sample import TargetCount
from larvatus.attacks.scoring.credits import (
    CHANCE,
    OUTLYING,
    S_ALONE,
    SUCCESS,
    WIDENED,
    X_ALONE,
    Credits,
    distance_from_centre,
    outlying_tenth,
    outlyingness,
    risk_score,
    with_dependent_targets,
)
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import as_one_group, map_groups, with_table
from larvatus.stats.estimates.jackknife import PARTS, jackknife_variance, widen_interval
from larvatus.stats.estimates.unequal_sampling import hajek_mean

_ALONE, _ALONE_IN_GROUP = 1500, 60  # targets of the baseline X alone in the file, and at least in a sub-group


@dataclass(frozen=True, slots=True)
class LinkedGroup:
    """One sub-group: known and released values (records × columns), what records must agree in (`same`), the targets (`own`).

    Records agree if they have the same S and the same codes of missing values (`RowAgreement`). Categories are codes shared by
    both sides; missing values are NaN. The last `soft` columns are columns of S known with error. `holds` lists the records the
    intruder knows anything about: all, or those in the intruder's own file. `group` and `block` are the sub-group's number and
    all its columns that were read. Without S, for the baseline X alone, `s_known` is false.
    """

    originals: Floats
    y: Floats
    agreement: RowAgreement
    own: Ints
    holds: Ints
    names: tuple[str, ...]
    soft: int = 0
    group: int = 0
    block: Block | None = None
    s_known: bool = True

    @property
    def same(self) -> Ints:
        """A number for the records that may be linked with each other."""
        return self.agreement.both if self.s_known else self.agreement.reasons

    @property
    def x(self) -> Floats:
        """Known values of the targets."""
        return self.originals[self.own]

    def without_s(self) -> LinkedGroup:
        """The same sub-group for an intruder who does not know S."""
        p = self.y.shape[1] - self.soft
        return replace(self, originals=self.originals[:, :p], y=self.y[:, :p], names=self.names[:p], soft=0, s_known=False)

    @property
    def guess(self) -> Floats:
        """The credit of each target for a random guess among the records with the same S."""
        s = self.agreement.s
        return np.asarray(1.0 / np.bincount(s)[s[self.own]])


Link = Callable[[LinkedGroup], Floats]


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The columns by which the records of a sub-group are linked, and the columns left unused."""

    keys: Keys
    masked: tuple[str, ...]
    soft: tuple[str, ...]
    unused: tuple[str, ...]

    @classmethod
    def of(
        cls, attack: Attack, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom,
        targets: TargetCount = None, categorical_too: bool = False, soft_too: bool = True, whole_file: bool = False,
    ) -> GroupKeys:
        keys = keys_of(attack.name(), original, release, intruder, random, targets, whole_file=whole_file)
        masked = (*keys.numbers, *(keys.categorical if categorical_too else ()))
        if not masked:
            raise RiskError("the intruder knows no numeric confidential column of the release. List one in "
                            "intruder.known, or leave intruder.known empty for all.", subject=attack.name())
        soft = tuple(n for n in keys.soft if soft_too and (categorical_too or n not in keys.codes))
        unused = tuple(n for n in (*keys.categorical, *keys.soft) if n not in (*masked, *soft))
        return cls(keys, masked, soft, unused)

    def limited_to(self, names: Sequence[str]) -> GroupKeys:
        """The same keys with only these of the confidential columns."""
        kept = tuple(n for n in self.masked if n in names)
        return replace(self, masked=kept, unused=(*self.unused, *(n for n in self.masked if n not in kept)))

    @property
    def columns(self) -> list[str]:
        return [*self.keys.columns, *([IN_FILE] if self.keys.own_file else [])]

    def sides(self, block: Block) -> LinkedGroup:
        """Known and released values of a whole sub-group."""
        n = len(block)
        names = (*self.masked, *self.soft)
        pairs = [self.keys.both(name, block) for name in names]
        x, y = (np.array([_plain(pair[side]) for pair in pairs]).reshape(len(names), n).T for side in (0, 1))
        holds = np.flatnonzero(block[IN_FILE] == 1) if self.keys.own_file else np.arange(n)
        own = np.flatnonzero(block[TARGET] == 1)
        return LinkedGroup(x, y, RowAgreement.of(self.keys, block), own, holds, names, len(self.soft))

    def measure(self, of: Callable[[LinkedGroup], Floats], times: int = 1) -> Floats:
        """The values of a function of whole sub-groups, `times` for each column × records of the file."""
        made = [scratch("measured", str(i)) for i in range(times * len((*self.masked, *self.soft)))]

        def run(group: int, block: Block) -> Mapping[str, Array]:
            return dict(zip(made, of(self.sides(block)), strict=True))

        found = map_groups(self.keys.joined, run, self.columns, [Column(n, "number") for n in made])
        values = collect(found, made)[2]
        return np.array([values[n] for n in made])


def pool_of(data: Microdata, intruder: Intruder) -> Microdata:
    """The records among which the intruder searches: the sub-group, or the whole file if not all its columns are known."""
    unknown = [c for c in data.sub_groups.columns if intruder.known and c not in intruder.known]
    return as_one_group(data) if unknown else data


def link_groups(
    attack: Attack, meaning: str, original: Microdata, release: Release, intruder: Intruder, by: GroupKeys, link: Link, *,
    notes: Sequence[str] = (), trials: tuple[str, Sequence[object]] = ("", (0.0,)), pick: int | None = None,
    one_guess: bool = False, columns: Sequence[str] = (), left_out: Link | None = None, pairs: bool | None = None,
    shared: float = 1.0,
) -> Score:
    """Run a linkage within every sub-group, and score its credits with the baselines chance, S alone and X alone.

    The linkage returns the credits of the targets, one row for each trial. The most successful trial, or the trial `pick`, is
    scored; the details give the success of each. With k guesses a credit is multiplied by k (at most 1), unless the linkage
    returns trials × guesses × targets itself, or makes only one guess. `columns` are further columns that it reads. If one
    estimate serves all targets, `left_out` returns the credits with the estimate made without each of ten parts of the
    records, parts × targets; the interval is widened by the variance that this adds. `pairs` says that wrong links come in
    pairs (default: if the linkage makes one guess), and `shared` is the variance of the score relative to that of independent
    targets (see `with_dependent_targets`).
    """
    data, keys = release.data, by.keys
    guesses = intruder.guesses or (1,)
    m, t = len(guesses), len(trials[1])
    numbers = list(dict.fromkeys(keys.known_column(n) for n in keys.numbers))
    centres = outlyingness(keys.joined, numbers)
    names = {figure: [f"{figure} {i} {k}" for i in range(t) for k in range(m)] for figure in (SUCCESS, X_ALONE)}
    names |= {figure: [f"{figure} {k}" for k in range(m)] for figure in (S_ALONE, CHANCE)}
    parts = [scratch("without part", str(k)) for k in range(PARTS)] if left_out is not None else []
    made = [*(n for own in names.values() for n in own), *parts, OUTLYING]
    most_alone = max(_ALONE_IN_GROUP, _ALONE // len(keys.joined.groups))

    def run(group: int, block: Block) -> Mapping[str, Array]:
        n = len(block)
        out = {name: np.full(n, np.nan) for name in made}
        out[OUTLYING] = distance_from_centre(*centres[group], block, numbers)
        sides = replace(by.sides(block), group=group, block=block)
        if len(sides.own):
            success = _by_guesses(link(sides), guesses, t, one_guess)
            x_alone = success
            if keys.exact or by.soft:
                some = _spread_evenly(sides.x, most_alone)
                few = _by_guesses(link(replace(sides.without_s(), own=sides.own[some])), guesses, t, one_guess)
                x_alone = np.repeat(_mean_of_linked(few), len(sides.own), axis=2)  # others count as these do on average
                x_alone[:, :, some] = few
            k = np.array(guesses)[:, None]
            s_alone = _s_alone(sides, by, guesses) if by.soft else np.minimum(k * sides.guess, 1.0)
            chance = np.minimum(k / n, 1.0) * np.ones(len(sides.own))
            for figure, credit in ((SUCCESS, success), (X_ALONE, x_alone), (S_ALONE, s_alone), (CHANCE, chance)):
                for name, row in zip(names[figure], credit.reshape(len(names[figure]), -1), strict=True):
                    out[name][sides.own] = row
            for name, row in zip(parts, left_out(sides) if left_out is not None else (), strict=True):
                out[name][sides.own] = row
        return out

    read = list(dict.fromkeys([*by.columns, *numbers, *columns]))
    found = map_groups(keys.joined, run, read, [Column(n, "number") for n in made])
    back = with_table(data, data.table.pair(found.table, {n: n for n in made}))
    every, _, far = collect(back, [OUTLYING])
    record, group, values = collect(back, made, lambda block: ~np.isnan(block[names[SUCCESS][0]]))
    found_credits = {figure: np.array([values[n] for n in own]) for figure, own in names.items()}
    success, x_alone = (found_credits[figure].reshape(t, m, -1) for figure in (SUCCESS, X_ALONE))
    weight = keys.weight_of(record)
    means = [hajek_mean(credit, weight) for credit in success[:, 0]]
    best = int(np.argmax(means)) if pick is None else pick
    credits = Credits(
        group, success[best].T, chance=found_credits[CHANCE].T, s_alone=found_credits[S_ALONE].T, x_alone=x_alone[best].T,
        outlying=outlying_tenth(far[OUTLYING])[np.searchsorted(every, record)], record=record, weight=weight,
    )
    more = [*notes, *(f"{n} is not used: this attack cannot link records by it" for n in by.unused)]
    if one_guess and max(guesses) > 1:
        more.append("this attack makes only one guess, even if the intruder has more")
    if guesses[0] > 1 and not one_guess:
        meaning = f"{meaning}, with {guesses[0]} guesses"
    score = linkage_score(attack.name(), meaning, attack.settings(), original, release, intruder, guesses, credits, keys, more)
    if pairs or (pairs is None and one_guess) or shared > 1:
        targets = credits.effective_targets() * (original.rows / data.rows if "presence" in score.details else 1.0)
        score = with_dependent_targets(score, targets, shared, pairs=one_guess if pairs is None else pairs)
    score = _widened(score, means[best], [hajek_mean(values[n], weight) for n in parts])
    if t == 1:
        return score
    rows: list[Row] = [
        {trials[0]: label if isinstance(label, float | int) else str(label), "value": mean}
        for label, mean in zip(trials[1], means, strict=True)
    ]
    return replace(score, details={**score.details, "published" if trials[0] == "parameters" else trials[0]: Rows.of(rows)})


def _spread_evenly(x: Floats, most: int) -> Ints:
    """At most `most` rows, in order, spread evenly over the rows sorted by value, so that the row order does not matter."""
    if len(x) <= most:
        return np.arange(len(x))
    from larvatus.stats.linkage.paired_points import canonical_order

    places = np.unique(np.linspace(0, len(x) - 1, most).round().astype(np.int64))
    return np.sort(canonical_order(x)[places])


def _mean_of_linked(credit: Floats) -> Floats:
    """The mean credit of each trial and number of guesses over the targets that were linked; 0 if none was."""
    there = ~np.isnan(credit)
    total, count = np.where(there, credit, 0.0).sum(axis=2, keepdims=True), there.sum(axis=2, keepdims=True)
    return np.asarray(total / np.maximum(count, 1))


def _widened(score: Score, value: float, left_out: Sequence[float]) -> Score:
    """The score with the variance of an estimate that all targets share; `value` is that of targets in the file."""
    shared = jackknife_variance(left_out) * (score.value / value) ** 2 if value > 0 else 0.0
    if score.interval is None or shared <= 0:
        return score
    interval = widen_interval(score.value, score.interval, shared)
    return replace(score, interval=interval, notes=(*score.notes, WIDENED))


KNOWN_OR_NOT = ("parameters", ("known", "not known"))


def _by_guesses(credit: Floats, guesses: Sequence[int], trials: int, one_guess: bool) -> Floats:
    """Credits as trials × guesses × targets."""
    if credit.ndim == 3:
        return credit
    rows = credit.reshape(trials, 1, -1)
    return np.asarray(np.repeat(rows, len(guesses), axis=1) if one_guess else
                      np.minimum(rows * np.array(guesses)[None, :, None], 1.0))


def _s_alone(sides: LinkedGroup, by: GroupKeys, guesses: Sequence[int]) -> Floats:
    """The baseline S alone, guesses × targets: link by S known with error, among records that agree in the rest of S."""
    from larvatus.stats.linkage.coordinates import link_nearest as nearest
    from larvatus.stats.linkage.coordinates import name_keys, number_keys, stack_coordinates

    left: list[Floats] = []
    right: list[Floats] = []
    for j, name in enumerate(by.soft, len(by.masked)):
        x, y = sides.originals[:, j], sides.y[:, j]
        codes = tuple(np.where(np.isnan(v), -1, v).astype(np.int64) for v in (x, y)) if name in by.keys.codes else None
        a, b = number_keys(x, y) if codes is None else name_keys(codes[0], codes[1], 2)
        left += a
        right += b
    n = len(sides.y)
    return nearest(stack_coordinates(left, n)[sides.own], stack_coordinates(right, n), sides.own, sides.agreement.s, guesses)


def credits_to_score(
    attack: Attack, meaning: str, back: Microdata, group: Ints, values: Mapping[str, Floats], notes: Sequence[str],
    weight: Floats | None = None, identifies: bool = False,
) -> Score:
    """The score of credits by record, from the columns SUCCESS, S_ALONE, CHANCE, X_ALONE and OUTLYING.

    `weight` has the weights of a sample of targets, in record order; those of other records are not used.
    """
    tried = ~np.isnan(values[SUCCESS])
    if not tried.any():
        way = "" if weight is None else ' Attack more records: targets = "all".'
        raise RiskError(f"no target has a value that can be attacked.{way}", subject=attack.name())
    success, s_alone, chance, x_alone = (values[n][tried][:, None] for n in (SUCCESS, S_ALONE, CHANCE, X_ALONE))
    credits = Credits(group[tried], success, chance, s_alone, x_alone, outlying_tenth(values[OUTLYING])[tried],
                      weight=None if weight is None else weight[tried])
    score = risk_score(attack.name(), meaning, attack.settings(), back.groups, (1,), credits, notes, identifies)
    return replace(score, by_record=values[SUCCESS], sampled=weight is not None)


def _plain(values: Array) -> Floats:
    if values.dtype.kind == "f":
        return np.asarray(values, dtype=np.float64)
    return np.where(values >= 0, values.astype(np.float64), np.nan)
