"""Strategies for damaged and hostile input: texts, values, tables, and files with bytes changed."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NASTY_TEXTS = (
    "", " ", "NA", "nan", "inf", "-0", "0007", "1e400", "9" * 4400, "=cmd|' /C calc'!A0", "+1", "@SUM(A1)",
    "<script>alert(1)</script>",
    "'; DROP TABLE x; --", '"quoted"', "a,b", "a;b", "a\nb", "a\r\nb", "\x00", "\ufeff", "\u202e", "é", "e\u0301", "\U0001f600",
    "\ud800",
    "../../etc/passwd", "/**/[*", "${HOME}", "`id`", "%s%n", "[" * 3000, "(" * 3000, "{}", "null", "None", "true", "__class__",
    "a" * 70000, "\\", "\\N", "1_000", "１２", "0x10", "1,5", "2024-02-30", "24:61",
)
WORDS = (
    "a", "b", "c", "x", "income", "age", "region", "and", "or", "not", "in", "is", "None", "=", "==", "!=", "<", "<=", ">",
    ">=",
    "+", "-", "*", "/", "**", "(", ")", "[", "]", ",", ":", "'north'", '"south"', "1", "0", "-1", "1e999", "9" * 5000, "1e-320",
    "`a`", "lambda", "__import__('os')", "a.b", "a[0]", "if", "else", "~", "|", "&", "^", "log", "sum(a)", "factor(b)", "%",
)

numbers = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.sampled_from([1e-320, 1e308, -0.0, 2.0**53, 10**4000, 2**63, -(2**63)]),
)
texts = st.one_of(st.sampled_from(NASTY_TEXTS), st.text(max_size=12))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)), max_leaves=8,
)
sentences = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), st.lists(st.sampled_from(WORDS), max_size=9).map("".join),
    texts,
    st.integers(1, 4000).map(lambda n: "(" * n + "a" + ")" * n), st.integers(1, 4000).map(lambda n: "not " * n + "a > 1"),
    st.integers(1, 3000).map(lambda n: "-" * n + "a"), st.integers(1, 2000).map(lambda n: "a" + " + a" * n + " = 3"),
)


@st.composite
def damaged(draw: Any, original: bytes) -> bytes:
    """Bytes with some changed, removed, added or repeated."""
    out = bytearray(original)
    for _ in range(draw(st.integers(0, 6))):
        if not out:
            break
        at = draw(st.integers(0, len(out) - 1))
        kind = draw(st.sampled_from(("change", "remove", "insert", "cut", "repeat")))
        if kind == "change":
            out[at] = draw(st.integers(0, 255))
        elif kind == "remove":
            del out[at : at + draw(st.integers(1, 40))]
        elif kind == "insert":
            out[at:at] = draw(st.binary(max_size=20))
        elif kind == "cut":
            del out[at:]
        else:
            out[at:at] = out[at : at + 200]
    return bytes(out)


def _column(kind: pa.DataType, cells: st.SearchStrategy[Any]) -> Any:
    def build(values: list[Any]) -> pa.Array:
        try:
            return pa.array(values, type=kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            return pa.nulls(len(values), type=kind)

    return lambda n: st.lists(st.one_of(st.none(), cells), min_size=n, max_size=n).map(build)


_UNUSUAL = st.sampled_from(["", "a", "A", " a", "é", "e\u0301", "0", "00", "007", "1.50", "-0.0", str(2**53 + 1), "ß"])
_DAYS = st.dates(date(1600, 1, 1), date(2500, 1, 1))
COLUMNS = (
    _column(pa.int64(), st.integers(-(2**63), 2**63 - 1)), _column(pa.int8(), st.integers(-128, 127)),
    _column(pa.uint64(), st.integers(0, 2**64 - 1)), _column(pa.float64(), st.floats(allow_infinity=False)),
    _column(pa.float32(), st.floats(width=32, allow_infinity=False)), _column(pa.string(), st.text(max_size=6)),
    _column(pa.string(), _UNUSUAL), _column(pa.bool_(), st.booleans()),
    _column(pa.date32(), _DAYS), _column(pa.timestamp("us"), st.datetimes()),
    _column(pa.time64("us"), st.times()), _column(pa.decimal128(12, 3), st.decimals(-10**6, 10**6, places=3)),
    _column(pa.large_string(), st.text(max_size=3)), _column(pa.binary(), st.binary(max_size=4)),
    _column(pa.duration("s"), st.timedeltas(timedelta(0), timedelta(days=9))),
    _column(pa.list_(pa.int64()), st.lists(st.integers(0, 3))),
)
PLAIN_COLUMNS = (  # what a CSV file can hold
    _column(pa.int64(), st.integers(-(2**63), 2**63 - 1)), _column(pa.string(), st.text(max_size=6)),
    _column(pa.float64(), st.floats(allow_nan=False, allow_infinity=False)), _column(pa.string(), _UNUSUAL),
    _column(pa.string(), st.sampled_from(NASTY_TEXTS[:30])),
)


_ROLES = ("non_confidential", "non_confidential", "key", "sub_groups", "nominal")


@st.composite
def tables(draw: Any, kinds: tuple[Any, ...] = COLUMNS, roles: tuple[str, ...] = _ROLES) -> pa.Table:
    """A table of a numeric column to mask and one to four columns of any type, with unusual names.

    The role of each column is in the metadata of the schema.
    """
    n = draw(st.integers(0, 12))
    name = st.one_of(st.sampled_from(["b", "c", "d"]), st.text(min_size=1, max_size=5))
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    names = [name for name in names if name != "x" and _encodes(name)]
    x = [((i * 7919) % 1009) / 8.0 for i in range(n)]
    columns = [draw(draw(st.sampled_from(kinds))(n)) for _ in names]
    if draw(st.booleans()) and columns:
        kind = columns[0].type
        if pa.types.is_string(kind):
            columns[0] = columns[0].dictionary_encode()
    given = {name: draw(st.sampled_from(roles)) for name in names}
    return pa.table([pa.array(x), *columns], names=["x", *names]).replace_schema_metadata({"roles": json.dumps(given)})


def _encodes(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False
