"""Links under the exact law of the noise, for an intruder who knows all that enters it: X, S and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from larvatus.attacks.linkage.linkage_keys import Keys
from larvatus.attacks.linkage.release_law import NoiseDraws, ReleaseLaw
from larvatus.core.arrays import Floats
from larvatus.data.contracts import Block

if TYPE_CHECKING:
    from larvatus.stats.linkage.noise_match import NoiseMatch


@dataclass(frozen=True, slots=True)
class ExactLaw:
    """The law of a release whose noise is not normal, with the columns of known values in the order of its terms."""

    law: ReleaseLaw
    draws: tuple[NoiseDraws, ...]
    known: tuple[str, ...]

    @classmethod
    def of(cls, law: ReleaseLaw, keys: Keys) -> ExactLaw | None:
        """None if noise is normal, or if the intruder does not know every value that enters the law, without error."""
        if law.normal or law.draws is None or keys.base or keys.soft or set(keys.numbers) != set(law.released):
            return None
        if set(law.released) != set(law.original):
            return None
        on_s = any(on[:, len(law.original) :].any() for on in law.on_both)
        if on_s and not set(law.design.columns) <= set(keys.exact):
            return None
        return cls(law, law.draws, tuple(keys.known_column(n) for n in law.original))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the law reads."""
        return (*self.known, *self.law.released, *self.law.design.columns)

    def match(self, group: int, block: Block) -> NoiseMatch | None:
        """Both sides of a sub-group; None if values are missing or the draws cannot be recovered from the noise.

        If the intruder does not know all original records, released records take their place in the background density.
        """
        from larvatus.stats.linkage.noise_coordinates import unmixing
        from larvatus.stats.linkage.noise_match import CODES, NoiseMatch

        draws, law = self.draws[group], self.law
        y, x = block.matrix(law.released), block.matrix(self.known)
        there = ~np.isnan(x).any(axis=1)
        if np.isnan(y).any() or not there.any() or np.isnan(x[there]).any():
            return None
        moving = np.abs(draws.root).sum(axis=1) > 0
        turned = unmixing(draws.root[moving], y.std(axis=0))
        if turned is None:
            return None
        turn = np.hstack(turned)
        still = turned[1].shape[1]
        codes = [CODES[s] for s, m in zip(draws.shapes, moving, strict=True) if m]

        def expected(values: Floats) -> Floats:
            return (np.hstack([values, law.design.matrix(group, block)]) @ law.on_both[group].T + draws.constant) @ turn

        left, right = expected(np.nan_to_num(x)), y @ turn
        order = [law.released.index(n) for n in law.original]
        return NoiseMatch(
            left, right, np.array([*codes, *[CODES["normal"]] * still], dtype=np.int64),
            np.concatenate([draws.blur[moving], np.zeros(still)]), left if there.all() else expected(y[:, order]),
        )
