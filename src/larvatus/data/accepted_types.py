"""Types of what people pass: a method as an instance, a class, text or a table; a source or release as a file or a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from larvatus.core.frames import FrameLike, SourceLike
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.intruder import Intruder
from larvatus.data.release import Release

__all__ = [
    "AttackLike", "FrameLike", "IntruderLike", "MeasureLike", "OneReleaseLike", "ReleaseLike", "SettingsTable", "SourceLike",
    "StepLike", "TaxonomyLike",
]

SettingsTable: TypeAlias = Mapping[str, Any]
StepLike: TypeAlias = Mask | type[Mask] | str | SettingsTable
AttackLike: TypeAlias = Attack | type[Attack] | str | SettingsTable
MeasureLike: TypeAlias = Measure | type[Measure] | str | SettingsTable
IntruderLike: TypeAlias = Intruder | str | SettingsTable
TaxonomyLike: TypeAlias = str | Path | Mapping[str, object]
OneReleaseLike: TypeAlias = Release | str | Path | FrameLike
ReleaseLike: TypeAlias = OneReleaseLike | Sequence[OneReleaseLike]
