"""Replace X by a linear model of S and X plus fresh noise (Muralidhar, Parsa and Sarathy 1999, 2001; 000 §3.2).

    Y = β₀ + β₁ S + β₂ X + ε,      Cov(ε) = Σ_X|S − β₂ Σ_X|S β₂ᵀ
    β₁ = (I − β₂) Σ_XS Σ_SS⁻¹,      β₀ = (I − β₂) μ_X − β₁ μ_S

with β₂ the similarity. The moments of (S, Y) equal those of (S, X) in expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.design import Design, design_of
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.linear.leverage import movable_records
from larvatus.masks.linear.models import feasible, fits_of, linear_law, similarity_matrix, unmoved_notes
from larvatus.masks.noise.drawing import column_matrix
from larvatus.masks.noise.last_digits import on_grid, spread_of

if TYPE_CHECKING:
    from larvatus.stats.linear.fit_on_s import FitOnS

_Share = Annotated[float, Field(ge=0, lt=1)]
_Entry = Annotated[float, Field(ge=-1, le=1)]


class LinearModel(Mask):
    """Replace X by draws around its regression on S, with the means and covariances of X and S preserved in expectation.

    Linear relations among X and with S are preserved on average, more closely in larger sub-groups. Distribution shapes and
    non-linear relations are lost. At similarity 0 the values tell an intruder nothing beyond S and the fitted model. A larger
    similarity reveals more of each record's own deviation. The fit of a record that S holds in place (the only one of a
    category, or with an extreme value of S) is its own value, so it is treated like a sub-group that is too small.

    Use it for large files with roughly normal columns, if moments need to hold on average only. Do not use it for skewed
    columns or columns with zeros. For exact moments use `sufficiency_based`.

    Parameters:
        similarity: share of a record's own deviation from its fit on S that Y keeps; one value, a list in role order, by
            column name, or a matrix in nested lists.
        noise: distribution of the independent draws (normal, uniform, laplace, mixture), which are mixed to the covariance.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask, with the model fitted to all records: a condition on columns, a list of record ids, or @FILE
            (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    record_wise: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"similarity", "noise"})
    nemesis: ClassVar[tuple[str, ...]] = ("posterior_match", "optimal_assignment", "value_disclosure", "simulated_release")

    similarity: _Share | tuple[_Share, ...] | tuple[tuple[_Entry, ...], ...] | dict[str, _Share] = Field(
        default=0.0, description="share of a record's own deviation from its fit on S that Y keeps"
    )
    noise: Literal["normal", "uniform", "laplace", "mixture"] = Field(
        default="normal", description="distribution of the independent draws that make the noise"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(similarity=0.5, noise="laplace"), cls(similarity=0.9, scope="file")

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise.laws import standard_noise

        names = current.confidential
        beta = self._beta(names)
        smallest = self.smallest(current)
        split, present = by_missing_pattern(current, names, smallest, self.name())
        data, design, held_notes = movable_records(split, present, self.name(), smallest)
        fits = fits_of(data, present, design)
        betas = [beta[np.ix_(rows, rows)] for rows in ([names.index(n) for n in there] for there in present)]
        weights: list[NDArray[np.float64]] = []
        for g, fit in enumerate(fits):
            _refuse_determined(fit, data, g, design)
            with feasible(self.name(), present[g], data.groups.name(g)):
                weights.append(fit.noise_weights(betas[g]))

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            same = {n: block[n] for n in names}
            if not present[group]:
                return same
            draws = standard_noise(self.noise, random, block.record, len(present[group]))
            x, s = column_matrix(block, present[group]), design.matrix(group, block).T
            y = fits[group].masked(s, x, betas[group], weights[group], draws)
            y = on_grid(y, (spread_of(weights[group]) * fits[group].scale[-len(x) :])[:, None], x)
            return same | dict(zip(present[group], y, strict=True))

        masked = map_rows(data, mask_block, list(dict.fromkeys([*names, *design.columns])))
        fixed = {g: [n for n, moves in zip(present[g], f.free, strict=True) if not moves] for g, f in enumerate(fits)}
        notes = [*unmoved_notes(data, fixed), Note("means and covariances are preserved on average, not exactly")]
        return Masked(masked, [*notes, *omission_notes(current, split, "missing"), *held_notes])

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        return linear_law(original, self._beta(original.confidential), shape=self.noise)

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None and all(v == 0 for v in _entries(self.similarity))

    def public_sentence(self) -> str:
        return (
            "Confidential values were replaced by values from a linear model. On average their means, variances and "
            "correlations, with each other and with the unmasked columns, equal those of the original."
        )

    def _beta(self, names: Sequence[str]) -> NDArray[np.float64]:
        return similarity_matrix("linear_model.similarity", self.similarity, names)


def _refuse_determined(fit: FitOnS, data: Microdata, group: int, design: Design) -> None:
    """Raise an error if S determines every confidential column: the model would return the original values."""
    if fit.varies.any() and not fit.free.any():
        raise MaskError(
            f"linear_model: in sub-group ({data.groups.name(group)}) the {len(design.terms)} non-confidential terms determine "
            f"every confidential column over its {data.groups.sizes[group]} records, so the model would return the original "
            "values. Pool small sub-groups (small = \"pool\"), drop a sub-group column, or leave out a non-confidential column "
            "that determines the confidential ones."
        )


def _entries(similarity: object) -> Iterator[float]:
    """Every number of the setting."""
    if isinstance(similarity, Mapping):
        similarity = tuple(similarity.values())
    if isinstance(similarity, tuple):
        for part in similarity:
            yield from _entries(part)
    elif isinstance(similarity, int | float):
        yield float(similarity)
