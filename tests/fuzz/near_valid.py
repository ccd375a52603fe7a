"""Strategies for input that is valid or nearly so, so that a campaign reaches what lies behind the parsers.

Steps take their fields and limits from the classes of the masks; conditions, rules and formulas follow their grammars;
documents have some values replaced, and pairing files other columns, types and digests.
"""

from __future__ import annotations

import copy
import io
import json
import types
import typing
import zipfile
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from annotated_types import Ge, Gt, Le, Lt
from hostile_values import damaged, plain, texts
from hypothesis import strategies as st

_NAMES = ("a", "b", "region", "day", "zero")
_TEXTS = ("north", "south", "", "North", "west", "2019-04-14", "0007")

# --- conditions, rules and formulas -----------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_bounds = st.one_of(st.integers(-5, 1100), st.floats(-1e3, 1e3), st.sampled_from([0, -0.0, 1e308, 2**53 + 1])).map(repr)
_orders = st.sampled_from(["<", "<=", ">", ">=", "=", "==", "!="])
_simple = st.one_of(
    st.tuples(st.sampled_from(["a", "b", "`a`"]), _orders, _bounds).map(" ".join),
    st.tuples(_bounds, _orders, st.sampled_from(["a", "b"])).map(" ".join),
    st.tuples(st.just("region"), st.sampled_from(["=", "!=", "=="]), st.sampled_from(_TEXTS).map(_quoted)).map(" ".join),
    st.tuples(st.just("day"), _orders, st.dates().map(lambda d: _quoted(d.isoformat()))).map(" ".join),
    st.lists(st.sampled_from(_TEXTS).map(_quoted), max_size=3).map(lambda v: f"region in [{', '.join(v)}]"),
    st.lists(_bounds, max_size=3).map(lambda v: f"a not in [{', '.join(v)}]"),
    st.tuples(_bounds, st.sampled_from(["a", "b"]), _bounds).map(lambda t: f"{t[0]} <= {t[1]} < {t[2]}"),
)
conditions = st.recursive(_simple, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join), inner.map(lambda c: f"not ({c})"),
    inner.map(lambda c: f"({c})"),
), max_leaves=6)

_sums = st.lists(
    st.one_of(st.sampled_from(["a", "b"]), st.tuples(_bounds, st.sampled_from(["a", "b"])).map(" * ".join)),
    min_size=1, max_size=3,
).map(" + ".join)
_wide = st.integers(1000, 10**6).map(str)
_kept = st.one_of(
    st.tuples(_sums, st.just("<="), _wide).map(" ".join), st.sampled_from(["a >= 0", "b >= 0", "a >= -1e9", "b <= 1e308"]),
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([">=", "<="]), _bounds).map(" ".join),
)
rules = st.one_of(
    _kept, st.tuples(_kept, _kept).map(lambda t: f"if {t[0]} then {t[1]}"),
    st.tuples(_simple, _kept).map(lambda t: f"if {t[0]} then {t[1]}"),
    st.tuples(_sums, st.just("="), _sums, st.sampled_from(["", " where it held", " tolerance 1", " where a > 3"]))
    .map(lambda t: f"{t[0]} {t[1]} {t[2]}{t[3]}"),
    st.tuples(_kept, conditions).map(lambda t: f"{t[0]} where {t[1]}"),
)
_parts = st.sampled_from(["a", "b", "`region`", "C(region)", "log(a)", "sqrt(b)", "I(b**2)", "poly(a, 3)", "0", "1", "x.y"])
formulas = st.tuples(
    st.sampled_from(["a", "log(a)", "sqrt(b)", "`my column`"]),
    st.recursive(_parts, lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", ":", "*"]), inner).map("".join), inner.map(lambda f: f"({f})"),
        inner.map(lambda f: f"-{f}"),
    ), max_leaves=7),
).map(" ~ ".join)

# --- steps -------------------------------------------------------------------------------------------------------------------


def _toml(value: Any) -> str:
    """A value as a study file or a step on the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


def _limited(kind: type, limits: list[Any]) -> Any:
    """Numbers within the limits, and at them."""
    low: Any = next((m.ge if isinstance(m, Ge) else m.gt for m in limits if isinstance(m, Ge | Gt)), -10)
    high: Any = next((m.le if isinstance(m, Le) else m.lt for m in limits if isinstance(m, Le | Lt)), max(low, 0) + 60)
    low, high = (kind(min(max(v, -1e9), 1e9)) for v in (low, high))
    between = st.integers(low, high) if kind is int else st.floats(low, high)
    return st.one_of(between, st.sampled_from([low, high]))


def fitting(annotation: Any) -> Any:
    """A strategy for values of a field's type."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        limits = [m for field in inner[1:] for m in (*getattr(field, "metadata", ()), field)]
        return _limited(inner[0], limits) if inner[0] in (int, float) else fitting(inner[0])
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(fitting(a) for a in inner if a is not type(None)))
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        size = {} if inner[-1] is Ellipsis else {"min_size": len(inner), "max_size": len(inner)}
        return st.lists(fitting(inner[0]), **{"max_size": 3, **size})
    if origin is dict or str(origin).endswith("Mapping'>"):
        return st.dictionaries(st.sampled_from(_NAMES), fitting(inner[1]), max_size=3)
    if annotation in (int, float):
        return _limited(annotation, [])
    if annotation is bool:
        return st.booleans()
    return st.one_of(st.sampled_from(_NAMES), conditions, texts)


