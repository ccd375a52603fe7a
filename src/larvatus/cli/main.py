"""The command `larvatus`: its commands, error messages and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError

from larvatus import __version__
from larvatus.cli.commands.advise import advise
from larvatus.cli.commands.approve import approve
from larvatus.cli.commands.budget import budget
from larvatus.cli.commands.certify import certify
from larvatus.cli.commands.check import check
from larvatus.cli.commands.demo import demo
from larvatus.cli.commands.describe import describe
from larvatus.cli.commands.desk import desk
from larvatus.cli.commands.export import export
from larvatus.cli.commands.hold_out import hold_out
from larvatus.cli.commands.keys import keys
from larvatus.cli.commands.linear_frontier import linear_frontier
from larvatus.cli.commands.linkage_law import linkage_law
from larvatus.cli.commands.list_methods import list_methods
from larvatus.cli.commands.mask import mask
from larvatus.cli.commands.publish_noise import publish_noise
from larvatus.cli.commands.reproduce import reproduce
from larvatus.cli.commands.risk import risk
from larvatus.cli.commands.run import run
from larvatus.cli.commands.search import search
from larvatus.cli.commands.utility import utility
from larvatus.cli.commands.verify import verify
from larvatus.cli.output.option_words import in_option_words
from larvatus.core.errors import DiscoveryError, LarvatusError, LarvatusWarning
from larvatus.core.supervision import can_supervise, leave_no_core, obey_signals, obeyed_signal, run_supervised
from larvatus.core.system_errors import is_failure_of_machine, machine_failure

_NOW_CALLED = {
    "--force": "--overwrite", "--at-once": "--jobs", "--null": "--null-resamples", "--why": "--reason",
    "--also": "--other-release", "--also-pairing": "--other-pairing", "--kept": "--cache-dir", "--afresh": "--fresh",
    "--as-kept": "--stored-only",
}
WRONG_INPUT, UNEXPECTED, INTERRUPTED = 2, 3, 130  # check.BROKEN is 4, run.NOT_MADE is 5
_WORKS = {
    "run", "mask", "risk", "utility", "publish-noise", "check", "approve", "export", "demo", "advise", "search", "verify",
    "reproduce", "keys", "desk", "certify", "budget", "hold-out", "linkage-law", "linear-frontier",
}
_ENDINGS = 3  # interrupts that end a search: the first ends the exploration, the second the confirmation

app = App(
    name="larvatus",
    help="Mask confidential microdata, attack the release, measure the loss to analysts, and report.",
    version=__version__,
    help_format="plaintext",  # nothing in the texts is Markdown, and its parser takes longer to import than all commands
    suppress_keyboard_interrupt=False,
    help_epilogue=(
        "Exit codes: 0 success, 1 negative result (a file does not match its manifest, or no release meets the limits), "
        "2 invalid input (see the message), 3 unexpected error, 4 a limit is broken (check), "
        "5 a planned release was not made (run), 130 interrupted, 143 ended by SIGTERM."
    ),
)
app.command(run)
app.command(mask)
app.command(risk)
app.command(utility)
app.command(publish_noise, usage="Usage: larvatus publish-noise [OPTIONS] [STUDY]")
app.command(certify, usage="Usage: larvatus certify [OPTIONS] ORIGINAL [RELEASED...]")
app.command(budget, usage="Usage: larvatus budget [OPTIONS] MANIFESTS...")
app.command(linear_frontier)
app.command(linkage_law, usage="Usage: larvatus linkage-law [OPTIONS] RECORDS...")
app.command(check, usage="Usage: larvatus check [OPTIONS] ORIGINAL RELEASED..., or larvatus check [OPTIONS] FOLDER")
app.command(approve)
app.command(export)
app.command(demo)
app.command(desk, usage="Usage: larvatus desk [OPTIONS] [FOLDER]")
app.command(advise)
app.command(keys)
app.command(search)
app.command(hold_out, usage="Usage: larvatus hold-out [OPTIONS] SOURCE")
app.command(verify, usage="Usage: larvatus verify [OPTIONS] MANIFEST [FILES...]")
app.command(reproduce, usage="Usage: larvatus reproduce [OPTIONS] [TABLES...]")
app.command(list_methods, name="list")
app.command(describe)
app.register_install_completion_command(help="Install completion of commands and options for your shell (bash, zsh or fish).")


def _shown(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
    """Print a warning of the package in one line, without its place in the code."""
    print(f"larvatus: {message}" if issubclass(category, LarvatusWarning) else f"{filename}: {message}", file=sys.stderr)


def _interrupted(given: Sequence[str]) -> None:
    """Say that the work was interrupted, and whether it can be resumed."""
    secret, again = any(g.partition("=")[0] == "--secret-file" for g in given), ""
    if given[:1] == ["run"]:
        again = f" Rerunning resumes: finished {'scores are not computed' if secret else 'releases are not made'} again."
    elif given[:1] == ["search"] and secret:
        again = " Rerunning resumes: finished trials are not repeated."
    print(f"larvatus: interrupted; no incomplete file was left.{again}", file=sys.stderr)


def _mask_names() -> str:
    """The masks for the help text; a package that adds one wrongly is reported by the commands that use masks."""
    from larvatus.core.discovery import file_names, own_names

    try:
        return ", ".join(file_names("larvatus.masks"))
    except DiscoveryError:
        return ", ".join(own_names("larvatus.masks"))


def _add_mask_names() -> None:
    """List the masks at the end of the help of `larvatus mask`. Only that help needs them: finding them takes time."""
    app["mask"].help_epilogue = (
        f"Masks: {_mask_names()}. With --method NAME, the settings of that mask are options of this "
        "command: 'larvatus mask --method NAME --help' lists them. Example: --method additive_noise --variance 0.25"
    )


def _former(given: Sequence[str]) -> list[tuple[str, str]]:
    """Options and commands under the names of the version before, with their new names."""
    command = [("intruder", "publish-noise")] if given[:1] == ["intruder"] else []
    return command + [(name, _NOW_CALLED[name]) for name in (g.partition("=")[0] for g in given) if name in _NOW_CALLED]


def _asks_for_help(given: Sequence[str]) -> bool:
    return bool({"--help", "-h"} & set(given))


def _is_possible(word: str) -> bool:
    """Whether the system can pass the word to a program. Python code that calls `main` can give others."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; expected errors become one message and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _shown
    if arguments is None:
        os.environ["LARVATUS_PROGRESS"] = "off"  # the commands show progress themselves
        leave_no_core()
    if arguments is None and given and given[0] in _WORKS and not _asks_for_help(given) and can_supervise():
        run_supervised(lambda: _run(given), lambda number: _interrupted(given), _ENDINGS if given[0] == "search" else 1)
    return _run(given)


