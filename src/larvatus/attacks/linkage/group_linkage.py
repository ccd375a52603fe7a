"""What attacks share that link whole sub-groups at once: both sides as they stand, and the score of the credits won."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.linkage.linkage_keys import IN_FILE, TARGET, Keys, keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
from larvatus.attacks.scoring.credits import Credits, distance_from_centre, outlying_tenth, outlyingness, risk_score
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

HIT, ALONE, EVEN, BY_X, OUT = (scratch(kind) for kind in ("success", "s alone", "chance", "x alone", "outlying"))


@dataclass(frozen=True, slots=True)
class LinkedGroup:
    """One sub-group: records × columns of what is held and of released values, S as a code, and which records are targets.

    Names are codes that mean the same on both sides; what is missing is NaN. The last `soft` columns are S known with
    error. `holds` are the records of which the intruder holds anything: all of them, or those of an own file.
    """

    originals: Floats
    y: Floats
    same: Ints
    own: Ints
    holds: Ints
    names: tuple[str, ...]
    soft: int = 0

    @property
    def x(self) -> Floats:
        """Held values of the targets."""
        return self.originals[self.own]

    def without_s(self) -> LinkedGroup:
        p = self.y.shape[1] - self.soft
        return replace(self, originals=self.originals[:, :p], y=self.y[:, :p], names=self.names[:p], soft=0,
                       same=np.zeros_like(self.same))

    @property
    def guess(self) -> Floats:
        """What a guess among the candidates with the same S gives each target."""
        return np.asarray(1.0 / np.bincount(self.same)[self.same[self.own]])


Link = Callable[[LinkedGroup], Floats]


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The keys by which both sides of a sub-group are read, and what is left unused."""

    keys: Keys
    masked: tuple[str, ...]
    soft: tuple[str, ...]
    unused: tuple[str, ...]

    @classmethod
    def of(
        cls, attack: Attack, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom,
        targets: int | None = None, names_too: bool = False, soft_too: bool = True,
    ) -> GroupKeys:
        keys = keys_of(attack.name(), original, release, intruder, random, targets)
        masked = (*keys.numbers, *(keys.names if names_too else ()))
        if not masked:
            raise RiskError(f"{attack.name()}: the intruder knows no numeric confidential column of the release. Name one in "
                            "intruder.known, or leave it empty for all.")
        soft = tuple(n for n in keys.soft if soft_too and (names_too or n not in keys.codes))
        unused = tuple(n for n in (*keys.names, *keys.soft) if n not in (*masked, *soft))
        return cls(keys, masked, soft, unused)

    @property
    def columns(self) -> list[str]:
        return [*self.keys.columns, *([IN_FILE] if self.keys.own_file else [])]

    def sides(self, block: Block) -> LinkedGroup:
        """Both sides of a whole sub-group."""
        from larvatus.stats.linkage.coordinates import same_rows

        n = len(block)
        names = (*self.masked, *self.soft)
        pairs = [self.keys.both(name, block) for name in names]
        x, y = (np.array([_plain(pair[side]) for pair in pairs]).reshape(len(names), n).T for side in (0, 1))
        same = same_rows([block[c] for c in self.keys.exact], n)
        holds = np.flatnonzero(block[IN_FILE] == 1) if self.keys.own_file else np.arange(n)
        return LinkedGroup(x, y, same, np.flatnonzero(block[TARGET] == 1), holds, names, len(self.soft))

    def measured(self, of: Callable[[LinkedGroup], Floats]) -> Floats:
        """Columns × records of the file: what a function of whole sub-groups says of each record."""
        names = (*self.masked, *self.soft)
        made = [scratch("measured", str(i)) for i in range(len(names))]

        def run(group: int, block: Block) -> Mapping[str, Array]:
            return dict(zip(made, of(self.sides(block)), strict=True))

        found = self.keys.joined.map_groups(run, self.columns, [Column(n, "number") for n in made])
        values = collect(found, made)[2]
        return np.array([values[n] for n in made])


def pool_of(data: Microdata, intruder: Intruder) -> Microdata:
    """Where the intruder looks: the sub-group, or the whole file where its columns are not all known."""
    unknown = [c for c in data.sub_groups.columns if intruder.known and c not in intruder.known]
    return data.ungrouped() if unknown else data


