"""What the attacker knows. Stated once; every attack is granted this and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Mask
from larvatus.data.roles import Names

Guesses = Annotated[int, Field(ge=1, le=1000)]
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "worst": {},
    "realistic": {"keys": 3, "error": 0.05, "published": "none"},
}


class Intruder(BaseModel):
    """The default is the worst case: it knows every original value of every released column, and how it was masked.

    In a study, `preset` fills in what is not stated: "worst", or "realistic" (three keys with 5 % error, no parameters).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    known: Names = Field(default=(), description="columns the intruder knows of each target; empty means all released")
    keys: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="how many confidential columns are known where known is empty: the first in role order"
    )
    error: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="standard deviation of the relative error in numbers the intruder knows"
    )
    file: str | None = Field(default=None, description="the intruder's own file, in place of the original values")
    truth: str | None = Field(default=None, description="column of that file with the record id of each row's own record")
    presence: Literal["known", "unknown"] = Field(
        default="known", description="whether the intruder knows which records of the original are in a released sample"
    )
    published: Literal["none", "publishable", "all"] = Field(
        default="all", description="masking parameters the intruder is told: none, those a mask calls publishable, or all"
    )
    guesses: tuple[Guesses, ...] = Field(default=(), description="numbers of guesses; empty means each attack's own")
    other_releases: Names = Field(default=(), description="other releases of the same records: names in the study, or files")

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        plain = dict(given)
        if isinstance(plain.get("guesses"), int):
            plain["guesses"] = [plain["guesses"]]
        preset = plain.pop("preset", None)
        if preset is not None and preset not in PRESETS:
            raise ValueError(f"preset is one of {', '.join(PRESETS)}")
        return {**PRESETS.get(preset, {}), **plain}

    @model_validator(mode="after")
    def _file_has_truth(self) -> Self:
        if (self.file is None) != (self.truth is None):
            raise ValueError("file and truth go together: truth names the column of the file that holds record ids")
        return self

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A ready-made intruder, "worst" or "realistic", with changes."""
        return cls.model_validate({"preset": name, **changes})

    def columns(
        self, confidential: tuple[str, ...], non_confidential: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The confidential and the non-confidential columns that are known, in role order."""
        if not self.known:
            return confidential[: self.keys], non_confidential
        return tuple(c for c in confidential if c in self.known), tuple(c for c in non_confidential if c in self.known)

    def errors(self) -> RecordRandom:
        """The draws of the errors, the same in every attack."""
        return RecordRandom(stream_key(b"scores are not secret", "what the intruder knows"))

    def told(self, steps: Sequence[Mask]) -> bool:
        """Whether the intruder knows every setting of the steps; what is not told is taken to be the default."""
        if self.published == "publishable":
            return all(s == type(s)(**{k: getattr(s, k) for k in s.publishable}) for s in steps)
        return self.published == "all"

    def unused(self, *fields: str) -> list[str]:
        """What to say of those of the fields that are stated, by an attack to which they make no difference."""
        stated = [f for f in fields if getattr(self, f) != type(self).model_fields[f].default]
        return [f"intruder.{f} makes no difference to this attack" for f in stated]

    def in_words(self, confidential: Sequence[str] = ()) -> str:
        """What is known, in a few sentences; the confidential columns are told by name where these are given."""
        first = ", ".join(confidential[: self.keys]) if confidential else f"the first {self.keys} confidential ones"
        if self.known:
            what = f"knows {', '.join(self.known)} of each target"
        elif self.keys and not (confidential and self.keys >= len(confidential)):
            what = f"knows the non-confidential columns and {first} of each target"
        else:
            what = "knows every released column of each target"
        held = " as far as a file of their own holds them" if self.file else ""
        error = f", with a relative error of {self.error:.3g} in numbers" if self.error else ""
        told = {"none": "no masking parameter", "publishable": "the publishable parameters", "all": "all masking parameters"}
        more = []
        if self.presence == "unknown":
            more.append("does not know whether a target is in the file")
        if self.guesses:
            more.append(f"has {' or '.join(str(k) for k in self.guesses)} guess{'es' if self.guesses != (1,) else ''}")
        if self.other_releases:
            more.append(f"also has {', '.join(self.other_releases)}, and knows which rows belong together")
        beside = f" The intruder {'; '.join(more)}." if more else ""
        return f"The intruder {what}{held}{error}, and {told[self.published]}.{beside}"


def intruder_of(given: Any) -> Intruder:
    """The intruder that was meant: one, the name of a preset, `preset(field=value, …)`, a table of fields, or the default."""
    from pydantic import ValidationError

    from larvatus.core.errors import StudyError
    from larvatus.data.method_parsing import parsed_call, validation_problems

    if isinstance(given, Intruder):
        return given
    if isinstance(given, str):
        name, changes = parsed_call(given)
        given = {"preset": name, **changes}
    try:
        return Intruder.model_validate(given or {})
    except ValidationError as error:
        raise StudyError(validation_problems("intruder", error, list(Intruder.model_fields))) from None
