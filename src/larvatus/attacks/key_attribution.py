"""Learn a confidential value from the released rows that share a person's keys.

CAP is the correct attribution probability (Taub and others 2018); DiSCO and RepU are the measures of the R package synthpop
(Raab, Nowok and Dibben 2024).

    For a target with keys q and true value t, p(t | q) the share of released rows with keys q that have the value t:
        CAP     mean of p(t | q) over targets; targets whose keys no released row has count 0
        DiSCO   share of targets with p(t | q) = 1: disclosive in the synthetic file, and correct
        RepU    share of targets that are unique by their keys in the original and in the released file (replicated uniques)

The value is the mean DiSCO over the confidential columns. Numbers are grouped at the quantiles of the original.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles, FileRecords
from larvatus.attacks.unpaired.control_scores import (
    HOLDOUT_BASELINE,
    around_baseline,
    group_rows,
    mean_difference,
    outlier_rows,
)
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.roles import Names
from larvatus.data.score import Row, Rows, Score

_ALWAYS = 1 - 1e-12


class KeyAttribution(Attack):
    """The intruder knows the keys of a person and reads a confidential value from the released rows with the same keys.

    Reported are the measures that users of synthpop know: DiSCO (the value), RepU, and the correct attribution probability
    (CAP). Keys are the columns with the role key, else all columns known besides the confidential ones; without any, the first
    half of the confidential columns. Numbers are cut into groups at quantiles of the original. With a holdout, the
    baseline is the same figure for records held out; without one, it is that of always guessing the most frequent value.

    Look at it for files with categorical keys. It needs no holdout. Without one, a relation that holds for everybody with
    these keys counts as a disclosure too.

    Parameters:
        keys: columns that the intruder knows.
        quantiles: number of groups that each numeric column is cut into.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder knows the keys of the target, and that similar people are in the released file."

    keys: Names = Field(default=(), description="columns that the intruder knows (default: the keys, else S)")
    quantiles: Annotated[int, Field(ge=2, le=1000)] = Field(default=20, description="groups that each number is cut into")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        files = ComparedFiles.of(original, release.data, intruder, needs_holdout=False)
        keys = self._keys(files, original)
        secrets = [n for n in files.secrets if n not in keys]
        if not secrets:
            raise RiskError("every confidential column is a key, so there is nothing to learn.", subject="key_attribution.keys")
        training, held = files.training, files.held_out
        cut = {n: self._cuts(files, n) for n in files.columns}
        released = _cells(files.released, keys, cut)
        sides = [training] if held is None else [training, held]
        cells = _matched(released, [_cells(p, keys, cut) for p in sides])
        found = [[_shares(cells[0], _code(files.released, n, cut), cells[i + 1], _code(p, n, cut)) for n in secrets]
                 for i, p in enumerate(sides)]
        certain = [np.mean([f >= _ALWAYS for f in side], axis=0).astype(np.float64) for side in found]
        guess = [_most_frequent(_code(training, n, cut)) for n in secrets]
        control = certain[1] if held is not None else None
        base = float(np.mean(guess)) * float((cells[1] >= 0).mean()) if control is None else float(control.mean())
        value = float(certain[0].mean())
        compared = np.full(len(training), base) if control is None else control
        difference = mean_difference(certain[0], compared)
        by_variable: list[Row] = []
        for j, n in enumerate(secrets):
            mine = (found[0][j] >= _ALWAYS).astype(np.float64)
            other = guess[j] if held is None else float((found[1][j] >= _ALWAYS).mean())
            by_variable.append({"variable": n, "value": float(mine.mean()), "chance": 0.0, "s_alone": other,
                                "CAP": float(found[0][j].mean())})
        other_side = training if held is None else held
        return Score(
            self.name(), "risk", value, "share of confidential values that the released rows with the same keys give (DiSCO)",
            self.settings(), chance=0.0, s_alone=base, interval=around_baseline(value, base, difference),
            by_group=group_rows(files, (training.group, certain[0]), (other_side.group, compared), 0.0),
            by_variable=Rows.of(by_variable),
            details={
                "disclosure": Rows.of(_figures(cells, found)),
                "outliers": outlier_rows((files.outlying(training), files.outlying(other_side)), certain[0], compared),
            },
            notes=(HOLDOUT_BASELINE if held is not None else "there is no holdout: the baseline is the most frequent value",
                   f"keys: {', '.join(keys)}", *files.notes),
        )

    def _keys(self, files: ComparedFiles, original: Microdata) -> list[str]:
        names = list(files.columns)
        for n in self.keys:
            if n not in names:
                raise RiskError(f"{n!r} is not a column that all files have; {nearest_names(n, names)}",
                                subject="key_attribution.keys")
        given = [n for n in names if n not in files.secrets]
        declared = [n for n in names if n in original.roles.key]
        return list(self.keys) or declared or given or list(files.secrets[: len(files.secrets) // 2])

    def _cuts(self, files: ComparedFiles, name: str) -> Floats | None:
        if files.columns[name].kind != "number":
            return None
        value = files.training.values[name]
        there = value[~np.isnan(value)]
        if not len(there) or len(np.unique(there)) <= self.quantiles:
            return np.unique(there)
        return np.unique(np.quantile(there, np.linspace(0, 1, self.quantiles + 1)[1:-1]))


def _code(part: FileRecords, name: str, cut: dict[str, Floats | None]) -> Ints:
    """The value as a code: the category, or the group of a number; -1 if missing."""
    value: Array = part.values[name]
    edges = cut[name]
    if edges is None:
        return np.asarray(value, dtype=np.int64)
    return np.where(np.isnan(value), -1, np.searchsorted(edges, value, side="left"))


def _cells(part: FileRecords, keys: list[str], cut: dict[str, Floats | None]) -> Ints:
    return np.column_stack([_code(part, n, cut) for n in keys]) if keys else np.zeros((len(part), 1), dtype=np.int64)


def _matched(released: Ints, others: list[Ints]) -> list[Ints]:
    """The cell of each released row, and of each record of the other files; -1 if no released row has its keys."""
    place = np.unique(np.concatenate([released, *others]), axis=0, return_inverse=True)[1].reshape(-1)
    there = np.zeros(int(place.max()) + 1, dtype=bool)
    there[place[: len(released)]] = True
    ends = np.cumsum([len(released), *map(len, others)])
    out = [place[: len(released)]]
    out += [np.where(there[place[a:b]], place[a:b], -1) for a, b in pairwise(ends)]
    return out


def _shares(released_cell: Ints, released_value: Ints, cell: Ints, value: Ints) -> Floats:
    """p(t | q) of each record; 0 if no released row has its keys."""
    width = 2 + max(int(released_value.max(initial=-1)), int(value.max(initial=-1)))
    pair, count = np.unique(released_cell * width + released_value + 1, return_counts=True)
    size = np.bincount(released_cell)
    wanted = cell * width + value + 1
    at = np.minimum(np.searchsorted(pair, wanted), len(pair) - 1)
    hits = np.where((pair[at] == wanted) & (cell >= 0), count[at], 0)
    return np.asarray(hits / np.maximum(size[np.maximum(cell, 0)], 1), dtype=np.float64)


def _most_frequent(code: Ints) -> float:
    return float(np.bincount(code + 1).max() / max(len(code), 1))


def _figures(cells: list[Ints], found: list[list[Floats]]) -> list[Row]:
    names = ("training records", "records held out")[: len(found)]
    alone = np.bincount(cells[0]) == 1
    rows: list[Row] = []
    for name, cell, shares in zip(names, cells[1:], found, strict=True):
        size = np.bincount(cell[cell >= 0], minlength=len(alone)) if len(cell) else np.zeros(len(alone))
        unique = (cell >= 0) & (size[np.maximum(cell, 0)] == 1)
        rows.append({
            "records": name, "keys found": float((cell >= 0).mean()), "CAP": float(np.mean([s.mean() for s in shares])),
            "DiSCO": float(np.mean([(s >= _ALWAYS).mean() for s in shares])),
            "RepU": float((unique & alone[np.maximum(cell, 0)]).mean()),
        })
    return rows
