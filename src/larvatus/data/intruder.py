"""What the attacker knows. Stated once; every attack is granted this and no more."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from larvatus.data.roles import Names


class Intruder(BaseModel):
    """The default knows every original value of every released column of every record: the worst case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    known: Names = Field(default=(), description="columns the intruder knows of each target; empty means all released")

    def columns(self, confidential: tuple[str, ...], non_confidential: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The confidential and the non-confidential columns that are known, in role order."""
        if not self.known:
            return confidential, non_confidential
        return tuple(c for c in confidential if c in self.known), tuple(c for c in non_confidential if c in self.known)
