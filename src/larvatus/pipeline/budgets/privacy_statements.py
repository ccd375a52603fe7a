"""The differential privacy of a release, from its steps and its source."""

from __future__ import annotations

from larvatus.certificates.privacy_of_release import privacy_of
from larvatus.data.alignment import in_groups_of
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.released_keys import with_released_keys
from larvatus.data.privacy.privacy_loss import PrivacyStatement
from larvatus.data.release import Release


def statement_of(data: Microdata, release: Release) -> PrivacyStatement:
    """The statement of a release, or the reason why there is none."""
    if not release.steps or not release.is_paired:
        return PrivacyStatement(reason="the release was masked elsewhere, so its mechanism is not known")
    if release.data.rows != data.rows:
        return PrivacyStatement(reason="records were removed")
    return privacy_of(release, in_groups_of(with_released_keys(data, release), release.data))
