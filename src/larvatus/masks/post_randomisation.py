"""Change the levels of categorical columns at random, with known probabilities (PRAM: Gouweleeuw and others 1998).

    P(y = l | x = k) = p_kl,      p_kk = stay,      p_kl = (1 − stay) / (L − 1)      for the L − 1 other levels

Invariant PRAM uses R = P Q with q_lk = λ_k p_kl / Σ_m λ_m p_ml, so that the level frequencies λ satisfy λ R = λ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.arrays import Matrix
from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.privacy.privacy_loss import ColumnPrivacy
from larvatus.data.verbs import map_rows, reduce_groups
from larvatus.stats.linear.portable_algebra import total

Stay = Annotated[float, Field(ge=0, lt=1)]
_NEVER = 1e-12  # probability that a column stays as it is: then it would be drawn again, which ε does not allow for
_Probability = Annotated[float, Field(ge=0, le=1)]


class PostRandomisation(Mask):
    """Give each record a level drawn with probabilities that depend only on its own level.

    With invariant = true the expected frequencies of each column equal the original ones. Otherwise they move towards equal
    shares, and an analyst who knows the probabilities can correct for that on average. Relations with other columns weaken. An
    intruder never knows whether a level is true, but with a high probability of staying most levels are.

    Use it for confidential categories, if analysts can live with a known share of wrong ones. Do not use it if categories
    follow from other released columns: those give the true one away.

    Parameters:
        stay: probability of keeping the level, before the correction that preserves frequencies; the other levels share the
            rest equally; one value, a list, or by column name.
        invariant: preserve expected frequencies, by a second draw that applies Bayes' rule.
        matrix: transition probabilities by column, instead of stay: one row for each level in order, each adding up to 1.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, among the levels that occur in it, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"stay", "invariant", "matrix"})
    has_privacy: ClassVar[str] = "invariant = false, a matrix without zeros stated for every column"
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_match", "probabilistic_linkage", "attribute_inference", "category_disclosure", "mixed_linkage",
        "simulated_release", "shared_values",
    )

    stay: Stay | tuple[Stay, ...] | dict[str, Stay] = Field(
        default=0.8, description="probability of keeping the level, before the correction that preserves frequencies"
    )
    invariant: bool = Field(default=True, description="preserve expected frequencies by a second draw")
    matrix: dict[str, tuple[tuple[_Probability, ...], ...]] | None = Field(
        default=None, description="transition probabilities by column, instead of stay: one row for each level in order"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(stay=0.6, invariant=False), cls(stay=0.5, scope="file")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise.transitions import draw_codes

        names = current.confidential
        counts = _counts(current, names)
        moves = [self._moves(name, current, [c[j] for c in counts], j) for j, name in enumerate(names)]

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            draws = random.uniform(block.record, len(names), purpose="post-randomisation")
            return {n: draw_codes(block[n], moves[j][group], draws[j]) for j, n in enumerate(names)}

        return Masked(map_rows(current, mask_block, names), _notes(current, names, counts, moves))

    def transitions(self, original: Microdata) -> Mapping[str, Sequence[Matrix]] | None:
        names = original.confidential
        counts = _counts(original, names)
        return {name: self._moves(name, original, [c[j] for c in counts], j) for j, name in enumerate(names)}

    def privacy(self, original: Microdata) -> Sequence[ColumnPrivacy] | str:
        names = original.confidential
        if self.invariant:
            return "invariant = true draws with probabilities that depend on the frequencies in the data"
        if self.where is not None:
            return "it masks some records only"
        unstated = [n for n in names if n not in (self.matrix or {})]
        if unstated:
            return f"no matrix is stated for {unstated[0]}: with stay, levels move to those that occur in the sub-group"
        from larvatus.stats.privacy.privacy_losses import level_epsilon

        out = []
        present = sum(np.array([c.sum() for c in counts]) for counts in _counts(original, names))
        for name, records in zip(names, np.atleast_1d(present), strict=True):
            given = self._given(name, original)
            epsilon = float("inf") if given is None else level_epsilon(given)
            if epsilon == float("inf"):
                return f"in the matrix of {name}, a level is released only for some levels"
            if given is not None and given.diagonal().max() ** float(records) > _NEVER:
                return f"a draw that changes nothing is refused, which is too likely in {name} with {int(records)} records"
            out.append(ColumnPrivacy(name, "levels drawn by a stated matrix", epsilon, epsilon**2 / 2))
        return out

    def public_settings(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        """Settings for the public, without the probabilities if invariant: these differ from the ones that were used."""
        settings = super().public_settings(kinds)
        return {k: v for k, v in settings.items() if k not in ("stay", "matrix")} if self.invariant else settings

    def change_clause(self) -> str:
        weaker = "relations of the changed categories with other columns are weaker than in the collected data"
        if self.invariant:
            return f"frequencies are preserved on average, but {weaker}, and the probabilities used are not published"
        undone = "" if self.where is not None else (
            "; the probabilities are published: on average the shares after this step are the shares before it times the "
            "matrix of probabilities, so the original shares can be estimated by solving this equation"
        )
        return f"frequencies have changed, and {weaker}{undone}"

    def public_sentence(self) -> str:
        kept = ", in a way that keeps the frequencies of each column on average" if self.invariant else ""
        return f"Categories of confidential columns were changed at random with fixed probabilities{kept}."

    def _moves(self, name: str, data: Microdata, counts: Sequence[Array], j: int) -> list[Matrix]:
        """The transition matrix of a column in every sub-group."""
        from larvatus.stats.noise.transitions import invariant, plain_transitions

        stay = per_column("post_randomisation.stay", self.stay, data.confidential)[j]
        given = self._given(name, data)
        out = []
        for c in counts:
            first = given if given is not None else plain_transitions(stay, c > 0)
            out.append(invariant(first, c) if self.invariant else first)
        return out

    def _given(self, name: str, data: Microdata) -> Matrix | None:
        for other in self.matrix or ():
            if other not in data.confidential:
                near = nearest_names(other, data.confidential)
                raise MaskError(f"post_randomisation.matrix: {other!r} is not a column of this step; {near}")
        if not self.matrix or name not in self.matrix:
            return None
        rows, levels = self.matrix[name], len(data.table.columns[name].levels)
        if len(rows) != levels or any(len(r) != levels for r in rows):
            raise MaskError(
                f"post_randomisation.matrix: {name!r} has {levels} levels and needs {levels} rows of {levels} probabilities, "
                "in the order of the levels (sorted, or as roles.ordered states)."
            )
        matrix = np.array(rows, dtype=np.float64)
        worst = float(np.abs(total(matrix, axis=1) - 1).max(initial=0.0))
        if worst > 1e-9:
            raise MaskError(f"post_randomisation.matrix: a row sum for {name!r} is off by {worst:.2g}. Each row must sum to 1.")
        return np.asarray(matrix / total(matrix, axis=1)[:, None])


def _counts(data: Microdata, names: Sequence[str]) -> list[list[NDArray[np.int64]]]:
    """Sub-groups × columns: the count of each level."""
    sizes = [len(data.table.columns[n].levels) for n in names]

    def count(group: int, block: Block) -> list[NDArray[np.int64]]:
        return [np.bincount(block[n][block[n] >= 0], minlength=size) for n, size in zip(names, sizes, strict=True)]

    return reduce_groups(data, names, count, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])


def _notes(
    data: Microdata, names: Sequence[str], counts: Sequence[Sequence[Array]], moves: Sequence[Sequence[Matrix]]
) -> list[Note]:
    """Notes on the probability that a level is true, and on columns that cannot change in a sub-group."""
    notes = []
    for j, name in enumerate(names):
        there = sum(int(c[j].sum()) for c in counts)
        if not there:
            continue
        kept = sum(float(c[j] @ np.diag(m)) for c, m in zip(counts, moves[j], strict=True)) / there
        if kept > 1 - 1e-12:
            raise MaskError(
                f"post_randomisation: no value of {name!r} could change: it has one level, or the matrix keeps every level. "
                "Reduce stay, use scope = \"file\", or leave the column out."
            )
        notes.append(Note(f"a value of {name} stays unchanged with probability {kept:.3f} on average"))
        for g, c in enumerate(counts):
            if c[j].sum() and (np.diag(moves[j][g])[c[j] > 0] >= 1).all():
                said = f"{name} cannot change in sub-group ({data.groups.name(g)}) and is released as it is"
                notes.append(Note(said, "status"))
    return notes
