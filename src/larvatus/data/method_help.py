"""Descriptions of methods from their docstrings and fields, for help, reference pages and forms."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from larvatus.core.number_format import exact_number
from larvatus.data.contracts import Attack, Mask, Method
from larvatus.data.intruder import PRESETS

NO_PRIVACY = "none, with any settings"
METHOD_ROOMS = {"masks": "larvatus.masks", "attacks": "larvatus.attacks", "measures": "larvatus.measures"}
_USE = ("Use it ", "Look at it ")
_LISTS = re.compile(r"^(?:Parameters|Examples):", re.MULTILINE)
_NESTED = {"array": "a list of these", "object": "one by column"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One field: its name, allowed values, default, and meaning."""

    name: str
    allowed: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a method; `use` says when to use it and when not."""

    name: str
    summary: str
    text: str
    settings: tuple[Setting, ...]
    publishable: tuple[str, ...] = ()
    public_sentence: str = ""
    assumes: str = ""
    nemesis: tuple[str, ...] = ()
    use: str = ""
    privacy: str = ""


def describe_method(method: type[Method]) -> Description:
    """A method's summary, its explanation without the parameter list, and its settings."""
    summary, rest = _summary_and_rest(method)
    said = [" ".join(part.split()) for part in rest.split("\n\n")]
    use = " ".join(part for part in said if part.startswith(_USE))
    text = " ".join(part for part in said if not part.startswith(_USE)).strip()
    schema = method.model_json_schema()
    parts: dict[str, Any] = schema.get("properties", {})
    own_first = sorted(parts, key=lambda name: name in Mask.model_fields)
    settings = tuple(
        Setting(n, allowed_values(parts[n], schema.get("$defs", {})), _default(parts[n]), parts[n].get("description", ""))
        for n in own_first
    )
    if not issubclass(method, Mask):
        assumes = method.assumes if issubclass(method, Attack) else ""
        return Description(method.name(), summary, text, settings, assumes=assumes, use=use)
    return Description(
        method.name(), summary, text, settings, tuple(sorted(method.publishable)), method().public_sentence(),
        nemesis=method.nemesis, use=use, privacy=method.has_privacy or NO_PRIVACY,
    )


def _summary_and_rest(described: type) -> tuple[str, str]:
    """The first paragraph of a docstring, and the others up to its list of parameters or its examples."""
    summary, _, rest = inspect.cleandoc(described.__doc__ or "").partition("\n\n")
    return summary, _LISTS.split(rest)[0]


def describe_engine(name: str, engine: type) -> Description:
    """An engine's summary and explanation, from its docstring."""
    summary, rest = _summary_and_rest(engine)
    return Description(name, " ".join(summary.split()), " ".join(rest.split()), ())


def describe_intruder(preset: str | None = None) -> Description:
    """The fields of the intruder; for a preset, with its values instead of the defaults."""
    from larvatus.data.intruder import Intruder

    summary, rest = _summary_and_rest(Intruder)
    schema = Intruder.model_json_schema()
    stated = {k: json.dumps(v) for k, v in PRESETS.get(preset or "", {}).items()}
    settings = tuple(
        Setting(n, allowed_values(part, schema.get("$defs", {})), stated.get(n, _default(part)), part.get("description", ""))
        for n, part in schema["properties"].items()
    )
    text = " ".join(rest.split())
    if preset is None:
        presets = " ".join(f"\"{name}\": {Intruder.preset(name).in_words()}" for name in PRESETS)
        return Description("intruder", summary, f"{text} {presets}", settings)
    differs = ", ".join(f"{k} = {v}" for k, v in stated.items()) or "only the defaults"
    return Description(preset, Intruder.preset(preset).in_words(), f"A preset that sets {differs}. {text}", settings)


def allowed_values(part: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    """The allowed values of a field, in words, from its JSON schema."""
    if "$ref" in part:
        return allowed_values(defs[part["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in part:
        texts = {"texts": part.get("texts", "names")}
        return _alternatives([{**p, **texts} for p in part["anyOf"] if p.get("type") != "null"], defs)
    if "enum" in part:
        return " | ".join(json.dumps(v) for v in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    kind = part.get("type")
    if kind == "array":
        return _list(_inside(part), part.get("texts", "names"), defs)
    if kind == "object":
        inner = part.get("additionalProperties")
        return f"by column, each {allowed_values(inner, defs)}" if isinstance(inner, Mapping) else "by column"
    words = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true | false"}
    return words.get(str(kind), "anything") + _limits(part)


def _alternatives(parts: Sequence[Mapping[str, Any]], defs: Mapping[str, Any]) -> str:
    """Several allowed forms; the values in a list or a table are not described again if they may also stand alone."""
    plain = dict.fromkeys(allowed_values(p, defs) for p in parts if p.get("type") not in _NESTED)
    more: dict[str, None] = {}
    for part in (p for p in parts if p.get("type") in _NESTED):
        inner = _inside(part)
        again = inner is not None and allowed_values(inner, defs) in plain
        more[_NESTED[part["type"]] if again else allowed_values(part, defs)] = None
    forms = [*plain, *more]
    return " or ".join(forms) if len(forms) < 3 else f"{', '.join(forms[:-1])}, or {forms[-1]}"


def _inside(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a list or a table holds."""
    found = part.get("items") or (part.get("prefixItems") or [None])[0] or part.get("additionalProperties")
    return found if isinstance(found, Mapping) else None


def _list(inner: Mapping[str, Any] | None, texts: str, defs: Mapping[str, Any]) -> str:
    """A list, or lists within a list; `texts` is what its texts are."""
    said = "a list"
    while inner is not None and inner.get("type") == "array":
        said, inner = f"{said} of lists", _inside(inner)
    if inner is not None and inner.get("type") == "string":
        return f"{said} of {texts}"
    return f"{said}, each {allowed_values(inner or {}, defs)}"


def _limits(part: Mapping[str, Any]) -> str:
    said = {"exclusiveMinimum": "above", "minimum": "at least", "exclusiveMaximum": "below", "maximum": "at most"}
    found = [f"{word} {exact_number(part[key])}" for key, word in said.items() if key in part]
    return f" ({', '.join(found)})" if found else ""


def _default(part: Mapping[str, Any]) -> str:
    if "default" not in part:
        return "needed"
    return "none" if part["default"] is None else json.dumps(part["default"])
