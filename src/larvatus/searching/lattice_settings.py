"""Settings of a search over the levels of detail of the keys: `lattice` of an entry of `[[search]]`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from larvatus.data.roles import Names
from larvatus.data.settings.settings_model import SettingsModel

_Width = Annotated[float, Field(gt=0, le=1e300)]


class Lattice(SettingsModel):
    """Levels of the keys to search for the least loss under the limits on key_risk."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    columns: Names = Field(default=(), description="keys that may be recoded (default: all that steps can change)")
    suppress: Literal["records", "cells", "none"] = Field(
        default="records",
        description="what to suppress if recoding is not enough: all keys of a record, single cells, nothing",
    )
    most_suppressed: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="share of records that may lose all keys"
    )
    importance: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = Field(
        default_factory=dict, description="weight of a key in the loss (default: 1)"
    )
    widths: dict[str, Annotated[tuple[_Width, ...], Field(min_length=1, max_length=20)]] = Field(
        default_factory=dict, description="widths of classes of numeric keys, each a multiple of the one before"
    )

    def plain(self) -> dict[str, Any]:
        """As a study file holds it."""
        return self.model_dump(mode="json", exclude_defaults=True)
