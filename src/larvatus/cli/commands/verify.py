"""`larvatus verify`: check released files against their manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from larvatus.cli.inputs import copies_of
from larvatus.cli.options import (
    Json,
    Quiet,
    Several,
)
from larvatus.cli.output.terminal import Terminal


def verify(
    manifest: Path, files: Annotated[list[str] | None, Several] = None, *, quiet: Quiet = False, json: Json = False
) -> None:
    """Check that released files and the codebook match their manifest; exit code 1 if one does not.

    Parameters:
        manifest: NAME.manifest.json, written with the release
        files: the released file or folder; for a release with several copies, all files or a quoted pattern such as 'out-*.csv'
            (default: those next to the manifest)
    """
    from larvatus.core.errors import ManifestError
    from larvatus.documents.verification import verify_files

    terminal = Terminal(quiet, json)
    found = verify_files(manifest, [Path(f) for f in copies_of(files or [])])
    for one in found:
        which = f"copy {one['copy']} of {one['of']}" if one["what"] == "copy" else "the codebook"
        if one["same"] is None:
            terminal.say(f"{which} was not checked: {one['why']}")
        elif one["same"]:
            beside = f" ({which})" if one["of"] > 1 or one["what"] == "codebook" else ""
            terminal.say(f"{one['file']}: matches the manifest{beside}")
    terminal.data(found)
    wrong = [one for one in found if one["same"] is False]
    if wrong:
        raise ManifestError("\n".join(f"{one['file']} does not match the manifest: {one['why']}." for one in wrong))
