"""The differential privacy of a release: of steps whose draws and settings do not depend on the data.

Only settings that the user stated count. A step after them may read nothing but what they released.
"""

from __future__ import annotations

from larvatus.certificates.laws_of_steps import ROW_WISE_STEPS, NoLaw, check_all_masked, check_plain, masking_steps
from larvatus.data.microdata import Microdata
from larvatus.data.privacy.privacy_loss import ColumnPrivacy, PrivacyStatement
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step, view_of_step


def privacy_of(release: Release, original: Microdata) -> PrivacyStatement:
    """The statement, or the reason why there is none; `original` is in the sub-groups of the release."""
    try:
        check_plain(release, original)
        check_all_masked(release, original)
    except NoLaw as why:
        return PrivacyStatement(reason=str(why))
    if len(release.copies) > 1:
        return PrivacyStatement(reason="the release has several copies")
    found: dict[str, ColumnPrivacy] = {}
    for step in masking_steps(release, original):
        names = columns_of_step(step, original)
        if step.name() in ROW_WISE_STEPS and set(names) <= set(found):
            continue
        if set(names) & set(found):
            return PrivacyStatement(reason=f"{step.name()} masks a column that another step masked before it")
        said = step.privacy(view_of_step(step, original))
        if isinstance(said, str):
            return PrivacyStatement(reason=f"{step.name()}: {said}")
        found |= {c.column: c for c in said}
    left = [n for n in release.data.confidential if n not in found]
    if left:
        return PrivacyStatement(reason=f"{left[0]} is released without such a mask")
    return PrivacyStatement(tuple(found.values()))
