"""Forms for the settings of methods, made from their typed fields, and values from what was typed into them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from larvatus.core.discovery import load
from larvatus.core.errors import StudyError
from larvatus.data.contracts import Mask, Method
from larvatus.data.method_help import allowed_values, describe_method
from larvatus.data.method_parsing import method_of

Control = Literal["number", "choice", "columns", "text"]
_RARE = frozenset(Mask.model_fields)  # columns, where, scope: every mask has them


@dataclass(frozen=True, slots=True)
class FormField:
    """One setting as a control: a number with its limits, a choice, columns to tick, or a value as in TOML."""

    name: str
    control: Control
    value: str
    meaning: str
    allowed: str
    default: str
    choices: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    whole: bool = False
    rare: bool = False
    problem: str = ""


def mask_class(name: str) -> type[Mask]:
    """The class of a mask by its name."""
    found: type[Mask] = load("larvatus.masks", name)
    return found


def form_fields(method: type[Method], settings: Mapping[str, Any], columns: Sequence[str]) -> list[FormField]:
    """The controls for all settings of a method; rare ones last."""
    schema = method.model_json_schema()
    defs, parts = schema.get("$defs", {}), schema.get("properties", {})
    made = [_field(n, part, defs, settings.get(n), columns) for n, part in parts.items()]
    return sorted(made, key=lambda f: f.rare)


def _field(name: str, part: Mapping[str, Any], defs: Mapping[str, Any], value: Any, columns: Sequence[str]) -> FormField:
    kinds = [_resolve(p, defs) for p in part.get("anyOf", [part]) if p.get("type") != "null"]
    default = part.get("default")
    about = {"meaning": part.get("description", ""), "allowed": allowed_values(part, defs),
             "default": "" if default is None else _as_text(default), "rare": name in _RARE}
    shown = default if value is None else value
    if name in ("columns", "keys", "by") and any(k.get("type") == "array" for k in kinds):
        chosen = tuple(map(str, shown or ())) if isinstance(shown, list | tuple) else ()
        return FormField(name, "columns", "", choices=tuple(dict.fromkeys((*columns, *chosen))), chosen=chosen, **about)
    only = kinds[0] if len(kinds) == 1 else {}
    options = only.get("enum") or ([True, False] if only.get("type") == "boolean" else None)
    if options is None and kinds and all("const" in k for k in kinds):
        options = [k["const"] for k in kinds]
    if options is not None:
        empty = ("",) if default is None else ()
        return FormField(name, "choice", _as_text(shown), choices=(*empty, *map(_as_text, options)), **about)
    if only.get("type") in ("number", "integer"):
        low, high = (only.get(k, only.get(f"exclusive{k.capitalize()}")) for k in ("minimum", "maximum"))
        return FormField(name, "number", _as_text(shown), low=_as_text(low), high=_as_text(high),
                         whole=only["type"] == "integer", **about)
    return FormField(name, "text", _as_text(shown), **about)


def _resolve(part: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = defs[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return found


def _as_text(value: Any) -> str:
    """A value as it stands in a field: texts as they are, anything else as in TOML."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def typed_value(text: str) -> Any:
    """What was typed, read as in TOML: a number, a list, true or false; else the text itself."""
    try:
        return tomllib.loads(f"v = {text.strip()}")["v"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def settings_from(method: type[Method], form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The settings of a step from a form; empty fields have their default."""
    out: dict[str, Any] = {"method": method.name()}
    for field in form_fields(method, {}, ()):
        given = [v for v in form.get(f"setting.{field.name}", ()) if v.strip()]
        if not given:
            continue
        out[field.name] = list(given) if field.control == "columns" else _value_of(method, field, given[0])
    return out


def _value_of(method: type[Method], field: FormField, text: str) -> Any:
    """A typed value, unless the setting takes only texts."""
    part = method.model_json_schema()["properties"][field.name]
    kinds = [p for p in part.get("anyOf", [part]) if p.get("type") != "null"]
    texts = all(p.get("type") == "string" or isinstance(p.get("const"), str) for p in kinds)
    return text.strip() if texts else typed_value(text)


def step_problems_by_field(settings: Mapping[str, Any]) -> dict[str, str]:
    """The problems of a step by setting; the empty name has those that concern none alone."""
    method = settings["method"]
    alone = {n: _problems({"method": method, n: v}) for n, v in settings.items() if n != "method"}
    out = {n: " ".join(found) for n, found in alone.items() if found}
    joint = () if out else _problems(settings)
    return {"": " ".join(joint)} if joint else out


def _problems(settings: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        method_of(Mask, settings)
    except StudyError as error:
        return error.problems
    return ()


def grid_values(given: str) -> list[Any]:
    """Several values of one setting, separated by semicolons; one if there is no semicolon."""
    return [typed_value(part) for part in given.split(";") if part.strip()]


def mask_summary(name: str) -> str:
    """What a mask does, in one sentence."""
    return describe_method(mask_class(name)).summary
