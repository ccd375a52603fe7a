"""Domains: subsets of the file that analysts may study and that are not the sub-groups of the mask (Winkler 2007: 004 §2).

The original values of a record decide in which part of a domain it lies, so confidential columns can define a domain. If a
release is not paired with the original, only columns released unchanged can define one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import ConfigDict, Field, ValidationError, model_validator

from larvatus.core.errors import RolesError, StudyError, UtilityError, nearest_names
from larvatus.core.number_format import exact_number
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.conditions import condition, names_in
from larvatus.data.contracts import Array, Block, Column, Measure
from larvatus.data.method_parsing import validation_problems
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.data.settings.settings_model import SettingsModel
from larvatus.data.sub_groups import label_text
from larvatus.data.verbs import as_one_group, reduce_groups, take_rows, with_table
from larvatus.measures.scoring.lost_columns import score_with_lost_columns

_PART = scratch("part of domain")
_MISSING = "missing"
_MOST_VALUES, _MOST_LEVELS = 50, 200
_Share = Annotated[float, Field(gt=0, lt=1)]


class Domain(SettingsModel):
    """One partition of the file: by the values of a column, by a condition, or by quantiles of a column.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> domains = [lv.Domain(column="gender"), lv.Domain(name="rich", where="net_assets > 1")]
        >>> scores = lv.utility(data, lv.mask(data, "additive_noise"), "moments", domains=domains)
        >>> sorted(set(scores.moments.by_domain.column("domain")))
        ['gender', 'rich']
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(default="", max_length=120, description="name of the domain (default: the column or the condition)")
    column: str | None = Field(default=None, description="a column, categorical or with few values; one part for each value")
    where: str | None = Field(default=None, description="a condition on columns; one part meets it, the other does not")
    quantiles: tuple[_Share, ...] = Field(default=(), description="probabilities of the quantiles at which the column is cut")

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.column is None) == (self.where is None):
            raise ValueError("a domain needs either a column or a condition (where), not both")
        if self.quantiles and self.column is None:
            raise ValueError("quantiles need a column")
        if list(self.quantiles) != sorted(set(self.quantiles)):
            raise ValueError("quantiles must be increasing, such as [0.25, 0.5, 0.75]")
        return self

    @property
    def title(self) -> str:
        """Its name, condition or column."""
        return self.name or self.where or self.column or ""

    def uses(self) -> tuple[str, ...]:
        """The columns that define the parts."""
        return (self.column,) if self.column is not None else names_in(self.where or "")


DomainLike: TypeAlias = Domain | str | Mapping[str, Any]


def domain_of(given: Any) -> Domain:
    """A domain from a Domain, a table, or text: `REGION`, `INCOME: 0.25, 0.5, 0.75`, or a condition such as `AGE >= 65`."""
    if isinstance(given, Domain):
        return given
    if isinstance(given, str):
        cut = re.fullmatch(r"(.*\S)\s*:([\d.,\s]+)", given.strip())
        if cut:
            given = {"column": cut[1], "quantiles": [p.strip() for p in cut[2].split(",") if p.strip()]}
        else:
            given = {"where" if re.search(r"[<>=!]|\bin\b", given) else "column": given.strip()}
    if not isinstance(given, Mapping):
        raise StudyError([f"domain: expected a table or text such as 'AGE >= 65', got {type(given).__name__}."])
    try:
        return Domain.model_validate(dict(given))
    except ValidationError as error:
        raise StudyError(validation_problems("domain", error, list(Domain.model_fields))) from None


def domain_problems(domains: Sequence[Domain], known: Collection[str]) -> list[str]:
    """Problems of domains: unknown columns, conditions that cannot be parsed, duplicate names."""
    problems = []
    for domain in domains:
        try:
            used = domain.uses()
        except RolesError as error:
            problems.append(f"domain {domain.title!r}: {error}")
            continue
        problems += [
            f"domain {domain.title!r}: {n!r} is not a released column; {nearest_names(n, known)}"
            for n in used if n not in known
        ]
    titles = [d.title for d in domains]
    twice = sorted({t for t in titles if titles.count(t) > 1})
    return problems + [f"two domains are named {t!r}. Give each its own name." for t in twice]


def domains_of(given: Any, data: Microdata) -> tuple[Domain, ...]:
    """The domains, checked against the data; one error lists all problems."""
    one = isinstance(given, str | Mapping | Domain)
    found = tuple(domain_of(g) for g in ([given] if one else given or ()))
    problems = domain_problems(found, data.released)
    if problems:
        raise StudyError(problems)
    return found


@dataclass(frozen=True, slots=True)
class DomainParts:
    """The original and one copy of a release, both grouped by the parts of one domain."""

    title: str
    labels: tuple[str, ...]
    original: Microdata
    release: Release

    @property
    def gone(self) -> tuple[str, ...]:
        """Parts of the original without any record in the release."""
        there = self.release.data.groups.labels
        return tuple(str(label) for (label,) in self.original.groups.labels if (label,) not in there)

    def score_parts(self, measure: Measure, random: RecordRandom) -> Rows:
        """The loss in every part: by group, or, if the measure has no figures by group, from a score of each part alone."""
        found = score_with_lost_columns(measure, self.original, self.release, random).by_group
        names = {label_text((self.title,), (label,)): label for label in self.labels}
        if not len(found):
            return Rows.of(row for label in self.labels for row in self._alone(label, measure, random))
        return Rows.of(
            {"domain": self.title, "part": names[str(row["sub_group"])], **{k: v for k, v in row.items() if k != "sub_group"}}
            for row in found
        )

    def _alone(self, label: str, measure: Measure, random: RecordRandom) -> list[Row]:
        both = (self.original, self.release.data)
        if any((label,) not in d.groups.labels for d in both):
            return []
        before, after = (_part(d, d.groups.labels.index((label,))) for d in both)
        value = score_with_lost_columns(measure, before, replace(self.release, copies=(after,)), random).value
        return [{"domain": self.title, "part": label, "records": before.rows, "value": value}]


