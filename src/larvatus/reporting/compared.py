"""What a report needs of a comparison: names, counts and scores, never data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from larvatus.data.notes import Note
from larvatus.data.score import Rows, Score


class Candidate(Protocol):
    """One release: how it was made, what its steps said, and its scores."""

    @property
    def name(self) -> str: ...
    @property
    def steps(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def sentences(self) -> Sequence[str]: ...
    @property
    def permutes(self) -> bool: ...
    @property
    def publishable(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def notes(self) -> Sequence[Note]: ...
    @property
    def records(self) -> int: ...
    @property
    def copies(self) -> int: ...
    @property
    def rules(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def codebook(self) -> Sequence[Mapping[str, Any]]: ...
    def of_kind(self, kind: Literal["risk", "loss"]) -> Sequence[Score]: ...


class About(Protocol):
    """The facts of the data that may be told inside."""

    @property
    def records(self) -> int: ...
    @property
    def confidential(self) -> Sequence[str]: ...
    @property
    def non_confidential(self) -> Sequence[str]: ...
    @property
    def sub_groups(self) -> Sequence[str]: ...
    @property
    def weight(self) -> str | None: ...
    @property
    def group_sizes(self) -> Sequence[tuple[str, int]]: ...
    @property
    def intruder_knows(self) -> Sequence[str]: ...
    @property
    def purpose(self) -> str: ...
    @property
    def intruder(self) -> str: ...
    @property
    def study(self) -> str: ...
    @property
    def kinds(self) -> Sequence[tuple[str, str]]: ...


class Comparison(Protocol):
    """Candidates in the order they were given."""

    @property
    def candidates(self) -> Sequence[Candidate]: ...
    @property
    def about(self) -> About: ...
    def decisions(self, names: Collection[str]) -> Mapping[str, Rows]: ...


def by_method(candidates: Sequence[Candidate], kind: Literal["risk", "loss"]) -> dict[str, list[Score | None]]:
    """Scores of one kind, one list per method with a place for every candidate; a method used twice is numbered."""
    found: dict[str, list[Score | None]] = {}
    for place, candidate in enumerate(candidates):
        used: dict[str, int] = {}
        for score in candidate.of_kind(kind):
            used[score.method] = used.get(score.method, 0) + 1
            again = used[score.method]
            name = score.method if again == 1 else f"{score.method} ({again})"
            found.setdefault(name, [None] * len(candidates))[place] = score
    return found
