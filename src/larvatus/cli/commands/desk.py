"""`larvatus desk`: the walk from a file to a signed release in the browser, on this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def desk(
    folder: Path = Path("."), *,
    work: Annotated[Path | None, Parameter(
        help="folder for studies and results (default: next to the data; for dropped files, FOLDER)"
    )] = None,
    port: Annotated[int, Parameter(help="port of this machine (default: any that is free)", show_default=False)] = 0,
    browser: Annotated[bool, Parameter(help="open the browser (default: yes)", show_default=False)] = True,
) -> None:
    """Open the desk: a page in your browser that walks from a file to a signed release, without a line of code.

    The page is served from this machine to this machine only, and only to the browser that the desk opened. Ctrl-C ends it.
    Every click is a line of study.toml, which larvatus run carries out again.

    Parameters:
        folder: folder with your data; the desk reads no file outside it (default: the current folder)
    """
    from larvatus.core.errors import EngineError

    try:
        from larvatus.desk.server import run_desk
    except ModuleNotFoundError as error:
        raise EngineError(f"desk: the package {error.name} is not installed. Install larvatus with its extra desk: "
                          "pip install 'larvatus[desk]'") from None
    run_desk(folder, port, work, browser, lambda text: print(text, flush=True))
