"""Which records are held out: no mask and no generator sees them, so that attacks can compare them with those that were seen.

    record i is held out  ⟺  u(secret, i) < share,   u a keyed uniform draw by record id (by household or person, if declared)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from larvatus.core.arrays import Bools, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.households.record_units import masking_units
from larvatus.data.microdata import Microdata, collect
from larvatus.data.settings.settings_model import SettingsModel
from larvatus.data.verbs import map_rows, reduce_groups, take_rows

FEWEST_HELD_OUT = 50  # records on either side of the split
NO_HOLDOUT = ("give records that the generator did not see ([holdout] share or file in a study, --holdout FILE, or "
              "lv.hold_out(data, …))")


class Holdout(SettingsModel):
    """Records that no mask and no generator sees: a share of the source, drawn with the secret, or a file.

    Examples:
        >>> import larvatus as lv
        >>> study = lv.Study(source="census.csv", roles={"confidential": ["income"]}, holdout={"share": 0.2})
        >>> study.holdout.share
        0.2
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    share: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="share of the source that is held out, drawn by the secret and the record id"
    )
    file: str | None = Field(default=None, description="file with the records held out, which the source must not contain")
    records: str | None = Field(default=None, description="file with the ids of the records of the source that are held out")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(v is not None for v in (self.share, self.file, self.records)) > 1:
            raise ValueError("share, file and records exclude each other. Keep one")
        return self

    @property
    def path(self) -> str | None:
        """The file that it names, if any."""
        return self.file or self.records


def draw_holdout(data: Microdata, share: float, secret: bytes) -> Ints:
    """The ids of the records that are held out; the records of a household or person stay together."""
    record = collect(data, ())[0]
    units = masking_units(data)
    drawn = record if units is None else units.reference[units.units_of(record)]
    chosen = RecordRandom(stream_key(secret, "holdout")).uniform(drawn, purpose="holdout")[0] < share
    return np.asarray(record[chosen])


def check_apart(data: Microdata, held: Microdata) -> None:
    """Refuse a holdout with records of the data: attacks would find them as often as others, so that no leak is seen.

    Records count as the same if all numbers are equal. Of h records held out, m are in the data. As many as share their
    numbers with another record of the data, a share g, are there by chance:

        refused  ⟺  m − h·g > 8 √(2 h (1 + h/n) g(1 − g)) + 20
    """
    names = [n for n in data.released if data.table.columns[n].kind == "number"]
    if not names:
        return
    own, others = _rows(data, names), _rows(held, names)
    values, counts = np.unique(own, return_counts=True)
    shared, g = int(np.isin(others, values).sum()), float(counts[counts > 1].sum()) / max(len(own), 1)
    h = len(others)
    if shared - h * g > 8 * np.sqrt(2 * h * (1 + h / max(len(own), 1)) * g * (1 - g)) + 20:
        raise RiskError(f"{shared:,} of {h:,} records held out are in the data as well. Attacks compare the two, and would "
                        "report too little risk. Remove these records from one of the files.", subject="holdout")


def _rows(data: Microdata, names: Sequence[str]) -> Array:
    """One value per record that is equal for records with equal numbers; missing values are equal."""
    columns = collect(data, names)[2]
    packed = np.column_stack([np.asarray(columns[n], dtype=float) + 0.0 for n in names])
    packed[np.isnan(packed)] = np.nan
    return np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1] * 8))).ravel()


def split_off(data: Microdata, held: Ints) -> Microdata:
    """The other records, with these as their holdout."""
    apart = np.sort(held)

    def is_held(group: int, block: Block) -> Bools:
        return np.isin(block.record, apart)

    def is_left(group: int, block: Block) -> Array:
        return ~is_held(group, block)

    out, kept = take_rows(data, is_held, ()), take_rows(data, is_left, ())
    if min(out.rows, kept.rows) < FEWEST_HELD_OUT:
        raise RiskError(f"{out.rows:,} records are held out and {kept.rows:,} are left; at least {FEWEST_HELD_OUT} are needed "
                        "on either side. Change the share, or give a larger file.", subject="holdout")
    return replace(_described_anew(kept), holdout=replace(out, holdout=None))


def _described_anew(data: Microdata) -> Microdata:
    """The same records, with columns described by them alone: levels that occur, and whether all numbers are whole.

    A level that only records held out have would otherwise reach masks, which may release it.
    """
    columns = data.table.columns

    def seen(group: int, block: Block) -> dict[str, Array]:
        return {n: np.bincount(block[n][block[n] >= 0], minlength=len(c.levels)) > 0 if c.kind == "nominal"
                else np.array([bool((block[n] != np.rint(block[n]))[~np.isnan(block[n])].any())]) for n, c in columns.items()}

    found = reduce_groups(data, list(columns), seen, lambda one, other: {n: one[n] | other[n] for n in one})
    occurs = {n: np.logical_or.reduce([f[n] for f in found]) for n in columns}
    made: list[Column] = []
    places: dict[str, Array] = {}
    for n, c in columns.items():
        if c.kind == "nominal" and not occurs[n].all():
            made.append(replace(c, levels=tuple(v for v, there in zip(c.levels, occurs[n], strict=True) if there)))
            places[n] = np.append(np.where(occurs[n], np.cumsum(occurs[n]) - 1, -1), -1).astype(np.int32)
        elif c.kind == "number" and c.dates is None and not c.integer and not occurs[n][0]:
            made.append(replace(c, integer=True))

    def described(group: int, block: Block) -> Mapping[str, Array]:
        return {c.name: places[c.name][block[c.name]] if c.name in places else block[c.name] for c in made}

    return map_rows(data, described, [c.name for c in made], made) if made else data