def _part(data: Microdata, group: int) -> Microdata:
    return as_one_group(take_rows(data, lambda g, block: np.full(len(block), g == group), ()))


def split_by_domain(domain: Domain, original: Microdata, release: Release) -> DomainParts:
    """Both files grouped by the parts of a domain; if the release is paired, by the original values of its records."""
    parts = _parts(domain, original)
    columns = domain.uses()
    marked = original.table.map_rows(_marker(parts.coder(original.table.columns)), columns, [Column(_PART, "number")])
    if release.is_paired:
        theirs = release.data.table.pair(marked, {_PART: _PART})
    else:
        as_they_are = {*original.non_confidential, *original.sub_groups.columns}
        changed = [n for n in columns if n not in as_they_are or n not in release.data.table.columns]
        if changed:
            raise UtilityError(
                f"domain {domain.title!r}: {changed[0]!r} is not released unchanged, and the release is not paired with the "
                "original, so the part of a released row is unknown. Give the pairing file, or define the domain by columns "
                "that are released unchanged."
            )
        there = release.data.table
        theirs = there.map_rows(_marker(parts.coder(there.columns)), columns, [Column(_PART, "number")])
    labels = [(label,) for label in parts.labels]

    def assign(group: int, block: Block) -> Array:
        return block[_PART].astype(np.int64)

    before, after = (t.regroup(assign, [_PART], (domain.title,), labels, [(x,) for x in labels]) for t in (marked, theirs))
    return DomainParts(
        domain.title, parts.labels, with_table(original, before), replace(release, copies=(with_table(release.data, after),))
    )


Coder = Callable[[Block], Array]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The names of the parts, and a function that codes the part of each row of a table; -1 for none."""

    labels: tuple[str, ...]
    coder: Callable[[Mapping[str, Column]], Coder]


def _marker(code: Coder) -> Callable[[int, Block], Mapping[str, Array]]:
    return lambda group, block: {_PART: np.asarray(code(block), dtype=np.float64)}


def _parts(domain: Domain, original: Microdata) -> _Parts:
    if domain.column is None:
        text = domain.where or ""

        def asked(columns: Mapping[str, Column]) -> Coder:
            holds = condition(text, columns).holds
            return lambda block: np.where(holds(block), 0, 1)

        asked(original.table.columns)
        return _Parts(("in", "out"), asked)
    name = domain.column
    nominal = original.table.columns[name].kind == "nominal"
    if domain.quantiles:
        if nominal:
            raise UtilityError(f"domain {domain.title!r}: {name!r} is categorical and has no quantiles. Remove quantiles.")
        return _cut(name, domain.quantiles, original)
    return _by_level(domain, name, original) if nominal else _by_value(domain, name, original)


def _by_level(domain: Domain, name: str, original: Microdata) -> _Parts:
    levels = original.table.columns[name].levels
    if len(levels) > _MOST_LEVELS:
        raise UtilityError(
            f"domain {domain.title!r}: {name!r} has {len(levels):,} levels; at most {_MOST_LEVELS} parts are allowed. Use a "
            "coarser column, or a condition."
        )
    texts = [str(v) for v in levels]

    def coder(columns: Mapping[str, Column]) -> Coder:
        place = np.array([*(texts.index(t) if (t := str(v)) in texts else -1 for v in columns[name].levels), len(texts)])
        return lambda block: place[block[name]]

    return _Parts((*texts, _MISSING if _MISSING not in texts else f"({_MISSING})"), coder)


def _by_value(domain: Domain, name: str, original: Microdata) -> _Parts:
    def seen(group: int, block: Block) -> Array:
        return np.unique(block[name][~np.isnan(block[name])])[: _MOST_VALUES + 1]

    found = reduce_groups(original, [name], seen, lambda a, b: np.union1d(a, b)[: _MOST_VALUES + 1])
    values = np.unique(np.concatenate(found))
    if len(values) > _MOST_VALUES:
        raise UtilityError(
            f"domain {domain.title!r}: {name!r} has more than {_MOST_VALUES} distinct values. Cut it at quantiles "
            f"('{name}: 0.25, 0.5, 0.75'), or give a condition."
        )

    def code(block: Block) -> Array:
        x = block[name]
        if not len(values):
            return np.zeros(len(x), dtype=np.int64)
        spot = np.minimum(np.searchsorted(values, np.nan_to_num(x)), len(values) - 1)
        return np.where(np.isnan(x), len(values), np.where(values[spot] == x, spot, -1))

    return _Parts((*(str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values), _MISSING), lambda columns: code)


def _cut(name: str, shares: Sequence[float], original: Microdata) -> _Parts:
    """Parts between quantiles of the original; equal quantiles make one cut, and a value equal to a cut lies below it."""
    found = as_one_group(original).table.quantiles(name, shares)[0]
    cuts = {float(v): p for v, p in zip(found, shares, strict=True) if not np.isnan(v)}
    at, ends = np.array(list(cuts)), [100 * p for p in cuts.values()]

    def code(block: Block) -> Array:
        return np.where(np.isnan(block[name]), len(at) + 1, np.searchsorted(at, block[name]))

    between = [f"{exact_number(a)} to {exact_number(b)} %" for a, b in pairwise(ends)]
    labels = [f"lowest {exact_number(ends[0])} %", *between, f"highest {exact_number(100 - ends[-1])} %"] if ends else ["all"]
    return _Parts((*labels, _MISSING), lambda columns: code)
