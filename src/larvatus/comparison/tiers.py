"""The limits of the access tiers, and the default rule of the report.

The numbers are this package's own choice, as a starting point; no law or authority prescribes them. The reasons are in
docs/decisions/0024-tiers-and-the-default-rule.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Tier(NamedTuple):
    """The limits of an access tier, as shares.

    `above_baseline` limits every attack that decides, above the better of chance and S alone. The others limit attacks that
    find records: the share found, the share found in the worst sub-group (lower end of its interval), and the share found
    with certainty. In every tier, no record that is alone in S, and no whole sub-group, may be released unchanged. The limit
    of the worst sub-group is also the limit of the worst category: of the records released with one category, so large a
    share may have the same original category (lower end of its interval), if that is at least twice the baseline. `key_risk`
    limits the mean individual risk by the key variables, if it is estimated (docs/decisions/0032-keys.md).
    """

    above_baseline: float
    at_most: float
    worst_group: float
    certain: float
    key_risk: float


TIERS: Mapping[str, Tier] = {
    "public": Tier(0.01, 1 / 11, 1 / 5, 0.01, 0.03),
    "scientific": Tier(0.05, 1 / 5, 1 / 3, 0.05, 0.1),
    "secure": Tier(0.2, 1 / 3, 1 / 2, 0.2, 0.2),
}

# The default rule, if no limit on an attack is set: an attack is near its baseline b if its value is at most
# b + clip(b / 2, LEAST_ABOVE, MOST_ABOVE) and its interval ends at most INTERVAL_ABOVE above b. Attacks that find records
# must also meet the absolute limits of tier `scientific`.
AT_MOST_TIMES = 1.5
LEAST_ABOVE, MOST_ABOVE = 0.01, 0.05
INTERVAL_ABOVE = 0.1
DEFAULT = TIERS["scientific"]
