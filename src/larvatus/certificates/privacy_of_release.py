"""The differential privacy of a release: of steps whose draws and settings do not depend on the data.

Only settings that the user stated count. A step after them may read nothing but what they released.
"""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.certificates.laws_of_steps import ROW_WISE_STEPS, NoLaw, check_all_masked, check_plain, masking_steps
from larvatus.data.contracts import Mask
from larvatus.data.dates.date_numbers import UNITS
from larvatus.data.exposure.value_changes import ALIKE
from larvatus.data.labelling.code_collisions import code_ranges
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.privacy.privacy_loss import ColumnPrivacy, PrivacyStatement
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step, is_key_step, view_of_step
from larvatus.data.verbs import count_present
from larvatus.stats.privacy.privacy_losses import chance_of_small_noise

_NEVER = 1e-12  # probability that a column stays as it is: then it would be drawn again, which ε does not allow for


def privacy_of(release: Release, original: Microdata) -> PrivacyStatement:
    """The statement, or the reason why there is none; `original` is in the sub-groups of the release."""
    try:
        check_plain(release, original)
        check_all_masked(release, original)
    except NoLaw as why:
        return PrivacyStatement(reason=str(why))
    if len(release.copies) > 1:
        return PrivacyStatement(reason="the release has several copies")
    chosen = [s.name() for s in release.steps if is_key_step(s, original.roles) and isinstance(s.where, str)]
    if chosen:  # the condition may read confidential values
        return PrivacyStatement(reason=f"{chosen[0]} masks the keys of some records only (where)")
    found: dict[str, ColumnPrivacy] = {}
    first: dict[str, Mask] = {}
    base = {n: 1 / UNITS[kind.unit] for n in original.confidential if (kind := original.table.columns[n].dates) is not None}
    base |= {n: unit + base.get(n, 0.0) for n, unit in release.internals.units.items()}
    for step in masking_steps(release, original):
        names = columns_of_step(step, original)
        if step.name() in ROW_WISE_STEPS and set(names) <= set(found):
            stated = per_column("rounding.base", getattr(step, "base", 0.0), names).tolist()
            base |= {n: b + base.get(n, 0.0) for n, b in zip(names, stated, strict=True)}
            continue
        if set(names) & set(found):
            return PrivacyStatement(reason=f"{step.name()} masks a column that another step masked before it")
        said = step.privacy(view_of_step(step, original))
        if isinstance(said, str):
            return PrivacyStatement(reason=f"{step.name()}: {said}")
        found |= {c.column: c for c in said}
        first |= dict.fromkeys(names, step)
    left = [n for n in release.data.confidential if n not in found]
    if left:
        return PrivacyStatement(reason=f"{left[0]} is released without such a mask")
    still = _may_stay(original, first, base)
    if still:
        return PrivacyStatement(reason=f"a draw that changes nothing is refused, which is too likely in {still}")
    return PrivacyStatement(tuple(found.values()))


def _may_stay(original: Microdata, first: Mapping[str, Mask], base: Mapping[str, float]) -> str:
    """A column of which all values may come back to themselves, whatever they are, and after what; empty if there is none.

    After rounding to the bases b₁, b₂, … the noise is (b₁ + b₂ + …) / 2 at most. A value on a code of missing values takes that
    of another record, which may be its own one. No interval is likelier than one of the same width around 0.
    """
    present = dict(zip(original.confidential, count_present(original).sum(axis=0).tolist(), strict=True))
    for name, step in first.items():
        if not hasattr(step, "scale"):
            continue
        names, width = columns_of_step(step, original), base.get(name, 0.0)
        sd = float(per_column("additive_noise.scale", step.scale, names)[names.index(name)])
        low, high = step.bounds[name]  # type: ignore[attr-defined]
        dated = original.table.columns[name].dates is not None
        codes = [] if dated else [end - start + width for start, end in code_ranges(original.roles.missing.get(name, ()))]
        widths = [width + 2 * ALIKE * (high - low), *codes]
        if sum(chance_of_small_noise(getattr(step, "noise", "normal"), sd, w / 2) for w in widths) ** present[name] > _NEVER:
            return f"{name} after rounding" if not any(codes) else f"{name} with its codes of missing values"
    return ""