def link_groups(
    attack: Attack, meaning: str, original: Microdata, release: Release, intruder: Intruder, by: GroupKeys, link: Link, *,
    notes: Sequence[str] = (), trials: tuple[str, Sequence[object]] = ("", (0.0,)), pick: int | None = None,
    one_guess: bool = False,
) -> Score:
    """Run a linkage within every sub-group and score its credits beside chance, S alone and X alone.

    The linkage gives credits of targets; where several trials are named, a row for each. The most successful trial is
    scored, or the one to `pick`, and the details hold what each of them found. With more guesses a target has so many times
    the credit, unless the linkage says itself what it finds (trials × guesses × targets) or has but one guess.
    """
    data, keys = release.data, by.keys
    guesses = intruder.guesses or (1,)
    m, t = len(guesses), len(trials[1])
    numbers = list(dict.fromkeys(keys.held(n) for n in keys.numbers))
    centres = outlyingness(keys.joined, numbers)
    made = [scratch(f"{i} {k}", kind) for kind in (HIT, BY_X) for i in range(t) for k in range(m)]
    made += [scratch(str(k), kind) for kind in (ALONE, EVEN) for k in range(m)] + [OUT]

    def run(group: int, block: Block) -> Mapping[str, Array]:
        n = len(block)
        out = np.full((len(made), n), np.nan)
        out[-1] = distance_from_centre(*centres[group], block, numbers)
        sides = by.sides(block)
        if len(sides.own):
            hits = _by_guesses(link(sides), guesses, t, one_guess)
            alone = _by_guesses(link(sides.without_s()), guesses, t, one_guess) if keys.exact or by.soft else hits
            k = np.array(guesses)[:, None]
            s_alone = _s_alone(sides, by, guesses) if by.soft else np.minimum(k * sides.guess, 1.0)
            even = np.minimum(k / n, 1.0) * np.ones(len(sides.own))
            out[:-1, sides.own] = np.vstack([hits.reshape(t * m, -1), alone.reshape(t * m, -1), s_alone, even])
        return dict(zip(made, out, strict=True))

    read = list(dict.fromkeys([*by.columns, *numbers]))
    found = keys.joined.map_groups(run, read, [Column(n, "number") for n in made])
    back = data.holding(data.table.pair(found.table, {n: n for n in made}))
    record, group, values = collect(back, made)
    tried = ~np.isnan(values[made[0]])
    table = np.array([values[n][tried] for n in made[:-1]])
    hits, by_x = table[: t * m].reshape(t, m, -1), table[t * m : 2 * t * m].reshape(t, m, -1)
    means = hits[:, 0].mean(axis=1)
    best = int(np.argmax(means)) if pick is None else pick
    credits = Credits(
        group[tried], hits[best].T, table[2 * t * m + m :].T, table[2 * t * m : 2 * t * m + m].T, by_x[best].T,
        outlying_tenth(values[OUT])[tried], record[tried],
    )
    said = [*notes, *(f"{n} is not of a kind that links records here and is not used" for n in by.unused)]
    if one_guess and max(guesses) > 1:
        said.append("this attack makes one guess, however many the intruder has")
    if guesses[0] > 1 and not one_guess:
        meaning = f"{meaning}, with {guesses[0]} guesses"
    score = linkage_score(attack.name(), meaning, attack.settings(), original, release, intruder, guesses, credits, keys, said)
    if t == 1:
        return score
    rows: list[Row] = [
        {trials[0]: label if isinstance(label, float | int) else str(label), "value": float(mean)}
        for label, mean in zip(trials[1], means, strict=True)
    ]
    return replace(score, details={**score.details, "published" if trials[0] == "parameters" else trials[0]: Rows.of(rows)})


KNOWN_OR_NOT = ("parameters", ("known", "not known"))


def _by_guesses(credit: Floats, guesses: Sequence[int], trials: int, one_guess: bool) -> Floats:
    """Trials × guesses × targets."""
    if credit.ndim == 3:
        return credit
    rows = credit.reshape(trials, 1, -1)
    return np.asarray(np.repeat(rows, len(guesses), axis=1) if one_guess else
                      np.minimum(rows * np.array(guesses)[None, :, None], 1.0))


def _s_alone(sides: LinkedGroup, by: GroupKeys, guesses: Sequence[int]) -> Floats:
    """Guesses × targets: what the nearest records by S known with error give, among those that agree in the rest of S."""
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
    return nearest(stack_coordinates(left, n)[sides.own], stack_coordinates(right, n), sides.own, sides.same, guesses)


def credits_to_score(
    attack: Attack, meaning: str, back: Microdata, group: Ints, values: Mapping[str, Floats], notes: Sequence[str],
    targets: int | None = None,
) -> Score:
    """The score of credits per record: success, S alone, chance, X alone, and distance from the centre."""
    tried = ~np.isnan(values[HIT])
    if not tried.any():
        raise RiskError(f"{attack.name()}: targets = {targets} of {back.rows:,} records drew no target. Ask for more.")
    success, s_alone, chance, x_alone = (values[n][tried][:, None] for n in (HIT, ALONE, EVEN, BY_X))
    credits = Credits(group[tried], success, chance, s_alone, x_alone, outlying_tenth(values[OUT])[tried])
    sampled = targets is not None and bool((~tried).any())
    said = [f"{int(tried.sum()):,} of {back.rows:,} records were tried as targets"] if sampled else []
    score = risk_score(attack.name(), meaning, attack.settings(), back.groups, (1,), credits, [*notes, *said])
    return replace(score, by_record=values[HIT], sampled=sampled)


def _plain(values: Array) -> Floats:
    if values.dtype.kind == "f":
        return np.asarray(values, dtype=np.float64)
    return np.where(values >= 0, values.astype(np.float64), np.nan)
