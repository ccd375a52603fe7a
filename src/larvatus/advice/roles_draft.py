"""The guesses of all columns as a value: a table, warnings, and a draft of a study for the user to confirm."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from larvatus.advice.key_advice import looks_like_key
from larvatus.advice.likely_codes import code_sentence
from larvatus.advice.role_guesses import RoleGuess
from larvatus.core.number_format import share
from larvatus.data.labelling.labels import MissingCode

_SHOWN: Mapping[str, str] = {
    "confidential": "confidential", "non_confidential": "non-confidential", "identifiers": "identifier", "weight": "weight",
    "none": "not released",
}
_LABEL = 30  # characters of a label that are shown


@dataclass(frozen=True, slots=True, repr=False)
class RoleGuesses:
    """What the columns of a source seem to be, and a draft of their roles to confirm.

    `records` is the number of records looked at, `source` the path if it is a file, `dialect` how it is written if it is CSV,
    and `missing` codes of missing values that were stated. `unordered`: the rows have no defined order, as those of a table of
    a database, so that a column must identify the records.

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(300)
        >>> guesses = lv.advise(frame)
        >>> guesses.roles["confidential"]
        ['home_value', 'mortgage_balance', 'net_assets']
        >>> data = lv.read(frame, **guesses.roles)
    """

    guesses: tuple[RoleGuess, ...]
    records: int
    source: str = ""
    dialect: str = ""
    stated: Mapping[str, str | Mapping[str, str]] | None = None
    missing: Mapping[str, tuple[MissingCode, ...]] = field(default_factory=dict)
    unordered: bool = False

    @property
    def record_id(self) -> str | None:
        """The first identifier that every record has for itself, if the rows have no order; None if it is not needed."""
        able = (g.name for g in self.guesses if g.role == "identifiers" and g.column.distinct == g.column.records
                and not g.column.missing and g.column.type in ("whole numbers", "text"))
        return next(able, None) if self.unordered else None

    def rows(self) -> list[dict[str, Any]]:
        """The table of columns: counts and orders of magnitude, no value of a cell."""
        labelled = any(g.column.label for g in self.guesses)
        return [{
            "column": _one_line(g.name), **({"label": _shortened(g.column.label)} if labelled else {}),
            "type": g.column.type, "distinct": g.column.distinct,
            "missing": share(g.column.missing / max(g.column.records, 1)), "range": g.column.range or "–",
            "role": _SHOWN[g.role], "seems to be": g.what, "because": g.why,
        } for g in self.guesses]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on direct identifiers, free text and codes for missing values."""
        out = [f"{g.name}: {g.what}, {g.warning}." for g in self.guesses if g.warning]
        for guess in self.guesses:
            texts = [c for c in guess.column.codes if isinstance(c, str)]
            numbers = [c for c in guess.column.codes if isinstance(c, int)]
            if texts:
                listed = ", ".join(map(_quoted, texts))
                out.append(f"{guess.name}: text among its numbers ({listed}) is taken for missing values, as the draft states.")
            if numbers:
                out.append(code_sentence(guess.name, numbers))
        if self.unordered and self.record_id is None:
            out.append("The rows have no defined order, and no column seems to identify each record. Declare one as record_id "
                       "in the draft, or give a query that ends with ORDER BY.")
        return tuple(map(_one_line, out))

    @property
    def roles(self) -> dict[str, Any]:
        """The roles as `lv.read` takes them: lv.read(source, **guesses.roles)."""
        out: dict[str, Any] = {
            role: [g.name for g in self.guesses if g.role == role and g.name != self.record_id]
            for role in ("confidential", "non_confidential", "identifiers")
        }
        weight = [g.name for g in self.guesses if g.role == "weight"]
        nominal = [g.name for g in self.guesses if g.nominal]
        missing = self._certain()
        found = {**out, "weight": weight[0] if weight else None, "nominal": nominal, "missing": missing,
                 "record_id": self.record_id}
        return {k: v for k, v in found.items() if v}

    def _certain(self) -> dict[str, list[MissingCode]]:
        """Codes of missing values that were stated, and texts among numbers, which cannot be anything else; by column."""
        every = {g.name: [c for c in g.column.codes if isinstance(c, str)] for g in self.guesses
                 if g.role in ("confidential", "non_confidential")}
        both = {n: [*self.missing.get(n, ()), *every.get(n, ())] for n in (*self.missing, *every)}
        return {n: codes for n, codes in both.items() if codes}

    def draft(self, source: str = "") -> str:
        """A study file with the guesses, each with its reason as a comment."""
        shown = self.stated or {}
        head = ["# Draft of the roles of columns, guessed by larvatus advise. Check every line: move a column to another list,",
                "# or delete it. A column in no list is not released. Confidential columns are masked, non-confidential ones",
                "# are released unchanged, identifiers are never released. Nominal ones are codes: 1 and 2 are categories."]
        head += [f"# WARNING {w}" for w in self.warnings]
        file = source or self.source
        if shown and file:
            body = ["", "[source]", f"file = {_quoted(file)}", *(f"{k} = {_toml(v)}" for k, v in shown.items())]
        else:
            body = ["", f"source = {_quoted(file)}"] if file else []
        body += ["", "[roles]"]
        for role in ("confidential", "non_confidential", "identifiers"):
            body += [f"{role} = [", *(_line(g) for g in self.guesses if g.role == role and g.name != self.record_id), "]"]
        if self.record_id is not None:
            body.append(f"record_id = {_quoted(self.record_id)}  # every record has its own; the rows have no defined order")
        keys = [g.name for g in self.guesses if g.role == "non_confidential" and looks_like_key(g.name)]
        if keys:
            body += ["# Columns by which persons may be recognised. To recode or suppress them, move them from "
                     "non_confidential to:",
                     f"# key = [{', '.join(map(_quoted, keys))}]"]
        weights = [g for g in self.guesses if g.role == "weight"]
        body += [f"weight = {_quoted(g.name)}  # {g.why}" for g in weights]
        body += ["# release_weight = false  # to use the weight here, but not to release it"] if weights else []
        body += ["nominal = [", *(f"    {_quoted(g.name)}," for g in self.guesses if g.nominal), "]"]
        body += [f"# ordered by the labels of the file: {_quoted(g.name)}" for g in self.guesses if g.column.is_ordered]
        body += self._missing_lines()
        body += [f"# not released: {_quoted(g.name)}  ({g.what}: {g.why})" for g in self.guesses if g.role == "none"]
        return "\n".join([*head, *body, ""])

    def _missing_lines(self) -> list[str]:
        """Codes of missing values: those that are certain, and numbers that the user is to confirm."""
        certain = self._certain()
        numbers = {g.name: [c for c in g.column.codes if isinstance(c, int)] for g in self.guesses
                   if g.role in ("confidential", "non_confidential")}
        out = ["# Codes of missing values. They are not masked, and stay in their cells.",
               f"missing = {_table(certain)}"] if certain else []
        if any(numbers.values()):
            every = {n: [*certain.get(n, ()), *numbers.get(n, ())] for n in dict.fromkeys((*certain, *numbers))}
            how = "Put this in place of the line above" if certain else "Remove the #"
            out += [f"# {how} if these codes stand for missing values. They are not masked, and stay in their cells.",
                    f"# missing = {_table({n: codes for n, codes in every.items() if codes})}"]
        return out

    def next_step(self) -> str:
        """What to do with the guesses in Python."""
        return ("These are guesses. Confirm or change them, then read the data with their roles: "
                "lv.read(source, **guesses.roles), and ask for advice on these: lv.advise(data).")

    def text(self) -> str:
        """The table, the warnings and the next step as text."""
        rows = self.rows()
        names = list(rows[0]) if rows else []
        cells = [[*map(str, names)], *([str(r[n]) for n in names] for r in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        head = [f"{self.records:,} records, {len(rows)} columns" + (f"; {self.dialect}" if self.dialect else "") + "."]
        return "\n".join([*head, "", *lines, "", *(f"WARNING {w}" for w in self.warnings), self.next_step()])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = self.rows()
        head = "".join(f"<th>{html.escape(n)}</th>" for n in (rows[0] if rows else ()))
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(v))}</td>' for v in r.values())}</tr>" for r in rows)
        warned = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        listed = f"<ul>{warned}</ul>" if warned else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}{listed}<p>{html.escape(self.next_step())}</p>"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(label: str) -> str:
    line = _one_line(label)
    return line if len(line) <= _LABEL else line[: _LABEL - 1].rstrip() + "…"


def _table(codes: Mapping[str, Sequence[MissingCode]]) -> str:
    """Codes by column as TOML; a range is a list of its ends."""
    listed = {n: ", ".join(_quoted(c) if isinstance(c, str) else str(list(c) if isinstance(c, tuple) else c) for c in found)
              for n, found in codes.items()}
    return "{ " + ", ".join(f"{_quoted(n)} = [{found}]" for n, found in listed.items()) + " }"


def _toml(value: str | Mapping[str, str]) -> str:
    """A setting of [source] as TOML: a text, or texts by column."""
    if isinstance(value, str):
        return _quoted(value)
    return "{ " + ", ".join(f"{_quoted(n)} = {_quoted(v)}" for n, v in value.items()) + " }"


def _line(guess: RoleGuess) -> str:
    return f"    {_quoted(guess.name)},  # {guess.what}: {guess.why}"


def _quoted(text: str) -> str:
    """Text as TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
