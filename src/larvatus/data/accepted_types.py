"""Types of what people pass: a method as an instance, a class, text or a table; a release made here, a file or a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.intruder import Intruder
from larvatus.data.release import Release

SettingsTable: TypeAlias = Mapping[str, Any]
StepLike: TypeAlias = Mask | type[Mask] | str | SettingsTable
AttackLike: TypeAlias = Attack | type[Attack] | str | SettingsTable
MeasureLike: TypeAlias = Measure | type[Measure] | str | SettingsTable
IntruderLike: TypeAlias = Intruder | str | SettingsTable


class FrameLike(Protocol):
    """A data frame of pandas, Polars, Arrow, DuckDB or Spark."""

    @property
    def columns(self) -> Any: ...


OneReleaseLike: TypeAlias = Release | str | Path | FrameLike
ReleaseLike: TypeAlias = OneReleaseLike | Sequence[OneReleaseLike]
