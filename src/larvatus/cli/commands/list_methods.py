"""`larvatus list`: masks, attacks, measures and engines."""

from __future__ import annotations

from larvatus.cli.options import Json
from larvatus.cli.output.terminal import Terminal


def list_methods(*, json: Json = False) -> None:
    """List masks, attacks, measures and engines."""
    from larvatus.core.discovery import discover, file_names
    from larvatus.data.intruder import PRESETS
    from larvatus.data.method_help import METHOD_ROOMS, describe_method

    terminal = Terminal(as_json=json)
    found = {kind: {n: describe_method(m).summary for n, m in discover(package).items()} for kind,
             package in METHOD_ROOMS.items()}
    engines = [n for n in file_names("larvatus.engines") if n != "pieces"]
    for kind, methods in found.items():
        terminal.table([{kind: name, "what it does": summary} for name, summary in methods.items()])
        terminal.say("")
    terminal.say("X: the confidential columns. S: the non-confidential columns, which are released unchanged.")
    terminal.say(f"engines: {', '.join(engines)}")
    terminal.say(f"intruders: {', '.join(PRESETS)}")
    terminal.say("For details: larvatus describe NAME, or larvatus describe intruder for the assumptions about the intruder.")
    terminal.data({**found, "engines": engines})
