"""What the text of a query states: whether it only reads, and whether its rows have an order.

The text is divided into words outside of strings, comments and quoted names; this is no full parser, so that what cannot be
judged is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from larvatus.core.errors import ReadError

_WRITES = {"insert", "update", "delete", "merge", "into"}
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])
      | (?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$) | (?P<word>[^\W\d]\w*) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNCLEAR = ("\\'", "/*!", "\0")  # programs differ in how they read these


def check_reads(query: str) -> None:
    """Refuse anything but a single SELECT statement, which may begin with WITH."""
    if any(mark in query for mark in _UNCLEAR):
        raise ReadError("a backslash before a quotation mark and comments that begin with /*! cannot be used. Write '' for a "
                        "quotation mark within a text.", subject="query")
    words = list(_words(query.strip().rstrip(";")))
    if not words:
        raise ReadError("is empty. Give a SELECT statement.", subject="query")
    if words[0][0] not in ("select", "with"):
        raise ReadError("only a SELECT statement can be used; it may begin with WITH.", subject="query")
    if any(word == ";" for word, _ in words):
        raise ReadError("contains several statements. Give a single SELECT statement.", subject="query")
    found = sorted({word for word, _ in words} & _WRITES)
    if found:
        raise ReadError(f"contains {found[0].upper()}, and a source is only read. If this is the name of a column, put "
                        "it into double quotation marks.", subject="query")


def query_has_order(query: str) -> bool:
    """Whether the query ends with an ORDER BY of its own, outside of all parentheses."""
    outer = [word for word, depth in _words(query) if depth == 0]
    return any(a == "order" and b == "by" for a, b in pairwise(outer))


def sql_name(*parts: str) -> str:
    """A name of SQL, such as "schema"."table"."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _words(query: str) -> Iterator[tuple[str, int]]:
    """Every word and mark in lower case, with the number of parentheses around it."""
    depth = 0
    for match in _TOKEN.finditer(query):
        if match.lastgroup in ("skipped", "dollar") or match["dollar"]:
            continue
        token = match[0].lower()
        depth -= token == ")"
        yield token, depth
        depth += token == "("
