"""What one release tells about who is who, as its internal manifest records it for budgets.

It has no value of a record. Covariances are in units of the standard deviations of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.data.privacy.privacy_loss import NO_STATEMENT, PrivacyStatement


@dataclass(frozen=True, slots=True)
class GroupInformation:
    """A sub-group: the covariance of X among records with the same S, and the precision of the released values.

    `sizes` has pairs: a number of candidates, and how many records have that many.
    """

    name: str
    records: int
    covariance: tuple[tuple[float, ...], ...]
    precision: tuple[tuple[float, ...], ...]
    sizes: tuple[tuple[int, int], ...] = ()

    def matrices(self) -> tuple[Matrix, Matrix]:
        return np.array(self.covariance), np.array(self.precision)


@dataclass(frozen=True, slots=True)
class LinearInformation:
    """Columns with linear noise, by sub-group; nats of the distribution of the noise, and of all other columns.

    `proved` is false if the noise of different records is not independent: then the figures are a forecast.
    """

    columns: tuple[str, ...]
    groups: tuple[GroupInformation, ...]
    excess: float = 0.0
    rest: float = 0.0
    proved: bool = True


@dataclass(frozen=True, slots=True)
class ReleaseInformation:
    """A bound on the information of one release, per record and in nats.

    `most` is what the pairing of all records takes, `slack` what knowing single rows adds to it, `chance` the share that a
    random guess among records with the same S links.
    """

    records: int
    nats: float
    most: float
    slack: float
    chance: float
    proof: str
    reasons: tuple[str, ...] = ()
    linear: LinearInformation | None = None

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can store it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> ReleaseInformation:
        linear = stored.get("linear")
        if linear is not None:
            groups = tuple(GroupInformation(**{n: _frozen(v) for n, v in g.items()}) for g in linear["groups"])
            linear = LinearInformation(**{**linear, "columns": tuple(linear["columns"]), "groups": groups})
        return cls(**{**stored, "reasons": tuple(stored["reasons"]), "linear": linear})


@dataclass(frozen=True, slots=True)
class SourceMarks:
    """Keyed fingerprints by which releases of the same source are recognised; without the key they tell nothing.

    `source` is of the name that the keeper gave the source, `units` of declared record ids or persons, `columns` of the values
    of each column, `cells` and `groups` of who shares a cell of equal S and who a sub-group. `draws` is of what the random
    draws of a step depend on: the secret, the roles and the confidential values; `given` is of the values of S.
    """

    source: str = ""
    units: str = ""
    cells: str = ""
    groups: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    draws: str = ""
    given: str = ""

    def may_share_noise(self, other: SourceMarks) -> bool:
        """Whether both may have the same draws at another scale: then one undoes the other.

        The scale differs if S differs, or if a further step made one release pool or suppress small sub-groups.
        """
        return _equal(self.draws, other.draws) and (self.given, self.groups) != (other.given, other.groups)

    def same_source(self, other: SourceMarks) -> bool:
        """Whether both are releases of the same source: by name, by persons, or because they share a column of values."""
        return self.same_records(other) or _equal(self.source, other.source)

    def same_records(self, other: SourceMarks) -> bool:
        """Whether both are of the same records: they share a column of values, or all persons."""
        return bool(set(self.columns.values()) & set(other.columns.values())) or _equal(self.units, other.units)


@dataclass(frozen=True, slots=True)
class BudgetEntry:
    """What a manifest records for budgets: the information of the release, its marks, and hashes of its files."""

    name: str
    information: ReleaseInformation
    marks: SourceMarks
    files: tuple[str, ...] = ()
    privacy: PrivacyStatement = NO_STATEMENT

    def telling_everything(self, proof: str, why: str) -> BudgetEntry:
        """The entry of a release that counts as if it told which row is whose."""
        told = self.information
        return replace(self, information=replace(told, nats=told.most, proof=proof, reasons=(why,), linear=None))

    def plain(self) -> dict[str, Any]:
        """Everything but the name and the files, which the manifest has anyway."""
        return {"format": 1, "marks": asdict(self.marks), "information": self.information.plain()}

    @classmethod
    def from_plain(
        cls, name: str, stored: Mapping[str, Any], files: tuple[str, ...] = (),
        privacy: PrivacyStatement = NO_STATEMENT,
    ) -> BudgetEntry:
        information = ReleaseInformation.from_plain(stored["information"])
        return cls(name, information, SourceMarks(**stored["marks"]), files, privacy)


def _equal(one: str, other: str) -> bool:
    return bool(one) and one == other


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value