def _run(given: Sequence[str]) -> int:
    obey_signals()
    former = _former(given)
    if not all(map(_is_possible, given)):
        print("larvatus: the command has characters that no word of a command can have, such as a zero byte. Check it.",
              file=sys.stderr)
        return WRONG_INPUT
    if former:
        print("\n".join(f"larvatus: {old} is now called {new}." for old, new in former), file=sys.stderr)
        return WRONG_INPUT
    asks_for_help = _asks_for_help(given)
    if asks_for_help and given[:1] == ["mask"]:
        _add_mask_names()
    try:
        code = app(list(given), exit_on_error=False, result_action="return_value")
        if asks_for_help and given[:1] == ["mask"] and "--method" in given[:-1]:
            describe(given[given.index("--method") + 1])
    except CycloptsError:
        name = given[0] if given and given[0] in app else ""
        print(f"See `larvatus {name} --help`.".replace("  ", " "), file=sys.stderr)
        return WRONG_INPUT
    except LarvatusError as error:
        if (number := obeyed_signal()) is not None:
            return 128 + number
        print(f"larvatus: {in_option_words(str(error), given)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        _interrupted(given)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if (number := obeyed_signal()) is not None:  # a library may make an error of its own of the signal
            return 128 + number
        if os.environ.get("LARVATUS_DEBUG"):
            raise
        if is_failure_of_machine(error):
            print(f"larvatus: {machine_failure(error)}", file=sys.stderr)
            return WRONG_INPUT
        print(
            f"larvatus: unexpected {type(error).__name__}; details hidden because they may contain data. "
            "Set LARVATUS_DEBUG=1 to see them.",
            file=sys.stderr,
        )
        return UNEXPECTED
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    raise SystemExit(main())
