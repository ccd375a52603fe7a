"""What a trial of the advised study changed in it, and why: one sentence for each change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class StudyChanges:
    """Columns and releases that are left out and rules that are not enforced, each with the reason; larger sub-groups.

    `smallest` is the minimum size of sub-groups if that of the advice is too small, and `pooled` is the reason.
    `sampled` is the number of records that the study was tried on, if it was not tried on all.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    releases: Mapping[str, str] = field(default_factory=dict)
    rules: str = ""
    smallest: int | None = None
    pooled: str = ""
    sampled: int = 0

    def with_columns(self, more: Mapping[str, str]) -> StudyChanges:
        """The same with more columns left out; releases that failed with them are planned again."""
        return replace(self, columns={**self.columns, **more}, releases={})

    def sentences(self) -> list[str]:
        """The changes in plain words."""
        out = [f"Left out of the study, and so not released: {name}. It cannot be masked ({why})."
               for name, why in self.columns.items()]
        if self.rules:
            out.append(f"The rules are comments in the study, because no release can obey them ({self.rules}).")
        if self.smallest is not None:
            out.append(f"The study pools sub-groups of fewer than {self.smallest:,} records, because the releases cannot be made "
                       f"with smaller ones ({self.pooled}).")
        out += [f"Left out of the study: the release {name!r}. It cannot be made with these data ({why})."
                for name, why in self.releases.items()]
        return [*out, f"The study was tried on a sample of {self.sampled:,} records."] if self.sampled else out
