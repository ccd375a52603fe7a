"""Columns without roles: the table of guesses, the draft study, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from larvatus.cli.inputs import source_from
from larvatus.cli.output.next_steps import NEXT
from larvatus.cli.output.terminal import Terminal
from larvatus.core.toml_text import read_toml

if TYPE_CHECKING:
    from larvatus.study import Study


def _free_draft(source: str) -> Path:
    """The draft of a source. If that file is the draft of another source, the name gets the suffix: survey-sav-roles.toml."""
    stem, _, suffix = Path(source).name.partition(".")
    draft = Path(f"{stem or 'draft'}-roles.toml")
    try:
        stated = read_toml(draft.read_text(encoding="utf-8")).get("source", {})
    except (OSError, ValueError):
        return draft
    named = stated.get("file") if isinstance(stated, dict) else stated
    if not suffix or not isinstance(named, str) or named == source_from(draft.parent, source):
        return draft
    return draft.with_name(f"{stem or 'draft'}-{suffix.replace('.', '-')}-roles.toml")


def show_guesses(terminal: Terminal, source: str, study: Study, output: Path | None, overwrite: bool) -> None:
    """Print what the columns seem to be, write a draft study with their roles, and ask the user to confirm it."""
    from larvatus.core.files import write_text
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.engines._databases.database_sources import SourceQuery
    from larvatus.pipeline.examine_source import guess_roles

    with terminal.progress():
        asked = SourceQuery(study.query, study.table, study.password_path())
        found = guess_roles(source, study.csv, study.sheet, asked, study.catalog_path(), study.roles.missing)
    draft = output or _free_draft(source)
    terminal.say(f"{found.records:,} records, {len(found.guesses)} columns. {found.dialect}".rstrip(". ") + ".\n")
    terminal.table(found.rows())
    for text in found.warnings:
        terminal.hint(f"WARNING: {text}")
    exists = output is None and draft.exists() and not overwrite
    if not exists:
        refuse_inputs([draft], [source])
        write_text(draft, found.draft(source_from(draft.parent, source)), overwrite or output is None)
    after = draft.with_name(f"{draft.stem.removesuffix('-roles')}-study.toml")
    kept = " (it exists already and was not changed; --overwrite replaces it)" if exists else ""
    terminal.say(
        f"\nDraft:  {draft}{kept}\nThe roles are guesses. Open the draft and check every column in [roles]: confidential "
        "columns are masked, non-confidential ones are released unchanged, and columns in no list are not released."
    )
    terminal.command(
        NEXT, f"larvatus advise {shlex.quote(source)} --study {shlex.quote(str(draft))} -o {shlex.quote(str(after))}"
    )
    terminal.data({"columns": found.rows(), "warnings": list(found.warnings), "roles": found.roles, "draft": str(draft)})
