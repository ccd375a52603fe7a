"""Differential privacy of a release: ε, ρ, the neighbouring relation, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from larvatus.core.number_format import number_at_most

DELTA = 1e-6
NEIGHBOUR_RELATION = (
    "two files that differ in the confidential values of one record; the records, the unmasked columns, the sub-groups, the "
    "pattern of missing values and the sets of categories are the same in both"
)
NOT_COVERED = (
    "the unmasked columns: they are released as they are",
    "which values are missing, and which categories occur",
    "figures of reports, on what analysts lost or attacks found: they are computed from the original file",
    "other records of the same person or household: the figure is for one record",
    "floating-point numbers: the draws have 53 digits, and values are rounded to 44 of them; the figure is for real numbers",
    "the draws come from a keyed generator: whoever has the secret, or breaks it, is not covered",
)


@dataclass(frozen=True, slots=True)
class ColumnPrivacy:
    """What one mechanism states for one column: `epsilon` is infinite for normal noise, `rho` is that of zCDP."""

    column: str
    mechanism: str
    epsilon: float
    rho: float
    normal: bool = False


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """The differential privacy of a release; without columns there is none, and `reason` says why.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["net_assets"])
        >>> lv.certify(data, "additive_noise").privacy.reason
        'additive_noise: the variance of the noise is a fraction of that of the column, so it depends on the data'
        >>> steps = "additive_noise(noise='laplace', scale=200000.0, bounds={net_assets = [0, 1000000]})"
        >>> round(lv.certify(data, steps).privacy.epsilon, 3)
        7.071
    """

    columns: tuple[ColumnPrivacy, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def epsilon(self) -> float:
        """ε over all columns; infinite if noise is normal, or if there is no statement."""
        return math.fsum(c.epsilon for c in self.columns) if self.columns else math.inf

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated differential privacy over all columns."""
        return math.fsum(c.rho for c in self.columns) if self.columns else math.inf

    def epsilon_at(self, delta: float = DELTA) -> float:
        """The smallest proved ε of (ε, δ)."""
        from larvatus.stats.privacy.privacy_losses import epsilon_from_rho, normal_epsilon

        if not self.columns:
            return math.inf
        if all(c.normal for c in self.columns):
            return normal_epsilon(self.rho, delta)
        found = epsilon_from_rho(self.rho, delta) if math.isfinite(self.rho) else math.inf
        return min(self.epsilon, found)

    def sentence(self) -> str:
        """The statement in one sentence."""
        if not self.columns:
            return f"Differential privacy: none ({self.reason})."
        if math.isfinite(self.epsilon):
            return f"Differential privacy: ε = {number_at_most(self.epsilon)} for the confidential values of one record."
        rho, epsilon = number_at_most(self.rho), number_at_most(self.epsilon_at())
        return (f"Differential privacy: ρ = {rho} (zero-concentrated), so ε = {epsilon} at δ = {DELTA:g}, for the confidential "
                "values of one record.")

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can store it; there is no ε if noise is normal."""
        if not self.columns:
            return {"reason": self.reason}
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None, "rho": self.rho, "delta": DELTA,
            "epsilon_at_delta": self.epsilon_at(), "neighbours": NEIGHBOUR_RELATION, "not_covered": list(NOT_COVERED),
            "columns": [{**asdict(c), "epsilon": c.epsilon if math.isfinite(c.epsilon) else None} for c in self.columns],
        }

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> PrivacyStatement:
        """The statement that `plain` gave."""
        columns = tuple(ColumnPrivacy(**{**c, "epsilon": math.inf if c["epsilon"] is None else c["epsilon"]})
                        for c in stored.get("columns", ()))
        return cls(columns, str(stored.get("reason", "")))


NO_STATEMENT = PrivacyStatement(reason="nothing was stated about it")


def joint_statement(statements: Sequence[PrivacyStatement]) -> PrivacyStatement:
    """The statement of several releases of the same records: losses add up. One without a statement leaves none."""
    for one in statements:
        if not one:
            return one
    return PrivacyStatement(tuple(c for s in statements for c in s.columns))
