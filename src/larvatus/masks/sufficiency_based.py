"""Linear models that keep means and covariances exactly, within each sub-group (Burridge 2003; 000 §3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import Design, design_of
from larvatus.data.law import Law
from larvatus.data.linear import feasible, linear_law, similarity_matrix, unmoved_notes
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.patterns import by_missing_pattern, left_out
from larvatus.masks._sufficiency_large import Draws, Large, masked_large

Share = Annotated[float, Field(ge=0, lt=1)]
Entry = Annotated[float, Field(ge=-1, le=1)]
Outcome = tuple[str, tuple[str, ...]]
HELD = 1 << 16
REFUSED = {
    "reflected": "only the mirror image keeps the moments, and anyone can undo it",
    "forced": "only the original values keep the moments",
}


class SufficiencyBased(Mask):
    """Release Y with exactly the means and covariances of X, among itself and with S, in every sub-group.

    Every linear analysis of the file or of a sub-group gives the original answer to rounding. Shapes are not kept: skewed
    columns come out nearer to normal, with negative values where there were none. At similarity 0 the values tell an
    intruder nothing beyond S and the moments; the larger the similarity, the more of each record's own deviation is seen.

    Parameters:
        similarity: share of a record's own deviation from the fit on S that Y keeps; one value, a list in role order, by
            name, or a matrix in nested lists.
        noise: law of the noise before it is made orthogonal: normal, uniform, laplace, or a mixture of normals.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, or a list of record ids.
        scope: run within each sub-group, or over the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    publishable: ClassVar[frozenset[str]] = frozenset({"similarity", "noise"})

    similarity: Share | tuple[Share, ...] | tuple[tuple[Entry, ...], ...] | dict[str, Share] = Field(
        default=0.0, description="share of a record's own deviation from the fit on S that Y keeps"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="law of the noise before it is made orthogonal"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(similarity=0.5, noise="laplace"), cls(similarity=0.9, scope="file")

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise import standard_noise

        names = current.confidential
        beta = self._beta(names)
        data, present = by_missing_pattern(current, names, self.smallest(current), self.name())
        design = design_of(data, data.non_confidential)

        def draws(record: NDArray[np.int64], lanes: int) -> NDArray[np.float64]:
            return standard_noise(self.noise, random, record, lanes)

        large = [g for g, n in enumerate(data.groups.sizes) if n > HELD and present[g]]
        places = [[names.index(n) for n in there] for there in present]
        betas = [beta[np.ix_(rows, rows)] for rows in places]
        outcomes: dict[int, Outcome] = {}
        masked = data
        if len(large) < len(data.groups):
            masked = _held_whole(data, large, present, betas, design, draws, outcomes)
        if large:
            job = Large(large, {g: present[g] for g in large}, {g: betas[g] for g in large}, design, draws)
            masked, more = masked_large(masked, job)
            outcomes |= more
        return Masked(masked, [*_settled(data, outcomes, present, design), *left_out(current, data, "missing")])

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        return linear_law(original, self._beta(original.confidential))

    def public_sentence(self) -> str:
        return (
            "Confidential values were replaced by values from a linear model, made so that at this step their means, "
            "variances and correlations, with each other and with the columns left as they are, equal those of the original."
        )

    def _beta(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The similarity as a matrix over these columns."""
        return similarity_matrix("sufficiency_based.similarity", self.similarity, names)


def _held_whole(
    data: Microdata, large: Sequence[int], present: Sequence[tuple[str, ...]], betas: Sequence[NDArray[np.float64]],
    design: Design, draws: Draws, outcomes: dict[int, Outcome],
) -> Microdata:
    """The groups that are small enough to be held whole."""
    from larvatus.stats.sufficiency import mask_group

    small = [g for g in range(len(data.groups)) if g not in set(large)]
    part = data.take(lambda g, b: np.full(len(b), g not in large), ()) if large else data
    columns = list(dict.fromkeys([*data.confidential, *design.columns]))

    def mask_block(group: int, block: Block) -> Mapping[str, Array]:
        g = small[group]
        names = present[g]
        same = {n: block[n] for n in data.confidential}
        if not names:
            outcomes[g] = ("nothing", ())
            return same
        x = np.array([block[n] for n in names])
        w = draws(block.record, len(names))
        with feasible("sufficiency_based", names, data.groups.name(g)):
            y, status, free = mask_group(x, design.matrix(g, block).T, w, betas[g])
        outcomes[g] = (status, tuple(n for n, moved in zip(names, free, strict=True) if not moved))
        return same | dict(zip(names, y, strict=True))

    done = part.map_groups(mask_block, columns)
    if not large:
        return done
    held = {f"held {n}": n for n in data.confidential}
    both = data.holding(data.table.pair(done.table, held, partly=True))
    return both.map_rows(
        lambda g, b: {n: b[n] if g in large else b[h] for h, n in held.items()}, [*held, *data.confidential]
    )


def _settled(
    data: Microdata, outcomes: Mapping[int, Outcome], present: Sequence[tuple[str, ...]], design: Design
) -> list[Note]:
    """Refuse groups that only the originals would satisfy; say what became of the others."""
    notes: list[Note] = []
    rotated = [g for g, (status, _) in outcomes.items() if status == "rotated"]
    for g, (status, fixed) in sorted(outcomes.items()):
        if status in REFUSED:
            raise MaskError(
                f"sufficiency_based: sub-group ({data.groups.name(g)}) has {data.groups.sizes[g]} records for "
                f"{len(present[g])} confidential columns given {len(design.terms)} non-confidential terms: "
                f"{REFUSED[status]}. Pool small sub-groups (small = \"pool\"), drop a sub-group column, or leave out a "
                "non-confidential column that determines the confidential ones."
            )
        notes += unmoved_notes(data, {g: fixed})
    exact = sum(status == "exact" for status, _ in outcomes.values())
    notes.append(Note(f"exact in {exact} of {len(outcomes)} sub-groups"))
    if rotated:
        named = "; ".join(data.groups.name(g) for g in rotated[:5]) + (" …" if len(rotated) > 5 else "")
        notes.append(Note(
            f"{len(rotated)} sub-groups are too small to prescribe the similarity; their residuals are rotated at random, "
            f"which keeps every moment: {named}", "status",
        ))
    return notes
