"""First guesses of the roles of columns, from their names and what they hold, for the user to confirm.

Guesses err on the side of safety: what may identify a person, what is free text and what cannot be judged gets no role, and a
column without a role is not released.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from larvatus.advice.column_kinds import ColumnKind
from larvatus.core.number_format import plural
from larvatus.data.design import MOST_LEVELS
from larvatus.data.text_columns import FEW_CODES

Role = Literal["confidential", "non_confidential", "identifiers", "weight", "none"]
_LONG_TEXT, _SOME_LEVELS, _OLDEST = 4.0, 30, 120
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words))


_PERSON = _any("^name$", "^(first|last|sur|given|family|full|nach|vor|voor|achter)_?name?", "surname", "^nom$", "prenom",
              "email", "^mail", "phone", "^tel$", "mobile", "address", "street", "strasse", "adresse", "passport", "licen[cs]e",
              "^ssn$", "^bsn$",
              "^nino$", "^iban$", "^ip$", "personnummer", "steuer_?id", "insee", "^url$", "facebook", "twitter")
_NUMBERING = _any("^(person|household|respondent|patient|haushalt|menage)$",
                 "(^|_)(id|ids|key|nr|no|num|number|uuid|guid|serial|caseid|lfdnr)$", "(^|_)[a-z]{0,3}id$", "^id_")
_WEIGHT = _any("weight", "wgt", "(^|_)wt(_|$)", "gewicht", "poids", "hochrechn")
_BIRTH = _any("birth", "^dob$", "born", "geburt", "geboren", "naissance")
_POSTAL = _any("post_?code", "postal", "^zip", "(^|_)zip$", "^plz$", "^pc[46]$", "^cp$", "^uprn$")
_MONEY = _any("income", "salary", "wage", "earn", "revenue", "turnover", "profit", "debt", "asset", "money", "saving", "expend",
             "price", "cost", "wealth", "pension", "benefit", "tax", "loan", "rent$", "einkommen", "umsatz", "lohn", "revenu",
             "salaire", "inkomen", "agi$", "val$", "amount", "amt", "balance", "fica", "contrb")
_AGE = _any("^age$", "(^|_)age$", "^age_", "^alter$", "leeftijd")
_PLACE = _any("region", "province", "county", "district", "municipal", "commune", "kreis", "^land$", "bundesland", "^state$",
             "country", "^nuts", "gemeente", "^city$", "^town$", "place")
_CODE = _any("code", "class", "cat$", "category", "type", "kind", "group")
_SENSITIVE = _any("diagnos", "disease", "illness", "health", "hiv", "icd", "medic", "treatment", "therap", "disab", "drug",
                 "alcohol", "smok", "pregnan", "abortion", "genetic", "suicid", "religio", "belief", "church", "ethni", "etni",
                 "^race", "(^|_)race$", "caste", "orientation", "crim", "offen[cs]e", "convict", "arrest", "prison", "vote",
                 "party", "politic", "union", "krank", "behinder", "partei", "straf", "maladie", "sante", "handicap", "ziekte")
_IN_LABELS = (_BIRTH, _POSTAL, _MONEY, _AGE, _SENSITIVE)
_NUMBER_COUNT = _any("^num", "^n_", "count", "^nb_", "size$", "anzahl")


@dataclass(frozen=True, slots=True)
class RoleGuess:
    """The guess for one column: its role, what it seems to be, why, and a warning if it may identify or disclose."""

    column: ColumnKind
    role: Role
    what: str
    why: str
    nominal: bool = False
    warning: str = ""

    @property
    def name(self) -> str:
        return self.column.name


def guess_role(column: ColumnKind) -> RoleGuess:
    """The first rule that fits: from what must not be released to what may be."""
    name = "_".join(p.lower() for p in _PART.findall(column.name)) or column.name.lower()
    plain, label = column.name.lower(), column.label.lower()

    def named(pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(text) for text in (name, plain, *([label] if pattern in _IN_LABELS else [])))

    for rule in (_unusable, _person, _date, _weight, _record_number, _postcode, _nearly_numbers, _text, _sensitive, _labelled):
        found = rule(column, named)
        if found is not None:
            return found
    return _value(column, named)


def _source(c: ColumnKind) -> str:
    return "name or label" if c.label else "name"


def _unusable(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.type == "empty":
        return RoleGuess(c, "none", "empty", "it has no value")
    if c.distinct <= 1 and not c.missing:
        return RoleGuess(c, "none", "constant", "it has one value in all records")
    return None


def _person(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.pattern in ("emails", "accounts", "phones"):
        return RoleGuess(c, "identifiers", "direct identifier", f"most cells look like {c.pattern}",
                         warning="identifies persons directly")
    if named(_PERSON) and not (c.numeric and c.distinct <= FEW_CODES):
        return RoleGuess(c, "identifiers", "direct identifier", "its name suggests a person's name, address or number",
                         warning="identifies persons directly")
    return None


def _date(c: ColumnKind, named: Any) -> RoleGuess | None:
    if named(_BIRTH) and (c.pattern == "dates" or c.distinct > 200):
        return RoleGuess(c, "identifiers", "date of birth", f"its {_source(c)} suggests a date of birth",
                         warning="a date of birth singles out persons; release the age or the year instead")
    if c.type == "dates":
        return RoleGuess(c, "none", "date", 'it contains dates; to release them, declare it confidential and use date_shift or '
                                            'recoding(unit="month")')
    if c.pattern == "dates":
        return RoleGuess(c, "none", "date", _dates_as_text(c))
    return None


def _dates_as_text(c: ColumnKind) -> str:
    """Why dates of a column are read as text, and what to do."""
    if not c.forms:
        return "most cells are dates, but of several forms; write all of them in one form"
    several = len({form[0] for form in c.forms}) > 1  # begins with the day or with the month
    why = "day and month of its dates cannot be told apart" if several else "its dates are written as text"
    return f'{why}; state the form: --dates {c.name}={c.forms[0]}, or dates = {{ {c.name} = "{c.forms[0]}" }} in [source]'


def _weight(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.numeric and named(_WEIGHT) and c.lowest > 0:
        return RoleGuess(c, "weight", "survey weight", "its name suggests a weight, and all values are above 0")
    return None


def _record_number(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.running and c.unique:
        return RoleGuess(c, "identifiers", "record number", "it numbers the records", warning="allows anyone to pair records")
    if named(_NUMBERING) and c.distinct > FEW_CODES and c.type != "numbers":
        own = "every record has its own" if c.unique else "records share it, as members of a household do"
        return RoleGuess(c, "identifiers", "identifier", f"its name suggests a number of persons or units; {own}",
                         warning="allows anyone to pair records")
    return None


def _postcode(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.pattern == "postcodes" or (named(_POSTAL) and c.distinct > FEW_CODES):
        return RoleGuess(c, "none", "postcode", "cells or name suggest postcodes",
                         warning="a detailed place singles out persons; release a region instead")
    return None


def _nearly_numbers(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.pattern != "numbers":
        return None
    if not c.strays:
        return RoleGuess(c, "none", "numbers as text", "its cells are numbers stored as text; convert them in the source")
    return RoleGuess(c, "none", "numbers and text", f"most cells are numbers, and {c.strays:,} are text; correct these, remove "
                                                    "titles and totals, or state them as missing values (missing = …)")


def _text(c: ColumnKind, named: Any) -> RoleGuess | None:
    if c.type != "text":
        return None
    if c.words >= _LONG_TEXT and c.distinct > FEW_CODES:
        return RoleGuess(c, "none", "free text", f"its texts have {c.words:.0f} words on average",
                         warning="free text can contain names and addresses")
    if c.unique:
        return RoleGuess(c, "identifiers", "identifier", "nearly every record has a text of its own",
                         warning="may identify persons")
    return None


def _sensitive(c: ColumnKind, named: Any) -> RoleGuess | None:
    if not named(_SENSITIVE) or c.distinct > MOST_LEVELS or (c.numeric and c.type != "whole numbers"):
        return None
    return RoleGuess(c, "confidential", "sensitive category",
                     f"its {_source(c)} suggests health, belief, origin, politics or offences",
                     nominal=c.numeric and not c.is_ordered)


def _labelled(c: ColumnKind, named: Any) -> RoleGuess | None:
    if not c.labels or c.distinct > MOST_LEVELS:
        return None
    role: Role = "confidential" if _MONEY.search(c.name.lower()) else "non_confidential"
    why = plural(c.labels, "value label") + (", and its measure is ordinal" if c.is_ordered else "")
    return RoleGuess(c, role, "ordered category" if c.is_ordered else "category", why, nominal=c.numeric and not c.is_ordered)


def _value(c: ColumnKind, named: Any) -> RoleGuess:
    if not c.numeric:
        if c.distinct > MOST_LEVELS:
            return RoleGuess(c, "none", "category", f"{c.distinct:,} categories, and masks handle {MOST_LEVELS}: group them")
        return RoleGuess(c, "non_confidential", "category", f"{c.distinct} categories")
    if c.type == "whole numbers" and c.distinct - len(c.codes) <= FEW_CODES and not named(_MONEY) and c.measure != "scale":
        return RoleGuess(c, "non_confidential", "category", f"{c.distinct} different whole numbers, maybe codes", nominal=True)
    if named(_AGE) and c.lowest >= 0 and c.highest <= _OLDEST:
        return RoleGuess(c, "non_confidential", "age", f"its {_source(c)} and range suggest an age")
    if named(_MONEY):
        return RoleGuess(c, "confidential", "money", f"its {_source(c)} suggests an amount of money")
    if c.type == "whole numbers" and (named(_CODE) or named(_PLACE)):
        many = c.distinct > MOST_LEVELS
        why = f"its name suggests codes; {c.distinct:,} of them"
        why += f", and masks handle {MOST_LEVELS}: group them" if many else ""
        return RoleGuess(c, "none" if many else "non_confidential", "category", why, nominal=not many)
    if c.type == "whole numbers" and (named(_NUMBER_COUNT) or c.distinct <= _SOME_LEVELS):
        return RoleGuess(c, "non_confidential", "count", f"{c.distinct} different whole numbers")
    if c.type == "whole numbers" and c.distinct <= _OLDEST and c.highest < 1000:
        return RoleGuess(c, "non_confidential", "count or code", f"{c.distinct} different whole numbers")
    return RoleGuess(c, "confidential", "amount", f"{c.distinct:,} different numbers")


def guesses_for(columns: Sequence[ColumnKind]) -> tuple[RoleGuess, ...]:
    """A guess for every column. Only one column is the weight; other weights get no role."""
    out: list[RoleGuess] = []
    for guess in map(guess_role, columns):
        if guess.role == "weight" and any(g.role == "weight" for g in out):
            guess = RoleGuess(guess.column, "none", "another weight", "a release has one weight; choose the right one")
        out.append(guess)
    return tuple(out)
