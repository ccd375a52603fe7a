"""Recognise the encoding of text from its first bytes.

1. A byte order mark decides: UTF-8 or UTF-16. UTF-32 is refused.
2. Text in which every second byte is mostly zero is UTF-16.
3. Bytes that are valid UTF-8 are UTF-8.
4. Other bytes are Windows-1252, which has all printable characters of Latin-1 at the same places. Bytes that Windows-1252 does
   not define, or that put a quotation mark into the middle of a word, belong to another encoding: the user is asked. So is the
   user of a file in which most other characters are UTF-8, and a few are not: two files were joined.
"""

from __future__ import annotations

import codecs
import re

from larvatus.core.errors import ReadError
from larvatus.core.file_signatures import kind_by_content

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_SIGN_IN_WORD = re.compile(rb"[A-Za-z][\x80\x82\x84-\x89\x8b\x91\x93-\x95\x98\x99\x9b][a-z]|[a-z][\x8a\x8c\x8e\x9f][a-z]")
STATE = 'State the encoding (encoding = "…"), or convert the file'


def mark_of(start: bytes) -> tuple[bytes, str]:
    """The byte order mark at the start of a file and the encoding it stands for; empty if there is none."""
    return next(((mark, name) for mark, name in _MARKS if start.startswith(mark)), (b"", ""))


def recognise_encoding(name: str, piece: bytes, whole: bool) -> str:
    """The encoding of a file with this name, from its first bytes. `whole`: there are no others."""
    _, marked = mark_of(piece)
    if marked == "utf-32":
        raise ReadError(f"{name} is UTF-32 text, which is not supported. Convert it to UTF-8.")
    if marked:
        return marked
    kind = kind_by_content(piece)
    if kind:
        raise ReadError(f"{name} is not a CSV file; it looks like {kind}. Rename it, or convert it.")
    if b"\0" in piece and (wide := _two_bytes(piece)):
        return wide
    if b"\0" in piece:
        raise ReadError(f"{name} has NUL bytes: it is damaged, not a text file, or UTF-16 without a byte order mark. "
                        f"{STATE}; UTF-16 is utf-16-le or utf-16-be.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(piece, final=whole)
    except UnicodeDecodeError:
        return _single_byte(name, piece)
    return "utf-8"


def _two_bytes(piece: bytes) -> str:
    """UTF-16 without a byte order mark: one byte of most characters is zero, and never the other one."""
    for encoding, zeros, others in (("utf-16-le", piece[1::2], piece[::2]), ("utf-16-be", piece[::2], piece[1::2])):
        if 2 * zeros.count(0) > len(zeros) and not others.count(0):
            return encoding
    return ""


def _single_byte(name: str, piece: bytes) -> str:
    text = piece.decode("utf-8", "surrogateescape")
    strange = [at for at, c in enumerate(text) if "\udc80" <= c <= "\udcff"]
    if len(strange) < sum(not c.isascii() for c in text) - len(strange):
        line = len(text[: strange[0]].splitlines())
        raise ReadError(f"{name} is UTF-8 text with other bytes in it ({len(strange):,}, the first in line {line}): parts of "
                        "it may come from another file. Correct these, or state the encoding (encoding = …).")
    if _UNDEFINED.search(piece) or _SIGN_IN_WORD.search(piece):
        raise ReadError(f"{name} is neither UTF-8 nor Windows-1252 text, perhaps of an older system (cp437, cp850, mac-roman). "
                        f"{STATE}.")
    return "cp1252"


def start_text(piece: bytes, encoding: str) -> str:
    """The first bytes of a file as text, without its byte order mark and without a character that is cut."""
    mark, marked = mark_of(piece)
    text = codecs.getincrementaldecoder(marked or encoding)(errors="replace").decode(piece[len(mark) :], final=False)
    return text[1:] if text[:1] == "\ufeff" else text
