"""Find records that the released columns single out: sample uniques, k-anonymity (Samarati 2001) and l-diversity.

    With n(i) the number of released records that agree with target i in every key, the credit is
        1 / n(i)  if the keys of its own record are unchanged,    1 / n_S(i)  otherwise (agreement in S alone).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.attacks.keys.disclosed_differences import disclosed_differences
from larvatus.attacks.keys.dominant_values import dominant_values
from larvatus.attacks.keys.equivalence_classes import diversity, with_class_size
from larvatus.attacks.keys.near_values import chances_of_near_values
from larvatus.attacks.keys.value_agreement import agreement, columns_not_masked, spreads_by_group
from larvatus.attacks.keys.whole_records import whole_records
from larvatus.attacks.linkage.group_linkage import credits_to_score, pool_of
from larvatus.attacks.scoring.credits import (
    CHANCE,
    OUTLYING,
    S_ALONE,
    SUCCESS,
    X_ALONE,
    distance_from_centre,
    outlyingness,
)
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.exposure.remaining_values import remaining_values
from larvatus.data.exposure.singled_out import MISSING_CELLS, SINGLED_OUT, singled_out, singled_out_by_missing
from larvatus.data.exposure.unchanged_records import (
    LEFT_OVER,
    NEAR_ALONE,
    NEAR_PAIR,
    UNCHANGED_RECORDS,
    WHOLE_GROUP,
    nearly_unchanged_records,
    unchanged_households,
    unchanged_in_words,
    unchanged_records,
)
from larvatus.data.households.household_steps import household_variables
from larvatus.data.households.record_units import household_units
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.pooling.sub_group_pools import resolved_columns
from larvatus.data.release import Release
from larvatus.data.roles import Names
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import as_one_group, map_rows, reduce_groups, with_table

Sizes = Annotated[int, Field(ge=2, le=1000)]
BY_KEYS, BY_S, BY_MASKED, BY_RELEASED = (scratch(f"size by {what}") for what in ("keys", "S", "X", "all X"))  # of its class
_UNCHANGED, COINCIDENCE = scratch("unchanged"), scratch(
    "alike")  # all confidential values unchanged; probability by coincidence
_FIGURES = (SUCCESS, S_ALONE, CHANCE, X_ALONE, OUTLYING, _UNCHANGED, COINCIDENCE)


class Uniqueness(Attack):
    """The intruder looks for the one record that agrees exactly with the target in every key variable.

    A record released unchanged is found among the records that agree with it, and shares the credit with them. For a changed
    record the intruder does no better than with S alone. A blanked key counts as a value of its own, which overstates the
    risk rather than understating it. The details count the records in equivalence classes of fewer than k records
    (k-anonymity), and the different values of the columns that are not keys within each class (l-diversity; if all columns
    are keys, of all confidential columns in the classes of S). They also give the share of records that S alone singles out
    with the columns that do it, and the share that missing cells single out in addition. They count the records released with
    all confidential values unchanged, and the records in households of which no member is masked. They name confidential
    columns of which nearly all values are unchanged in a sub-group, a category of S or a tenth of a number of S. Among
    the records that are alone in S, or one of two, they count those with a numeric value so near to the original that chance
    does not explain it: values drawn anew within the sub-group give such a count with a probability of at most 1 %. They name
    giants, values far from all others, that the release shows in whatever record. They count the records released in another
    row with all confidential values together, which also count as found with certainty. If the intruder has other releases,
    they count the records that one of them lacks, or has in another sub-group, and whose values are what the two differ by.

    Look at it to count records that are alone in what is released. It takes the file as the population; for a sample see
    `key_risk`.

    Parameters:
        keys: key variables (default: all known columns).
        k: class sizes; records in smaller classes are counted for each.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the key variables of every target exactly, and that the target is in the file, and considers only "
        "records that agree in all of them."
    )

    keys: Names = Field(default=(), description="key variables (default: all known columns)")
    k: tuple[Sizes, ...] | Sizes = Field(
        default=(2, 3, 5, 10), description="class sizes; records in smaller classes are counted for each"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data, pool = release.data, pool_of(release.data, intruder)
        inside = data.sub_groups.columns[min(resolved_columns(label) for label in pool.groups.labels):]
        first = tuple(n for n in data.confidential if n not in release.internals.original_columns)
        masked, given = intruder.columns(first, (*inside, *data.known))
        known = (*masked, *given, *data.sub_groups.columns)
        for name in self.keys:
            if name not in known:
                raise RiskError(f"{name!r} is not a released column that the intruder knows; "
                                f"{nearest_names(name, known)}", subject="uniqueness.keys")
        masked, given = (tuple(n for n in names if not self.keys or n in self.keys) for names in (masked, given))
        pool = as_one_group(pool) if self.keys and any(c not in self.keys for c in data.sub_groups.columns) else pool
        found = _found(original, pool, masked, given, first, random)
        back = with_table(data, data.table.pair(found.table, {n: n for n in _FIGURES}))
        record, group, values = collect(back, _FIGURES)
        score = credits_to_score(
            self, "share of records singled out by exact agreement in the key variables", back, group, values,
            [*_changed_kinds(original, data, masked), *intruder.fields_without_effect("file", "error", "presence", "guesses")],
            identifies=True,
        )
        rest = [n for n in first if n not in masked]
        classes, other = (BY_KEYS, rest) if rest else (BY_S, list(first))
        tables = {"anonymity": _anonymity(found, (self.k,) if isinstance(self.k, int) else self.k)}
        tables["diversity"] = Rows.of(_diversity(found, classes, name, random) for name in other)
        alone, pair = values[S_ALONE] >= 1, values[S_ALONE] == 0.5
        same, coincidence, groups = values[_UNCHANGED] == 1, values[COINCIDENCE], back.groups
        del found, back, values  # what follows needs room for columns of its own
        kept = unchanged_records(groups, group, same, alone, coincidence)
        chances = chances_of_near_values(original, data, first, alone | pair)
        near = {kind: chances[which[alone | pair]] for kind, which in ((NEAR_ALONE, alone), (NEAR_PAIR, pair)) if which.any()}
        kept = Rows.of([*kept, *nearly_unchanged_records(near, len(alone))])
        households = household_units(original)
        shared = () if households is None else household_variables(original, households, first)
        if households is not None:
            kept = Rows.of([*kept, *unchanged_households(households.of_records(record), same, coincidence,
                                                         set(shared) >= set(first))])
        del record, group, same, coincidence
        covered = [str(row["sub_group"]) for row in kept if row["records"] == WHOLE_GROUP]
        kept = Rows.of([*kept, *columns_not_masked(original, data, first, covered, households, shared),
                        *disclosed_differences(original, release), *dominant_values(original, data, first)])
        moved, whole = whole_records(original, data, first)
        left = remaining_values(original, release, release.internals.other_releases)
        kept = Rows.of([*kept, *moved, *left.rows(LEFT_OVER, len(alone))])
        names = (*pool.sub_groups.columns, *(n for n in given if n not in pool.sub_groups.columns))
        tables[SINGLED_OUT] = singled_out(pool, names)
        gaps = singled_out_by_missing(pool, names, first)
        tables |= {MISSING_CELLS: gaps} if len(gaps) else {}
        tables[UNCHANGED_RECORDS] = kept
        notes = (*(f"WARNING: {said}" for said in unchanged_in_words([kept])), *score.notes)
        return replace(score, certain=max(score.certain or 0.0, whole), details={**score.details, **tables}, notes=notes)


def _found(
    original: Microdata, pool: Microdata, masked: Sequence[str], given: Sequence[str], every: Sequence[str],
    random: RecordRandom,
) -> Microdata:
    """The pool with the credits of every record, the sizes of its classes, and whether all of `every` is unchanged."""
    before = {scratch("original", n): n for n in every}
    sized = with_class_size(pool, [*masked, *given], BY_KEYS, random)
    sized = with_class_size(sized, given, BY_S, random)
    sized = with_class_size(sized, masked, BY_MASKED, random) if given else sized
    by_released = (BY_MASKED if given else BY_KEYS) if set(masked) == set(every) else BY_RELEASED
    sized = with_class_size(sized, every, BY_RELEASED, random) if by_released == BY_RELEASED else sized
    joined = with_table(sized, sized.table.pair(original.table, before))
    numbers = [scratch("original", n) for n in joined.numeric(masked) if original.table.columns[n].kind == "number"]
    centres, sizes = outlyingness(joined, numbers), joined.groups.sizes
    spread = spreads_by_group(original, joined, every)
    agree, unchanged = agreement(original, pool, masked, spread), agreement(original, pool, every, spread, whole=True)
    columns = min(len(every), 2)

    def credit(group: int, block: Block) -> Mapping[str, Array]:
        same, chance = agree(group, block), np.full(len(block), 1.0 / sizes[group])
        s_alone = 1.0 / block[BY_S]
        return {
            SUCCESS: np.where(same, 1.0 / block[BY_KEYS], s_alone), S_ALONE: s_alone, CHANCE: chance,
            X_ALONE: np.where(same, 1.0 / block[BY_MASKED if given else BY_KEYS], chance),
            OUTLYING: distance_from_centre(*centres[group], block, numbers),
            _UNCHANGED: (unchanged(group, block) & bool(every)).astype(np.float64),
            COINCIDENCE: (block[by_released] / sizes[group]) ** columns,
        }

    names = list(dict.fromkeys([*before, *every, BY_KEYS, BY_S, *([BY_MASKED] if given else []), by_released]))
    return map_rows(joined, credit, names, [Column(n, "number") for n in _FIGURES])


def _changed_kinds(original: Microdata, data: Microdata, masked: Sequence[str]) -> list[str]:
    """A note for each column that changed between numeric and categorical."""
    changed = [n for n in masked if original.table.columns[n].kind != data.table.columns[n].kind]
    return [f"{n} has a different type from the original; the intruder is assumed to know how it was changed" for n in changed]


def _anonymity(found: Microdata, sizes: Sequence[int]) -> Rows:
    """Share of records in classes smaller than k, by all keys and by S alone, and the size of the smallest class."""
    def count(group: int, block: Block) -> NDArray[np.int64]:
        return np.array([[int((block[n] < k).sum()) for k in sizes] for n in (BY_KEYS, BY_S)], dtype=np.int64)

    def least(group: int, block: Block) -> NDArray[np.float64]:
        return np.array([block[n].min(initial=np.inf) for n in (BY_KEYS, BY_S)])

    below = np.sum(reduce_groups(found, [BY_KEYS, BY_S], count, np.add), axis=0)
    smallest = np.min(reduce_groups(found, [BY_KEYS, BY_S], least, np.minimum), axis=0)
    return Rows.of(
        {"by": name, "smallest": int(smallest[i]),
         **{f"below {k}": float(below[i, j] / max(found.rows, 1)) for j, k in enumerate(sizes)}}
        for i, name in enumerate(("keys", "S alone"))
    )


def _diversity(found: Microdata, classes: str, name: str, random: RecordRandom) -> Row:
    """Fewest different values of a column in a class, and the shares of records in classes of one value and of two."""
    table = np.sum(diversity(found, classes, name, random), axis=0)
    few = np.flatnonzero(table)
    rows = max(found.rows, 1)
    return {"variable": name, "by": "keys" if classes == BY_KEYS else "S alone", "fewest": int(few[0]) if len(few) else 0,
            "one value": float(table[1] / rows), "two values": float(table[2] / rows)}
