"""Every error the package raises on purpose: one root, one class per stage, each message with a way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LEAST_BEGINNING = 2


class LarvatusError(Exception):
    """Root of all errors raised on purpose; the command line turns it into one line and exit code 2."""

    exit_code = 2


class LarvatusWarning(UserWarning):
    """Something that a person should know and that stops nothing."""


class LimitWarning(LarvatusWarning):
    """A release is approved or published although it breaks a limit."""


class DiscoveryError(LarvatusError):
    """A method's file does not keep the one-file rule, or no method has that name."""


class ReadError(LarvatusError):
    """A source cannot be read, or what it holds cannot be used."""


class RecordIdError(ReadError):
    """The column that names each record does not do so."""


class RolesError(LarvatusError):
    """Roles name a column that is not there, or contradict each other or the data."""


class SubGroupError(LarvatusError):
    """A sub-group is too small for what was asked of it."""


class MaskError(LarvatusError):
    """A mask cannot do its work on these data."""


class PairingError(LarvatusError):
    """A released file's rows cannot be matched with the original's."""


class RiskError(LarvatusError):
    """An attack cannot be run on this release."""


class UtilityError(LarvatusError):
    """A measure cannot be computed on this release."""


class AnalysisError(LarvatusError):
    """Estimates from a release cannot be combined or corrected as asked."""


class StudyError(LarvatusError):
    """A study has problems; all of them are in the message."""

    def __init__(self, problems: Sequence[str], where: str = "") -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{where + ' has ' if where else ''}{count} problem{'s' if count > 1 else ''}:"
        super().__init__("\n".join([head, *(f"  {i}. {p}" for i, p in enumerate(self.problems, 1))]))


class EngineError(LarvatusError):
    """An engine cannot do the work in the memory or the temporary room that it has."""


class ManifestError(LarvatusError):
    """A file is not the one that a manifest describes."""

    exit_code = 1


class SearchError(LarvatusError):
    """A search found no release that keeps the limits."""

    exit_code = 1


class WriteError(LarvatusError):
    """An output cannot be written; nothing was left under its name."""


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> str:
    """A clause that offers the names most like `name`, or lists a few of those that exist."""
    names = list(known)
    by_fold = {n.casefold(): n for n in reversed(names)}
    close = [by_fold[c] for c in difflib.get_close_matches(name.casefold(), by_fold, n=most, cutoff=0.6)]
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not names:
        return "there are none."
    if any(_numeric(n) for n in names) and not _numeric(name):
        return f"there are {len(names)}, some of them numbers: has the file a header line?"
    alike = [n for n in names if n.casefold().startswith(name.casefold())] if len(name) >= LEAST_BEGINNING else []
    told = alike or names
    shown = [repr(n) for n in told] if alike or any("," in n for n in names) else told
    listed = ", ".join(shown[:8]) + (f" … ({len(told)} in all)" if len(told) > 8 else "")
    return f"those that begin so: {listed}." if alike else f"there are: {listed}."
