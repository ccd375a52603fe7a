"""TOML from people: what the standard reader answers with other errors is an error of TOML too."""

from __future__ import annotations

import tomllib
from typing import Any

_LARGEST = 2**63


def read_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; `tomllib.TOMLDecodeError` if it is nested too deeply or a whole number has over 64 bits."""
    try:
        found = tomllib.loads(text)
        _check(found)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("its brackets are nested too deeply") from None
    except ValueError:
        raise tomllib.TOMLDecodeError("a number or a date is outside the range of TOML") from None
    return found


def _check(value: Any) -> None:
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check(part)
