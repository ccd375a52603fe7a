"""What the desk says, in several languages: one TOML file for each, with the formats of its numbers and dates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

DEFAULT_LANGUAGE = "en"


@cache
def languages() -> Mapping[str, Mapping[str, Any]]:
    """All texts by language; English first."""
    folder = files("larvatus.desk") / "texts"
    found = {f.name.removesuffix(".toml"): tomllib.loads(f.read_text(encoding="utf-8")) for f in folder.iterdir()
             if f.name.endswith(".toml")}
    return {code: found[code] for code in sorted(found, key=lambda c: (c != DEFAULT_LANGUAGE, c))}


def language_for(accepted: str) -> str:
    """The first language of a browser's list that the desk speaks; else English."""
    for part in accepted.split(","):
        code = part.split(";")[0].strip().lower()[:2]
        if code in languages():
            return code
    return DEFAULT_LANGUAGE


class Wording:
    """The texts of one language. A text that is not translated is shown in English."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._own = languages()[language]
        self._english = languages()[DEFAULT_LANGUAGE]
        self._format: Mapping[str, str] = self._own["format"]

    def __call__(self, key: str, **values: Any) -> str:
        """A text by its key, such as `roles.title`, with values in it. Whole numbers are written as the language does."""
        part, _, name = key.partition(".")
        found = self._own.get(part, {}).get(name) or self._english[part][name]
        said = {n: self.count(v) if isinstance(v, int) and not isinstance(v, bool) else v for n, v in values.items()}
        return str(found).format(**said)

    def plural(self, key: str, n: int, **values: Any) -> str:
        """A text that depends on a number: `key_one` or `key_many`."""
        return self(f"{key}_one" if n == 1 else f"{key}_many", n=n, **values)

    def stages(self) -> Mapping[str, str]:
        """What the beginning of a line of progress is called, by what it is called in English."""
        return {name.replace("_", " "): said for name, said in self._own["doing"].items()}

    def as_typed(self, typed: str) -> str:
        """Numbers as someone types them in this language, such as 0,1; 0,5 in German, with decimal points; else the text."""
        mark = self._format["decimal"]
        parts = [p.strip() for p in typed.split(";")]
        is_number = all(re.fullmatch(rf"[-+]?\d+(\{mark}\d+)?", p) for p in parts)
        return "; ".join(p.replace(mark, ".") for p in parts) if is_number else typed

    def count(self, value: int) -> str:
        """A whole number."""
        return f"{value:,}".replace(",", self._format["thousands"])

    def number(self, value: float, digits: int = 3) -> str:
        """A number with some significant digits."""
        plain = f"{value:,.{digits}g}" if abs(value) < 1e6 else f"{value:,.0f}"
        mark = plain.replace(",", "\0").replace(".", self._format["decimal"])
        return mark.replace("\0", self._format["thousands"])

    def share(self, value: float, digits: int = 3) -> str:
        """A share in percent."""
        return f"{self.number(100 * value, digits)}{self._format['percent']}"

    def local(self, text: str) -> str:
        """A number that was written in the English way, such as 1,234.5 or 2.3 %, as the language writes it."""
        if not all(c in "0123456789,.-–% \u00a0\u202f" for c in text):
            return text
        marks = {",": self._format["thousands"], ".": self._format["decimal"]}
        return "".join(marks.get(c, c) for c in text)

    def size(self, count: int) -> str:
        """The size of a file."""
        size, unit = float(count), "B"
        for larger in ("kB", "MB", "GB", "TB"):
            if size < 1000:
                break
            size, unit = size / 1000, larger
        return f"{self.number(size)} {unit}"

    def date(self, seconds: float) -> str:
        """A date and time of this machine."""
        return datetime.fromtimestamp(seconds).strftime(self._format["date"])

    def iso_date(self, text: str) -> str:
        """A date and time that is written as in manifests."""
        try:
            return datetime.fromisoformat(text).astimezone().strftime(self._format["date"])
        except ValueError:
            return text
