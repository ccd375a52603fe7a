"""What the intruder knows. It is stated once, and every attack uses exactly this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Mask
from larvatus.data.roles import Names
from larvatus.data.settings.settings_model import SettingsModel

Guesses = Annotated[int, Field(ge=1, le=1000)]
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "worst": {},
    "realistic": {"keys": 3, "error": 0.05, "published": "none"},
}


class Intruder(SettingsModel):
    """By default the worst case: the intruder knows the original values of every released column, and how they were masked.

    In a study, `preset` sets the other fields: "worst", or "realistic" (three keys with 5 % error, no parameters).

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> neighbour = lv.Intruder(known=["gender", "home_value"], error=0.1, published="none")
        >>> scores = lv.risk(data, lv.mask(data, "additive_noise"), "nearest_record", intruder=neighbour)
        >>> lv.Intruder.preset("realistic", error=0.2).keys
        3
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    known: Names = Field(
        default=(), description="columns whose values the intruder knows for each target (default: all released columns)"
    )
    keys: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="number of confidential columns known if known is empty: the first ones in role order"
    )
    error: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="standard deviation of the relative error in the numeric values that the intruder knows; for "
        "dates, of the error in years"
    )
    file: str | None = Field(default=None, description="the intruder's own file, used instead of the original values")
    truth: str | None = Field(default=None, description="column of that file with the id of the record that each row describes")
    presence: Literal["known", "unknown"] = Field(
        default="known", description="whether the intruder knows which original records are in a released sample"
    )
    published: Literal["none", "publishable", "all"] = Field(
        default="all", description="masking parameters that the intruder knows: none, those a mask declares publishable, or all"
    )
    guesses: tuple[Guesses, ...] = Field(default=(), description="numbers of guesses allowed (default: set by each attack)")
    other_releases: Names = Field(
        default=(),
        description="other releases of the same records, or of other waves of the same persons: names in the study, or files",
        json_schema_extra={"texts": "names or files"},
    )

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
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}")
        return {**PRESETS.get(preset, {}), **plain}

    @model_validator(mode="after")
    def _file_has_truth(self) -> Self:
        if (self.file is None) != (self.truth is None):
            raise ValueError("file and truth must be given together: truth is the column of the file that holds record ids")
        return self

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A predefined intruder, "worst" or "realistic", with changes."""
        return cls(**{"preset": name, **changes})

    def columns(
        self, confidential: tuple[str, ...], non_confidential: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The confidential and the non-confidential columns that the intruder knows, in role order."""
        if not self.known:
            return confidential[: self.keys], non_confidential
        return tuple(c for c in confidential if c in self.known), tuple(c for c in non_confidential if c in self.known)

    def errors(self) -> RecordRandom:
        """The random numbers of the errors, the same in every attack."""
        return RecordRandom(stream_key(b"scores are not secret", "what the intruder knows"))

    def knows_settings_of(self, steps: Sequence[Mask]) -> bool:
        """Whether the intruder knows every setting of the steps. Settings that are not published are assumed to be defaults."""
        if self.published == "publishable":
            return all(s == type(s)(**{k: getattr(s, k) for k in s.publishable}) for s in steps)
        return self.published == "all"

    def fields_without_effect(self, *fields: str) -> list[str]:
        """Notes on those of the fields that are set although they have no effect on the attack."""
        stated = [f for f in fields if getattr(self, f) != type(self).model_fields[f].default]
        return [f"intruder.{f} has no effect on this attack" for f in stated]

    def in_words(self, confidential: Sequence[str] = ()) -> str:
        """What the intruder knows, in a few sentences; confidential columns are named if they are given."""
        first = ", ".join(confidential[: self.keys]) if confidential else f"the first {self.keys} confidential columns"
        if self.known:
            what = f"knows {', '.join(self.known)} for each target"
        elif self.keys and not (confidential and self.keys >= len(confidential)):
            what = f"knows the non-confidential columns and {first} for each target"
        else:
            what = "knows every released column for each target"
        held = " as far as they are in the intruder's own file" if self.file else ""
        error = f", with a relative error of {self.error:.3g} in numeric values" if self.error else ""
        told = {"none": "no masking parameters", "publishable": "the publishable parameters", "all": "all masking parameters"}
        more = []
        if self.presence == "unknown":
            more.append("does not know whether a target is in the file")
        if self.guesses:
            more.append(f"has {' or '.join(str(k) for k in self.guesses)} guess{'es' if self.guesses != (1,) else ''}")
        if self.other_releases:
            more.append(f"also has {', '.join(self.other_releases)}, and knows which rows belong to the same record")
        beside = f" The intruder {'; '.join(more)}." if more else ""
        return f"The intruder {what}{held}{error}, and {told[self.published]}.{beside}"


def intruder_of(given: Any) -> Intruder:
    """The intruder from an Intruder, a preset's name, `preset(field=value, …)`, a table of fields, or None (the default)."""
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
