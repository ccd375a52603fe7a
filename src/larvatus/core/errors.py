"""All errors the package raises deliberately: one root, one class per stage, each message with a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LEAST_BEGINNING = 2
NEARLY_CERTAIN = 0.9  # a name this similar is the only one to suggest


class LarvatusError(Exception):
    """Base class of all errors raised deliberately; the command line prints one line and exits with code 2.

    `subject` is the method, setting or column that the error is about; the message begins with it. `reason` is the rest.

    Examples:
        >>> import larvatus as lv
        >>> try:
        ...     lv.read(lv.datasets.households(300), confidential=["home_valu"])
        ... except lv.LarvatusError as error:
        ...     print(error)
        confidential: no column 'home_valu'; did you mean 'home_value'?
    """

    exit_code = 2

    def __init__(self, reason: str = "", *, subject: str = "") -> None:
        self.subject, self.reason = subject, reason
        text = f"{subject}: {reason}" if subject else reason
        super().__init__(text.encode("utf-8", "backslashreplace").decode())  # halves of surrogate pairs cannot be printed

    def reason_for(self, subject: str) -> str:
        """The message without the subject, for a text that names this subject already; else the whole message."""
        return self.reason if self.subject == subject else str(self)


class LarvatusWarning(UserWarning):
    """Something the user should know that does not stop the work."""


class LimitWarning(LarvatusWarning):
    """A release is approved or published although it breaks a limit."""


class DiscoveryError(LarvatusError):
    """A method's file breaks the rule of one class per file, or no method has that name."""


class ReadError(LarvatusError):
    """A source cannot be read, or its content cannot be used."""


class RecordIdError(ReadError):
    """The column that names each record does not do so."""


class RolesError(LarvatusError):
    """Roles refer to a missing column, or contradict each other or the data."""


class SubGroupError(LarvatusError):
    """A sub-group is too small for the requested method."""


class MaskError(LarvatusError):
    """A mask cannot be applied to these data."""


class PairingError(LarvatusError):
    """A released file's rows cannot be matched with the original's."""


class RiskError(LarvatusError):
    """An attack cannot be run on this release."""


class UtilityError(LarvatusError):
    """A measure cannot be computed on this release."""


class AnalysisError(LarvatusError):
    """Estimates from a release cannot be combined or corrected as requested."""


class StudyError(LarvatusError):
    """A study has problems; the message lists all of them."""

    def __init__(self, problems: Sequence[str], where: str = "") -> None:
        self.problems, self.where = tuple(problems), where
        count = len(self.problems)
        head = f"{where + ' has ' if where else ''}{count} problem{'s' if count > 1 else ''}:"
        super().__init__("\n".join([head, *(f"  {i}. {p}" for i, p in enumerate(self.problems, 1))]))

    def __reduce__(self) -> tuple[type[StudyError], tuple[tuple[str, ...], str]]:
        """As another process receives it: the problems, not their text."""
        return type(self), (self.problems, self.where)


class EngineError(LarvatusError):
    """An engine has too little memory or temporary disk space for the work."""


class MachineError(LarvatusError):
    """The machine failed, not the method: a file that cannot be written, no space for temporary files, a lost process.

    It says nothing about a release or an attack, so that whatever lists methods that do not apply does not list it: the command
    ends, and can be repeated.
    """


class ManifestError(LarvatusError):
    """A file does not match its manifest."""

    exit_code = 1


class SearchError(LarvatusError):
    """A search found no release within the limits."""

    exit_code = 1


class WriteError(LarvatusError):
    """An output cannot be written; no partial file remains."""


class DiskError(WriteError, MachineError):
    """An output cannot be written because the system refuses it."""


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> str:
    """A clause that suggests the names most similar to `name`, or lists some existing names."""
    names = list(known)
    by_fold = {n.casefold(): n for n in reversed(names)}
    close = [by_fold[c] for c in difflib.get_close_matches(name.casefold(), by_fold, n=most, cutoff=0.6)]
    if close and difflib.SequenceMatcher(None, name.casefold(), close[0].casefold()).ratio() >= NEARLY_CERTAIN:
        return f"did you mean {close[0]!r}?"
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not names:
        return "there are none."
    if any(_numeric(n) for n in names) and not _numeric(name):
        return f"there are {len(names)}, some of them numbers: does the file have a header line?"
    alike = [n for n in names if n.casefold().startswith(name.casefold())] if len(name) >= LEAST_BEGINNING else []
    offered = alike or names
    shown = [repr(n) for n in offered] if alike or any("," in n for n in names) else offered
    listed = ", ".join(shown[:8]) + (f" … ({len(offered)} in all)" if len(offered) > 8 else "")
    return f"names that begin with it: {listed}." if alike else f"there are: {listed}."
