"""Render a report as one self-contained HTML file: no network, no fonts, only its own short scripts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from larvatus.reporting.page.blocks import Report
from larvatus.reporting.page.glossary import TermMarker


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("larvatus.reporting.page", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )


def _ids() -> Iterator[str]:
    return (f"p{n}" for n in count(1))


def _attribute(said: str) -> Markup:
    """Text for an attribute in single quotes: JSON keeps its double quotes, which would take five letters each."""
    return Markup(said.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"))


def render(report: Report) -> str:
    """The page as HTML. All text is escaped; drawings are inserted unchanged, because their text is already escaped."""
    ids = _ids()
    page = _environment().get_template("report.html.j2")
    return page.render(
        report=report, new_id=lambda: next(ids), drawing=Markup, attribute=_attribute, explain=TermMarker(report.glossary)
    )
