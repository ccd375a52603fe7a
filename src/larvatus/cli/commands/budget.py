"""`larvatus budget`: what the releases of a source tell together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import Json, Quiet, Several
from larvatus.cli.output.terminal import Terminal
from larvatus.core.number_format import share

OVER = 4


def budget(
    manifests: Annotated[list[str], Several], *,
    further: Annotated[Path | None, Parameter(help="internal manifest of a release that is not out yet")] = None,
    bits: Annotated[float | None, Parameter(help="most bits per record; exit code 4 if the total is larger")] = None,
    quiet: Quiet = False, json: Json = False,
) -> int:
    """Add up what all releases of a source tell about who is who, and what a further one would add.

    The internal manifests must have been written with the same key ([budget] key_file in the study).

    Parameters:
        manifests: internal manifests (NAME.internal.json) of all releases of the source
    """
    from larvatus.pipeline import budget as budget_of

    terminal = Terminal(quiet, json)
    found = budget_of(manifests, further=further)
    terminal.say(found.sentence())
    terminal.table(list(found.summary()), "\nBits per record: each release alone, and what it adds to those before it")
    if further is not None:
        terminal.say(f"\nThe further release would add {found.parts[-1].added:.3g} bits.")
    if found.forecast is not None:
        terminal.say(f"\nIf the columns were normal, the best intruder who knows one record would link "
                     f"{share(found.forecast)}. This is a forecast, not a bound.")
    terminal.say(f"\nAll releases together: {found.privacy.sentence()}")
    for note in found.notes:
        terminal.hint(note)
    over = bits is not None and found.bits > bits
    if bits is not None:
        terminal.say(f"\nThe total is {'larger' if over else 'not larger'} than {bits:g} bits.")
    terminal.data(found.plain() | ({} if bits is None else {"limit": bits, "met": not over}))
    return OVER if over else 0
