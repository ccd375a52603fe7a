"""The part [budget] of a study: how much the releases of a source may tell together."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from larvatus.core.errors import ReadError
from larvatus.core.safe_files.private_files import check_private
from larvatus.core.safe_files.secret_files import read_secret
from larvatus.data.settings.settings_model import SettingsModel


class BudgetSettings(SettingsModel):
    """What counts for the budget of a source, and its limits. Without a key there is no budget."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    key_file: str | None = Field(
        default=None, description="file with the keeper's key, at least 16 bytes; the same for all releases of a source"
    )
    source: str = Field(default="", description="name of the source, for releases of other values of the same persons")
    earlier: tuple[str, ...] = Field(
        default=(), description="internal manifests of the releases that are out already; files or patterns"
    )
    bits: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="most bits per record that all releases together may tell about who is who"
    )
    forecast: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="largest share of links from all releases together, by the linkage law (a forecast)"
    )

    @model_validator(mode="after")
    def _with_key(self) -> Self:
        stated = [n for n in ("source", "earlier", "bits", "forecast") if getattr(self, n) not in (None, "", ())]
        if self.key_file is None and stated:
            raise ValueError(f"{stated[0]} needs key_file, a file with a key that only you have")
        return self

    @property
    def has_limit(self) -> bool:
        return self.bits is not None or self.forecast is not None

    def in_folder(self, folder: Path | None) -> BudgetSettings:
        """The same settings with paths that start at a folder."""
        return self.with_paths(lambda path: str((folder or Path()) / path))

    def with_paths(self, to: Any) -> BudgetSettings:
        """The same settings with every path replaced."""
        if self.key_file is None:
            return self
        return self.model_copy(update={"key_file": to(self.key_file), "earlier": tuple(to(p) for p in self.earlier)})

    def files(self) -> list[str]:
        """The manifests of earlier releases; an error if a pattern matches none."""
        out: list[str] = []
        for pattern in self.earlier:
            found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
            if not found:
                raise ReadError(f"budget.earlier: {pattern} matches no file.")
            out += found
        return list(dict.fromkeys(out))

    def inputs(self) -> list[str]:
        """The files that are read: the key, and manifests."""
        return [] if self.key_file is None else [self.key_file, *(f for p in self.earlier for f in [p, *glob.glob(p)])]

    def key(self) -> bytes:
        """The keeper's key."""
        path = Path(self.key_file or "")
        check_private(path, "key file")
        try:
            return read_secret(path)
        except OSError as error:
            raise ReadError(
                f"budget.key_file: {path} cannot be read: {error.strerror}. Write at least 16 random bytes into it once "
                f"(head -c 32 /dev/urandom | base64 > {path}), keep it to yourself, and use it for all releases of the source."
            ) from None
