"""Steps that make keys coarser, in words: age in classes of 10, rare combinations blanked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.desk.wording import Wording


def key_step_words(step: Mapping[str, Any], say: Wording) -> str:
    """What a step does to keys; empty for other steps."""
    columns = ", ".join(step.get("columns") or ())
    if step["method"] == "recoding" and isinstance(step.get("level"), Mapping):
        widths = step.get("widths") or {}
        return "; ".join(_class_of(name, level, widths.get(name), say) for name, level in step["level"].items())
    if step["method"] == "local_suppression":
        return say("keys.blanked", k=step.get("k", ""), columns=columns)
    return say("keys.removed", columns=columns) if step["method"] == "record_suppression" else ""


def _class_of(name: str, level: int, widths: list[float] | None, say: Wording) -> str:
    if widths is None:
        return say("keys.level", column=name, level=level)
    if level > len(widths):
        return say("keys.one", column=name)
    return say("keys.width", column=name, width=say.number(widths[level - 1]))
