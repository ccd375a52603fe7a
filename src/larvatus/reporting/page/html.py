"""A report as one HTML file that needs nothing else: no network, no fonts, no scripts but its own few lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from larvatus.reporting.page.blocks import Report


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("larvatus.reporting.page", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )


def _ids() -> Iterator[str]:
    return (f"p{n}" for n in count(1))


def render(report: Report) -> str:
    """The page. All text is escaped; only drawings, whose text is escaped where they are made, go in as they are."""
    ids = _ids()
    page = _environment().get_template("report.html.j2")
    return page.render(report=report, new_id=lambda: next(ids), drawing=Markup)
