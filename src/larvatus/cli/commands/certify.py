"""`larvatus certify`: what no intruder can do."""

from __future__ import annotations

from typing import Annotated

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import Json, Pairing, Quiet, Several, Steps, open_command
from larvatus.core.errors import StudyError


def certify(
    original: str, released: Annotated[list[str] | None, Several] = None, *, roles: RoleOptions = RoleOptions(),  # noqa: B008
    step: Steps = None, pairing: Pairing = None, quiet: Quiet = False, json: Json = False,
) -> None:
    """Bound the share of records that any intruder links, without running an attack.

    Parameters:
        original: the confidential file
        released: the released file, with the steps that made it (--step); without a file, the steps are certified
    """
    from larvatus.data.certificate import FALSE_ALARM
    from larvatus.pipeline import certify as certificates_of

    if not released and not step:
        raise StudyError(["released: give a released file, or the steps of a release (--step)."])
    with open_command(roles, quiet, json) as (terminal, study, progress):
        data = data_of(original, study)
        progress("certifying", 0, 1)
        if released:
            found = certificates_of(data, copies_of(released), steps=step or (), pairing=pairing)
        else:
            found = certificates_of(data, step or ())
    for one in found:
        terminal.say(one.sentence())
    if any(one.upper < 1 for one in found):
        terminal.say(f"A limit for this release fails with probability {FALSE_ALARM:g} at most.")
    terminal.table(list(found.summary()), "\nCertificates: bounds on the share of records linked")
    if found.normal_law is not None:
        terminal.say(f"\nIf the columns were normal, the best intruder who knows one record would link {found.normal_law:.2%}. "
                     "This is a forecast, not a bound.")
    terminal.say(f"\n{found.privacy.sentence()}")
    for assumed in dict.fromkeys(a for one in found for a in one.assumptions):
        terminal.hint(f"Assumed: {assumed}.")
    for why in found.refusals:
        terminal.hint(f"Not proved: {why}.")
    terminal.data(found.plain())
