"""The result of an attack or a measure: one frozen value with its baselines, interval and settings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from larvatus.core.display import view
from larvatus.core.number_format import Cell, cell_text
from larvatus.data.csv_files.formula_cells import inert

Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Rows(Sequence[Row]):
    """A small table of plain values. It prints as text and converts to a data frame on request."""

    rows: tuple[Row, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Rows:
        return cls(tuple(dict(r) for r in rows))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Row | Rows:
        return Rows(self.rows[index]) if isinstance(index, slice) else self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def column(self, name: str) -> list[Cell]:
        return [row.get(name) for row in self.rows]

    def __str__(self) -> str:
        names = self.columns
        body = [[cell_text(row.get(n)) for n in names] for row in self.rows]
        width = [max([len(n), *(len(line[i]) for line in body)]) for i, n in enumerate(names)]
        numeric = [all(isinstance(row.get(n), int | float | None) for row in self.rows) for n in names]
        lines = [[*names], *body]
        return "\n".join(
            "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in zip(line, width, numeric, strict=True)).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(n)}</th>" for n in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell_text(row.get(n)))}</td>" for n in self.columns) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_arrow(self) -> Any:
        """As a pyarrow table."""
        import pyarrow as pa

        return pa.table({name: self.column(name) for name in self.columns})

    def to_pandas(self) -> Any:
        """As a pandas data frame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame([dict(r) for r in self.rows], columns=list(self.columns))

    def to_polars(self) -> Any:
        """As a polars data frame (needs polars)."""
        import polars as pl

        return pl.DataFrame([dict(r) for r in self.rows], schema=list(self.columns), infer_schema_length=None)


