"""The commands around a decision: verify."""

from __future__ import annotations

from pathlib import Path

from larvatus.cli.commands import Json, Quiet, Released
from larvatus.cli.inputs import copies_of
from larvatus.cli.terminal import Terminal


def verify(manifest: Path, files: Released, *, quiet: Quiet = False, json: Json = False) -> None:
    """Tell whether a released file is the one that a manifest describes; exit code 1 where it is not.

    Parameters
    ----------
    manifest
        NAME.manifest.json, as it was written beside the release.
    files
        The released file or folder; all of them, or a quoted pattern such as 'out-*.csv', where a release has several copies.
    """
    from larvatus.core.errors import ManifestError
    from larvatus.data.manifest import verified

    terminal = Terminal(quiet, json)
    found = verified(manifest, [Path(f) for f in copies_of(files)])
    for one in found:
        if one["same"]:
            which = f" (copy {one['copy']} of {one['of']})" if one["of"] > 1 else ""
            terminal.say(f"{one['file']}: is the one described{which}")
    terminal.data(found)
    wrong = [one for one in found if not one["same"]]
    if wrong:
        raise ManifestError("\n".join(f"{one['file']} is not the one described: {one['why']}." for one in wrong))
