"""A drawing with its own style, which shows itself in a notebook and saves itself as SVG, PNG or PDF."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from larvatus.core.errors import LarvatusError
from larvatus.core.files import write_bytes

_SPACE = 'xmlns="http://www.w3.org/2000/svg"'
_FONT = "'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"
_EXTRA = "pip install 'larvatus[plots]'"
_MARGIN = 10  # pixels around a drawing
_SIZE = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
KINDS = (".svg", ".png", ".pdf")


@dataclass(frozen=True, slots=True, repr=False)
class Plot:
    """A drawing as SVG text; `title` says what it shows."""

    title: str
    svg: str

    def __repr__(self) -> str:
        return f"Plot({self.title!r}); save it with .save('plot.svg'), '.png' or '.pdf'"

    def _repr_svg_(self) -> str:
        return self.standalone()

    def _repr_html_(self) -> str:
        return f'<div style="max-width:60rem;overflow-x:auto">{self.standalone()}</div>'

    def standalone(self) -> str:
        """The drawing with its style inside, on white and with a margin, for a file or a notebook."""
        style = f"<style>{_plain_style()}</style>"
        opened = self.svg.index(">") + 1
        wide, high = (float(found) + 2 * _MARGIN for found in _SIZE.findall(self.svg[:opened])[0])
        frame = f'viewBox="{-_MARGIN} {-_MARGIN} {wide:g} {high:g}" width="{wide:g}" height="{high:g}"'
        head = re.sub(r' (viewBox|width|height)="[^"]*"', "", self.svg[4:opened])
        ground = f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{wide:g}" height="{high:g}" fill="#ffffff"/>'
        return f"{self.svg[:4]} {_SPACE} {frame}{head}{style}{ground}{self.svg[opened:]}"

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the drawing; the ending of the name decides between SVG, PNG and PDF.

        PNG and PDF need the extra `plots`.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in KINDS:
            raise LarvatusError(f"plot: {target.name!r} ends in none of {', '.join(KINDS)}. Use one of these endings.")
        text = self.standalone()
        made = text.encode() if kind == ".svg" else _png(text) if kind == ".png" else _pdf(text)
        write_bytes(target, made, overwrite)
        return target


def _png(text: str) -> bytes:
    try:
        import resvg_py
    except ImportError:
        return bytes(_cairo("png").svg2png(bytestring=text.encode(), scale=2))
    return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2, background="#ffffff"))


def _pdf(text: str) -> bytes:
    return bytes(_cairo("pdf").svg2pdf(bytestring=text.encode()))


def _cairo(kind: str) -> Any:
    try:
        import cairosvg
    except (ImportError, OSError):
        said = f"plot: no library that writes .{kind} is installed. Install one with {_EXTRA}, or save as .svg."
        raise LarvatusError(said) from None
    return cairosvg


@cache
def _plain_style() -> str:
    """The rules for drawings of the page's style sheets, in its light colours and without what only browsers understand."""
    folder = files("larvatus.reporting.page").joinpath("templates")
    sheets = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "board.css"))
    light = sheets.split("@media")[0] + sheets[sheets.index("--good") :].split("@media")[0]
    colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,8})\b", light))
    rules = [line for line in sheets.splitlines() if line.startswith(("svg .", "svg line", "svg path"))]
    text = "\n".join(rules).replace("svg ", "")
    text = re.sub(r"var\(--([\w-]+)\)", lambda found: _on_white(colours.get(found[1], "#000000")), text)
    return f"text {{ font: 12.5px {_FONT}; fill: {colours['ink']}; }}\n{text}"


def _on_white(colour: str) -> str:
    """A colour without transparency, as it looks on white paper."""
    if len(colour) != 9:
        return colour
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5, 7)]
    seen = [round(255 + (part - 255) * parts[3] / 255) for part in parts[:3]]
    return "#" + "".join(f"{part:02x}" for part in seen)
