"""Error messages in terms of options: on the command line, a setting of a study file is an option."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPTIONS = (
    (r"\broles\.taxonomies\b", "--taxonomy"),
    (r"\broles\.ordered\b", "ordered in [roles] of a study file, --study"),
    (r"\broles\.(confidential|identifiers|weight|nominal|person|household)\b", r"--\1"),
    (r"\broles\.non_confidential\b", "--non-confidential"),
    (r"\broles\.record_id\b", "--record-id"),
    (r"\bsub_groups\.(smallest|small)\b", r"--\1"),
    (r"\bconstraints\.(integers|repair)\b", r"--\1"),
    (r"\bconstraints\.rules\b", "--constraint"),
    (r'(?<![-\w])(small|repair|engine) = "(\w+)"', r"--\1 \2"),
    (r'(?<![-\w])row_order = "(\w+)"', r"--row-order \1"),
    (r"(?<![-\w])(memory|master) = …", r"--\1"),
    (r"(?<![-\w])record_id = …", "--record-id"),
    (r"(?<![-\w])(query|table) = …", r"--\1"),
    (r'(?<![-\w])(decimal|thousands|encoding) = ("…"|…)', r"--\1"),
    (r'(?<![-\w])(decimal|thousands) = "(\w+)"', r"--\1 \2"),
    (r'(?<![-\w])dates = \{ (\S+) = "([^"]+)" \}', r"--dates \1=\2"),
    (r"(?<![-\w])dates = …", "--dates COLUMN=dd.mm.yyyy"),
)
_BY_OPTIONS = ("mask", "risk", "utility", "advise", "check", "keys")


def in_option_words(message: str, given: Sequence[str]) -> str:
    """The message with options for settings, if the command was given no study file in which these could be set."""
    if given[:1] and given[0] in _BY_OPTIONS and not any(g.partition("=")[0] == "--study" for g in given):
        for setting, option in _OPTIONS:
            message = re.sub(setting, option, message)
    return message
