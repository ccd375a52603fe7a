"""Risk of the keys before and after each step that changes them, side by side, with the cells that each step changed."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.attacks.key_risk import KeyRisk
from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom, secret_or_new, stream_key
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import canonical, short_text
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.released_keys import key_changes
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.data.steps import apply_step, columns_of_step
from larvatus.pipeline.engine_errors import naming_method

_ORIGINAL = "original"


def apply_key_steps(data: Microdata, steps: Sequence[Mask], secret: bytes | None = None) -> list[Release]:
    """The file after each of the steps, which change keys only. Nothing else is masked."""
    key = secret_or_new(secret)
    out: list[Release] = []
    current = data
    for i, step in enumerate(steps):
        _check_keys(step, data)
        random = RecordRandom(stream_key(key, "keys", canonical(steps[: i + 1]), str(i)))
        with naming_method(step):
            current = apply_step(step, current, data, random).data
        out.append(Release(short_text(step), (current,), tuple(steps[: i + 1])))
    return out


def key_stages(data: Microdata, method: KeyRisk, after: Sequence[Release]) -> Rows:
    """One row for the original and one for every release after it, with the cells changed since the row before."""
    rows: list[Row] = [{**method.stage(data, Release(_ORIGINAL, (data,)), _ORIGINAL), "suppressed": 0, "recoded": 0}]
    before = data
    for release in after:
        cells = key_changes(before, release.data, [n for n in method.key_names(release.data) if n in data.changeable])
        rows.append({
            **method.stage(data, release, release.name),
            **{what: sum(n for n in cells.column(what) if isinstance(n, int)) for what in ("suppressed", "recoded")},
        })
        before = release.data
    return Rows.of(rows)


def stages_of_release(data: Microdata, method: KeyRisk, release: Release) -> Rows:
    """The original, the file after each key step of the release if all can be repeated, and the release."""
    of_keys = [s for s in release.steps if any(n in data.keys for n in columns_of_step(s, data))]
    between = [] if any(s.random for s in of_keys) else apply_key_steps(data, of_keys)[:-1]
    return key_stages(data, method, [*between, release])


def _check_keys(step: Mask, data: Microdata) -> None:
    """Raise an error for a step that does not name its keys, or names other columns."""
    if not step.columns:
        named = ", ".join(map(repr, data.keys[:2]))
        raise MaskError(f"{step.name()}: name the keys that it changes, such as columns=[{named}].")
    for name in step.columns:
        if name not in data.changeable:
            raise MaskError(f"{step.name()}.columns: {name!r} is not a key; {nearest_names(name, data.changeable)}")
        if name not in columns_of_step(step, data):
            raise MaskError(f"{step.name()}: cannot change the key {name!r}, because of its type. See larvatus describe "
                            f"{step.name()}.")
    if step.drops or step.copy_count > 1:
        raise MaskError(f"{step.name()}: removes records or makes several copies, and so does not change keys only.")
