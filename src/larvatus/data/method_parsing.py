"""Build methods from what a user gives: an instance, a name, `name(field=value)`, or a table with a `method` key."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from larvatus.core.discovery import discover, file_names, load
from larvatus.core.errors import DiscoveryError, StudyError, nearest_names
from larvatus.core.number_format import exact_number
from larvatus.core.toml_text import read_toml
from larvatus.data.contracts import Attack, Mask, Measure, Method

_M = TypeVar("_M", bound=Method)
_PACKAGE: Mapping[type[Method], str] = {
    Mask: "larvatus.masks", Attack: "larvatus.attacks", Measure: "larvatus.measures",
}
_RENAMED = {"null": "null_resamples", "also": "other_releases"}  # settings of earlier versions
_LIMITS = {
    "greater_than": ("above", "gt"), "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"), "less_than_equal": ("at most", "le"),
}
_NO_NUMBER = {n: said for kind, said in (("float", "must be a number"), ("int", "must be a whole number"))
              for n in (f"{kind}_type", f"{kind}_parsing")} | {"int_from_float": "must be a whole number"}
_PLAIN = (str, int, float, bytes, list, tuple, dict, date, time, Path)
CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def method_of(kind: type[_M], given: Any) -> _M:
    """The method, or a StudyError that lists every problem."""
    if isinstance(given, kind):
        return given
    if isinstance(given, type) and issubclass(given, kind):
        return build_method(kind, given.name(), {})
    if isinstance(given, str):
        name, settings = parsed_call(given)
        return build_method(kind, name, settings)
    if isinstance(given, Mapping):
        settings = dict(given)
        name = settings.pop("method", None)
        if not isinstance(name, str):
            raise StudyError([f"a {kind.__name__.lower()} needs method = \"…\"; {_known(kind, '')}"])
        return build_method(kind, name, settings)
    raise StudyError([f"cannot read a {kind.__name__.lower()} from a {type(given).__name__}. Give a name or a table."])


def build_method(kind: type[_M], name: str, settings: Mapping[str, Any]) -> _M:
    """A method from its name and settings."""
    try:
        found = load(_PACKAGE[kind], name)
    except DiscoveryError:
        raise StudyError([f"no {_word(kind)} {name!r}; {_elsewhere(name) or _known(kind, name)}"]) from None
    method: _M = found(**settings)
    return method


def all_of(kind: type[_M], given: Sequence[Any] | Any | None) -> tuple[_M, ...]:
    """Several methods; None means all methods with their defaults."""
    if given is None:
        return tuple(build_method(kind, name, {}) for name in discover(_PACKAGE[kind]))
    if isinstance(given, str | Method | Mapping | type) or not isinstance(given, Iterable):
        given = [given]
    return tuple(method_of(kind, g) for g in given)


def validation_problems(where: str, error: ValidationError, fields: Sequence[str]) -> list[str]:
    """One message per field: its name, the limit, the value and the way out."""
    return list(problems_by_field(where, error, fields).values())


def problems_by_field(where: str, error: ValidationError, fields: Sequence[str], unknown: bool = True) -> dict[str, str]:
    """The messages by the name of the field; not of unknown fields if `unknown` is false."""
    said: dict[str, str] = {}
    for item in error.errors(include_url=False):
        if item["type"] == "extra_forbidden" and not unknown:
            continue
        place = [str(part) for part in item["loc"] if isinstance(part, int) or part in fields or len(item["loc"]) == 1]
        name = ".".join([where, *place]) if where else ".".join(place)
        if item["type"] == "extra_forbidden":
            given = str(item["loc"][-1])
            new = _RENAMED.get(given)
            meant = f"it is now called {new!r}." if new in fields else nearest_names(given, fields)
            said[name] = f"{name}: no such setting; {meant}"
        elif item["type"] == "missing":
            said[name] = f"{name}: this setting is required."
        elif item["type"] == "value_error" and (isinstance(item["input"], Mapping) or repr(item["input"]) in item["msg"]):
            said[name] = f"{name}: {item['msg'].removeprefix('Value error, ')}."
        elif name not in said:
            wrong = _limit(item) or _lower(item["msg"].removeprefix("Value error, "))
            said[name] = f"{name}: {wrong}, got {_given(item['input'])}."
    return said


def _given(value: object) -> str:
    """A value as it was written, but only the type of one that cannot be written: a data frame holds data."""
    text = repr(value) if value is None or isinstance(value, _PLAIN) else ""
    return text if text and "\n" not in text else type(value).__name__


def parsed_call(text: str) -> tuple[str, dict[str, Any]]:
    """Parse `name(field=value, …)` with values as in TOML or as in Python (`.5`, `True`, `None` left out)."""
    match = CALL.fullmatch(text)
    if match is None:
        raise StudyError([f"{text!r} cannot be parsed. Write name or name(field=value, …)."])
    inner = match[2]
    if not inner or not inner.strip():
        return match[1], {}
    try:
        return match[1], read_toml("settings = {" + inner + "}")["settings"]
    except tomllib.TOMLDecodeError:
        pass
    try:
        return match[1], _python_settings(f"f({inner})")
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise StudyError([f"{text!r}: the settings cannot be parsed. Write name(field=value, …), text in quotes."]) from None


def _python_settings(call: str) -> dict[str, Any]:
    """The keywords of a call with literal values; those that are None have their default."""
    found = ast.parse(call, mode="eval").body
    if not isinstance(found, ast.Call) or found.args or not all(k.arg for k in found.keywords):
        raise ValueError("not keywords only")
    values = {str(k.arg): ast.literal_eval(k.value) for k in found.keywords}
    return {k: v for k, v in values.items() if v is not None}


def canonical(methods: Sequence[Method]) -> str:
    """A canonical text of methods: every field that affects results, sorted. Equal methods give equal texts."""
    return json.dumps([{"method": m.name(), **_effective(m)} for m in methods], sort_keys=True)


def _effective(method: Method) -> dict[str, Any]:
    """The settings without those that only decide whether a mask raises an error, and without new ones that are not used.

    Random streams depend on this text, so a field that came later must not change it.
    """
    checks: frozenset[str] = getattr(method, "checks", frozenset())
    added: frozenset[str] = getattr(method, "added_later", frozenset())
    return {k: v for k, v in method.settings().items() if k not in checks and not (k in added and v is None)}


def short_text(method: Method) -> str:
    """The name and the settings that differ from the defaults; a list of record ids is shown as its length."""
    settings = _without_ids(method.model_dump(mode="json", exclude_defaults=True))
    inner = ", ".join(f"{k}={json.dumps(v)}" for k, v in settings.items())
    return f"{method.name()}({inner})" if inner else method.name()


def redacted_settings(method: Method) -> dict[str, Any]:
    """The method and all its settings as stored with scores; a list of record ids is stored as its length."""
    return {"method": method.name(), **_without_ids(method.settings())}


def _without_ids(settings: dict[str, Any]) -> dict[str, Any]:
    where = settings.get("where")
    return {**settings, "where": f"{len(where):,} record ids"} if isinstance(where, list | tuple) else settings


def _word(kind: type[Method]) -> str:
    return kind.__name__.lower()


def _elsewhere(name: str) -> str:
    """Where a method of another kind belongs in a study."""
    other = next((k for k, package in _PACKAGE.items() if name in file_names(package)), None)
    if other is None:
        return ""
    part = "the steps of [[release]]" if other is Mask else f"[[{_word(other)}]]"
    return f"it is {'an' if other is Attack else 'a'} {_word(other)}, which belongs in {part}."


def _known(kind: type[Method], name: str) -> str:
    return nearest_names(name, discover(_PACKAGE[kind]))


def _limit(item: ErrorDetails) -> str:
    """The limit that a number does not keep, as help states it, or that it is none; empty if that is not the problem."""
    if item["type"] in _NO_NUMBER:
        return _NO_NUMBER[item["type"]]
    word, key = _LIMITS.get(item["type"], ("", ""))
    limit = item.get("ctx", {}).get(key)
    return f"must be {word} {exact_number(limit)}" if isinstance(limit, int | float) else ""


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
