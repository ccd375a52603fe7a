"""Combine several scores into one, by weights or by the worst of them, always shown with its parts (003 §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from larvatus.comparison.release_sentences import plain_name
from larvatus.comparison.score_figures import known_scores, upper_end
from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.method_parsing import validation_problems
from larvatus.data.score import Row, Rows, Score

_Weight = Annotated[float, Field(gt=0)]


class Combination(BaseModel):
    """A named weighted mean of scores of one kind, or the largest of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=60)]
    weights: dict[str, _Weight] = Field(default_factory=dict, description="scores and their weights; they need not add up to 1")
    worst: tuple[str, ...] = Field(default=(), description="scores; the largest of them counts")

    @property
    def parts(self) -> tuple[str, ...]:
        return self.worst or tuple(self.weights)

    @property
    def kind(self) -> Literal["risk", "loss"]:
        return "risk" if known_scores().get(self.parts[0]) == "risk" else "loss"

    def missing(self, scores: Sequence[Score]) -> tuple[str, ...]:
        """Parts without a value."""
        there = {s.method for s in scores if s.value == s.value}
        return tuple(p for p in self.parts if p not in there)

    def of(self, scores: Sequence[Score]) -> Score | None:
        """The combined score with a table of its parts; None if a part has no value."""
        if self.missing(scores):
            return None
        found = [max((s for s in scores if s.method == p and s.value == s.value), key=lambda s: s.value) for p in self.parts]
        values, highs = [s.value for s in found], [upper_end(s) for s in found]
        lows = [min(s.interval[0], s.value) if s.interval and s.interval[0] == s.interval[0] else s.value for s in found]
        share = self._shares()
        rows: list[Row] = [
            {"part": s.method, "weight": w, "value": s.value, "share": None if w is None else w * s.value}
            for s, w in zip(found, share, strict=True)
        ]
        interval = (self._one(lows), self._one(highs)) if any(s.interval for s in found) else None
        return Score(
            self.name, self.kind, self._one(values), self.in_words(), self.plain(), interval=interval,
            details={"parts": Rows.of(rows)}, decides=False,
        )

    def _shares(self) -> list[float | None]:
        total = sum(self.weights.values())
        return [None if self.worst else self.weights[p] / total for p in self.parts]

    def _one(self, values: Sequence[float]) -> float:
        if self.worst:
            return max(values)
        return sum(v * (w or 0.0) for v, w in zip(values, self._shares(), strict=True))

    def in_words(self) -> str:
        """A description such as "weighted mean of …"."""
        if self.worst:
            return f"the largest of {', '.join(map(plain_name, self.worst))}"
        shares = zip(self.parts, self._shares(), strict=True)
        return "weighted mean of " + ", ".join(f"{plain_name(p)} ({100 * (w or 0):.3g} %)" for p, w in shares)

    def plain(self) -> dict[str, Any]:
        """Its table in a study file."""
        return {"worst": list(self.worst)} if self.worst else dict(self.weights)


def combinations_of(given: Any) -> tuple[Combination, ...]:
    """Read combinations from `{name = {score = weight}}` or `{name = {worst = [scores]}}`; all problems in one error."""
    if isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(c, Combination) for c in given):
        return tuple(given)
    if not isinstance(given, Mapping):
        raise StudyError([f"combine: needs tables such as [combine.NAME], got {type(given).__name__}."])
    problems: list[str] = []
    out: list[Combination] = []
    for name, raw in given.items():
        where = f"combine.{name}"
        if isinstance(raw, Combination):
            out.append(raw)
            continue
        if not isinstance(raw, Mapping) or not raw or ("worst" in raw and len(raw) > 1):
            problems.append(f"{where}: give scores with weights, or only worst = [\"…\"].")
            continue
        if isinstance(raw.get("weights"), Mapping):
            problems.append(f"{where}: list the scores directly, e.g. moments = 0.5, not under weights.")
            continue
        try:
            made = Combination(name=name, **({"worst": raw["worst"]} if "worst" in raw else {"weights": dict(raw)}))
        except ValidationError as error:
            problems += validation_problems(where, error, ["worst", "weights", *raw])
            continue
        found = _problems(made)
        problems += found
        out += [] if found else [made]
    if problems:
        raise StudyError(problems)
    return tuple(out)


def _problems(made: Combination) -> list[str]:
    known = known_scores()
    where = f"combine.{made.name}"
    if made.name in known:
        return [f"{where}: an attack or a measure already has that name. Choose another."]
    if not made.parts:
        return [f"{where}: it lists no score. List at least one."]
    unknown = [p for p in made.parts if p not in known]
    if unknown:
        return [f"{where}: no score {p!r}; {nearest_names(p, known)}" for p in unknown]
    if len({known[p] for p in made.parts}) > 1:
        return [f"{where}: mixes attacks and measures, and a risk cannot offset a loss. Combine only attacks or only measures."]
    return []


def add_combined_scores(scores: Sequence[Score], combinations: Sequence[Combination]) -> tuple[Score, ...]:
    """The scores, followed by their combinations."""
    made = (c.of(scores) for c in combinations)
    return (*scores, *(s for s in made if s is not None))
