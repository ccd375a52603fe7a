"""`larvatus describe`: one method with all its settings, the intruder, or an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from larvatus.cli.options import Json
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import DiscoveryError, nearest_names

if TYPE_CHECKING:
    from larvatus.data.method_help import Description

INTRUDER, ENGINES = "intruder", "larvatus.engines"


def describe(
    name: Annotated[str, Parameter(help="a mask, an attack, a measure, an engine, the intruder, or one of its presets")], *,
    json: Json = False,
) -> None:
    """Explain a method (what it preserves, what it changes, every setting with its limits), an engine, or the intruder."""
    page = _page(name)
    terminal = Terminal(as_json=json)
    _show(terminal, page)
    terminal.data(_plain(page))


def _page(name: str) -> Description:
    from larvatus.core.discovery import discover, file_names, load
    from larvatus.data.intruder import PRESETS
    from larvatus.data.method_help import METHOD_ROOMS, describe_engine, describe_intruder, describe_method

    methods = {n: package for package in METHOD_ROOMS.values() for n in file_names(package)}
    if name in methods:
        return describe_method(discover(methods[name])[name])
    if name in (INTRUDER, *PRESETS):
        return describe_intruder(None if name == INTRUDER else name)
    engines = [n for n in file_names(ENGINES) if n != "pieces"]
    if name not in engines:
        raise DiscoveryError(f"no method {name!r}; {nearest_names(name, [*methods, INTRUDER, *PRESETS, *engines])}")
    return describe_engine(name, load(ENGINES, name))


def _show(terminal: Terminal, page: Description) -> None:
    terminal.say(f"{page.name}\n\n{page.summary}\n")
    if page.text:
        terminal.say(page.text + "\n")
    if page.use:
        terminal.say(page.use + "\n")
    if page.assumes:
        terminal.say(f"Assumes: {page.assumes}\n")
    if page.nemesis:
        terminal.say(f"Attacks that know this mask: {', '.join(page.nemesis)}\n")
    if page.settings:
        terminal.table([
            {"setting": s.name, "default": s.default, "meaning": s.meaning, "allowed": s.allowed} for s in page.settings
        ])
    if page.publishable:
        terminal.say(f"\nMay be published: {', '.join(page.publishable)}")
    if page.privacy:
        terminal.say(f"Differential privacy: {page.privacy}")
    if page.public_sentence:
        terminal.say(f"For the public: {page.public_sentence}")


def _plain(page: Description) -> dict[str, Any]:
    settings = [{"name": s.name, "allowed": s.allowed, "default": s.default, "meaning": s.meaning} for s in page.settings]
    return {
        "name": page.name, "summary": page.summary, "text": page.text, "settings": settings,
        "publishable": list(page.publishable), "public_sentence": page.public_sentence,
        "use": page.use, "assumes": page.assumes, "nemesis": list(page.nemesis),
        **({"privacy": page.privacy} if page.privacy else {}),
    }