def csv_text(rows: Rows) -> str:
    """The table as CSV at full precision; texts that a spreadsheet program would run as a formula get an apostrophe."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, rows.columns, lineterminator="\n")
    writer.writerow({c: inert(c) for c in rows.columns})
    writer.writerows({k: "" if v is None else inert(v) for k, v in row.items()} for row in rows)
    return file.getvalue()


def mean_of(rows: Iterable[Row], name: str = "loss") -> float:
    """Mean of a numeric column; NaN if there is nothing to average."""
    values = [float(v) for v in (row.get(name) for row in rows) if isinstance(v, int | float)]
    return sum(values) / len(values) if values else math.nan


@dataclass(frozen=True, slots=True, repr=False)
class Score:
    """A risk (with its baselines, chance and S alone) or a loss (0 is best).

    - `decides`: false for scores that are shown but not used to choose between releases: risks that every useful release
      has, and losses that repeat another one
    - `worst_value`: the loss if everything is lost
    - `square_root_scale`: true for mean squares
    - `unit`: what the value of a risk is, a share (of records, values or variance) or a correlation
    - `identifies`: true if the value is a share of records found
    - `certain`: the share found with certainty, if `identifies`: records that S alone singles out, and right and unique links
      beyond those that a random guess among the candidates would give
    - `effective_targets`: the number of targets on which the interval is based, if targets of a sample have weights
    - `understated_by`: by how much bounded work may understate the value; the upper end of the interval includes it

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> score = lv.risk(data, lv.mask(data, "additive_noise(variance=0.01)"), "nearest_record").nearest_record
        >>> score.kind, score.identifies
        ('risk', True)
        >>> score.interval[0] <= score.value <= score.interval[1]
        True
        >>> len(score.by_group)
        2
    """

    method: str
    kind: Literal["risk", "loss"]
    value: float
    meaning: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    chance: float | None = None
    s_alone: float | None = None
    interval: tuple[float, float] | None = None
    by_group: Rows = Rows()
    by_variable: Rows = Rows()
    by_pair: Rows = Rows()
    by_domain: Rows = Rows()
    details: Mapping[str, Rows] = field(default_factory=dict)
    by_record: NDArray[np.float64] | None = field(default=None, repr=False)
    records: NDArray[np.int64] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    sampled: bool = False
    decides: bool = True
    worst_value: float | None = None
    square_root_scale: bool = False
    unit: Literal["share", "correlation"] = "share"
    identifies: bool = False
    certain: float | None = None
    effective_targets: float | None = None
    understated_by: float = 0.0

    def __repr__(self) -> str:
        shown = {self.kind: self.value, "chance": self.chance, "S alone": self.s_alone}
        return f"Score({self.method}: {', '.join(f'{k} {v:.3f}' for k, v in shown.items() if v is not None)})"

    @property
    def relative_loss(self) -> float:
        """The loss relative to its worst value, at most 1, so that measures on different scales can be averaged."""
        share = min(max(self.value / self.worst_value, 0.0), 1.0) if self.worst_value else self.value
        return math.sqrt(share) if self.square_root_scale else share

    def row(self) -> dict[str, Cell]:
        """The headline figures."""
        low, high = self.interval if self.interval else (None, None)
        null = {f"null_{k}": self.details["null"][0][k] for k in ("p95", "share_below")} if "null" in self.details else {}
        return {
            "score": self.method, "kind": self.kind, "value": self.value, "chance": self.chance,
            "s_alone": self.s_alone, "low": low, "high": high, **null,
        }

    def plain(self) -> dict[str, Any]:
        """Everything except the values per record, as JSON can store it."""
        return {
            "method": self.method, "kind": self.kind, "meaning": self.meaning, "settings": dict(self.settings),
            "value": _finite(self.value), "chance": _finite(self.chance), "s_alone": _finite(self.s_alone),
            "interval": [_finite(v) for v in self.interval] if self.interval else None,
            "by_group": _plain(self.by_group), "by_variable": _plain(self.by_variable), "by_pair": _plain(self.by_pair),
            "by_domain": _plain(self.by_domain),
            "details": {name: _plain(rows) for name, rows in self.details.items()},
            "notes": list(self.notes), "sampled": self.sampled,
            **({"worst_value": _finite(self.worst_value)} if self.kind == "loss" else {}),
            **({"certain": _finite(self.certain)} if self.identifies else {}),
        }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(rows: Rows) -> list[dict[str, Cell]]:
    return [{k: _finite(v) for k, v in row.items()} for row in rows]


class Scores(tuple[Score, ...]):
    """Several scores of one release, in the order requested; `not_run` lists the methods that do not apply, with reasons.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> scores = lv.risk(data, lv.mask(data, "additive_noise(variance=0.01)"), ["nearest_record", "interval_match"])
        >>> scores.summary().column("score")
        ['nearest_record', 'interval_match']
        >>> scores.nearest_record is scores[0]
        True
        >>> len(scores.at_risk(share=0.05))
        15
    """

    not_run: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return str(self.summary()) if self else "no scores"

    def reasons_not_run(self) -> tuple[str, ...]:
        """As `not_run`, with methods that have the same reason together."""
        by: dict[str, list[str]] = {}
        for line in self.not_run:
            method, _, reason = line.removeprefix("not run: ").partition(": ")
            by.setdefault(reason, []).append(method)
        return tuple(f"not run: {', '.join(methods)}: {reason}" for reason, methods in by.items())

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_scores"))

    def plot(self, kind: Literal["risk", "loss"] | None = None) -> Any:
        """The attacks with their baselines, or the losses: shows itself in a notebook, `.save("scores.png")` writes it."""
        return view(self, "plot_scores", kind)

    def summary(self) -> Rows:
        """One row per score."""
        return Rows.of(score.row() for score in self)

    def at_risk(self, share: float = 0.05, file: str | Path | None = None, overwrite: bool = False) -> tuple[int, ...]:
        """Ids of the records that are easiest to re-identify, highest risk first, at most this share of all records.

        The risk of a record is that under the most successful attack on it. Equal risks are ordered by the number of attacks
        that find the record, then at random. Records that no attack found are never included. With `file`, the ids are also
        written to a file that only its owner can read; a step with `where = "@FILE"` then masks just these records. Only
        records that were targets can be listed: attack a large file with `targets="all"` first.
        """
        from larvatus.core.input_paths import refuse_inputs
        from larvatus.data.record_selection import records_most_at_risk, write_ids

        refuse_inputs([file], self.inputs)
        ids = records_most_at_risk(self, share)
        if file is not None:
            write_ids(Path(file), ids, overwrite)
        return ids

    def __getattr__(self, name: str) -> Score:
        for score in self:
            if score.method == name:
                return score
        raise AttributeError(f"no score {name!r}; the scores are {', '.join(s.method for s in self) or 'none'}")
