"""What a trial of the advised study changed in it, and why: one sentence for each change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class StudyChanges:
    """Columns and releases that are left out, each with the reason; constraints that are left out; larger sub-groups.

    `constraints` are the kinds of constraints that are comments, and `broken` is the reason. `smallest` is the minimum size of
    sub-groups if that of the advice is too small, and `pooled` is the reason.
    `sampled` is the number of records that the study was tried on, if it was not tried on all.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    releases: Mapping[str, str] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    broken: str = ""
    smallest: int | None = None
    pooled: str = ""
    sampled: int = 0

    def with_columns(self, more: Mapping[str, str]) -> StudyChanges:
        """The same with more columns left out; releases that failed with them are planned again."""
        return replace(self, columns={**self.columns, **more}, releases={})

    def with_releases(self, more: Mapping[str, str]) -> StudyChanges:
        """The same with more releases left out."""
        return replace(self, releases={**self.releases, **more})

    def sentences(self) -> list[str]:
        """The changes in plain words."""
        out = [f"Left out of the study, and so not released: {name} ({why})." for name, why in self.columns.items()]
        if self.constraints:
            what = "The rules" if self.constraints == ("rules",) else "All constraints"
            out.append(f"{what} are comments in the study, because releases cannot be made with them ({self.broken}).")
        if self.smallest is not None:
            out.append(f"The study pools sub-groups of fewer than {self.smallest:,} records, because the releases cannot be "
                       f"made with smaller ones ({self.pooled}).")
        out += [f"Left out of the study: the release {name!r} ({why})." for name, why in self.releases.items()]
        return [*out, f"The study was tried on a sample of {self.sampled:,} records."] if self.sampled else out