@cache
def _masks() -> list[str]:
    from larvatus.core.discovery import own_names

    return sorted(own_names("larvatus.masks"))


@cache
def _fields(mask: str) -> dict[str, Any]:
    from larvatus.core.discovery import load

    found: Any = load("larvatus.masks", mask)
    usual = {"columns": st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2, unique=True), "where": conditions}
    kinds = {f: typing.Annotated[i.annotation, *i.metadata] if i.metadata else i.annotation
              for f, i in found.model_fields.items()}
    return {f: usual[f] if f in usual else fitting(kind) for f, kind in kinds.items()}


@st.composite
def steps(draw: Any) -> str:
    """A mask with some of its fields, of which each has a value of the right type; now and then something else."""
    name = draw(st.sampled_from(_masks()))
    fields = _fields(name)
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    given = {f: draw(st.one_of(fields[f], fields[f], fields[f], fields[f], plain)) for f in chosen}
    return f"{name}({', '.join(f'{f}={_toml(v)}' for f, v in given.items())})"


# --- documents ---------------------------------------------------------------------------------------------------------------


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in _places(one, (*at, key)))][bool(not at):]


@st.composite
def edited(draw: Any, original: Any) -> Any:
    """A document with up to three values replaced, removed or repeated elsewhere."""
    out = copy.deepcopy(original)
    for _ in range(draw(st.integers(0, 3))):
        places = _places(out)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        inside = out
        for key in way:
            inside = inside[key]
        kind = draw(st.sampled_from(("replace", "remove", "exchange", "digit")))
        if kind == "remove":
            del inside[last]
        elif kind == "exchange":
            *other, end = draw(st.sampled_from(places))
            found = out
            for key in (*other, end):
                found = found[key]
            inside[last] = copy.deepcopy(found)
        elif kind == "digit" and isinstance(inside[last], str) and inside[last]:
            inside[last] = inside[last][:-1] + draw(st.sampled_from("0f?é\n"))
        else:
            inside[last] = draw(plain)
    return out


def damaged_member(content: bytes) -> Any:
    """A package such as XLSX with one of its files damaged: the package itself stays whole."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        files = {n: package.read(n) for n in package.namelist()}

    def packed(name: str, inner: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as package:
            for one, text in {**files, name: inner}.items():
                package.writestr(one, text)
        return out.getvalue()

    return st.sampled_from(sorted(files)).flatmap(lambda n: damaged(files[n]).map(lambda inner: packed(n, inner)))


@cache
def _table(content: bytes) -> pa.Table:
    return parquet.read_table(io.BytesIO(content))


@st.composite
def pairings(draw: Any, content: bytes) -> bytes:
    """A pairing file with other record ids, types, columns or digests."""
    table = _table(content)
    name = table.column_names[0]
    values = table.column(name).to_pylist()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(values) - 1))
        values[at] = draw(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 60), st.sampled_from(values)))
    if draw(st.booleans()):
        values = draw(st.permutations(values))
    values = values[: draw(st.sampled_from([len(values), len(values), len(values), 0, 1, len(values) - 1]))]
    kind = draw(st.sampled_from([table.schema.field(0).type] * 4 + [
        pa.int32(), pa.uint64(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.timestamp("us"), pa.list_(pa.int64())]))
    try:
        first = pa.array(values, type=kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        first = pa.array([None if v is None else str(v) for v in values])
    columns = {draw(st.sampled_from([name] * 5 + ["person", "", "Record"])): first}
    for other in table.column_names[1:]:
        if draw(st.integers(0, 4)):
            filler = draw(st.one_of(st.none(), texts.filter(_is_utf8)))
            columns[other] = pa.array([filler] * len(values), type=pa.string())
    known = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    parsed = {k: json.loads(v) if v.startswith("{") else v for k, v in known.items()}
    stated = {k: v if isinstance(v, str) else json.dumps(v) for k, v in draw(edited(parsed)).items()}
    made = pa.table(columns).replace_schema_metadata({k: v for k, v in stated.items() if _is_utf8(k + v)})
    out = io.BytesIO()
    parquet.write_table(made, out, compression="none")
    return out.getvalue()


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)
