"""`larvatus advise`: examine a file and draft a study."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, data_of, source_from
from larvatus.cli.options import (
    Json,
    Overwrite,
    Quiet,
)
from larvatus.cli.output.next_steps import NEXT
from larvatus.cli.output.role_table import show_guesses
from larvatus.cli.output.terminal import Terminal

if TYPE_CHECKING:  # a help text needs nothing of the package
    from larvatus.study import Study



def advise(
    source: str, *, roles: RoleOptions = RoleOptions(),  # noqa: B008 (frozen)
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Examine a file and recommend masks, with reasons. Shows counts and shares, never values.

    If no roles are given, the columns are listed with a first guess of their roles, and a draft study is written to confirm.

    Parameters:
        source: a CSV, Parquet, Arrow, SPSS, Stata, SAS or spreadsheet file; a folder or a quoted pattern of CSV or Parquet
            files; a database; an address s3://
        output: write a study file, ready to run
    """
    from larvatus.core.errors import StudyError
    from larvatus.core.files import check_free, write_text
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.pipeline import advise as advise_on
    from larvatus.study import study_from_advice

    terminal, study = Terminal(quiet, json), roles.load()
    refuse_inputs([output], [source, *roles.files()])
    if output is not None:
        check_free(output, overwrite)
    if not study.roles.confidential and not study.roles.non_confidential:
        refuse_some_roles(study)
        show_guesses(terminal, source, study, output, overwrite)
        return
    with terminal.progress() as progress:
        data = data_of(source, study)
        progress("examining the columns", 0, 1)
        found = advise_on(data, progress=progress)
    terminal.say(found.text())
    if output is not None and found.plan["release"]:
        place = output.parent
        made = study_from_advice(found.plan, data, source_from(place, source), place, study)
        write_text(output, found.study_text(made.toml()), overwrite)
        terminal.say(f"\nStudy:  {output}")
        terminal.command(NEXT, f"larvatus run {shlex.quote(str(output))} -o out/")
    terminal.data({
        "seen": list(found.seen), "opinions": [{"mask": o.mask, "suits": o.suits, "why": o.why} for o in found.opinions],
        "identities": list(found.rules.identities), "inequalities": list(found.rules.inequalities), "plan": found.plan,
        "totals": [{"rule": t.rule, "records": t.records, "exceptions": t.exceptions} for t in found.rules.totals],
        "guessed": {k: list(v) for k, v in found.constraints.guessed.items()},
    })
    if output is not None and not found.plan["release"]:
        raise StudyError([
            f"{output} was not written: no remaining column can be masked, or there are too few records. The findings above "
            "give the reasons. Resolve them and run advise again."
        ], "advise")


def refuse_some_roles(study: Study) -> None:
    """Roles are guessed if none is given: a role that is given would be ignored."""
    from larvatus.core.errors import RolesError

    given = [n for n, field in type(study.roles).model_fields.items() if getattr(study.roles, n) != field.get_default(
        call_default_factory=True) and n != "missing"] + (["sub_groups"] if study.sub_groups.columns else [])
    if given:
        options = ", ".join(f"--{n.replace('_', '-')}" for n in given)
        raise RolesError(f"advise: guesses all roles or none. Give --confidential as well, or leave out {options} and state it "
                         "in the draft that is written.")
