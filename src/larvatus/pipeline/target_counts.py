"""How many targets a linkage attack draws: as many as the precision of its score needs, within the work the attack may take.

    half-width of the 95 % interval ≤ max(0.0005, min(0.005, ¼ max(p, limit))),   p the success rate

No success rate needs more than 38,411 targets. An attack that finds links quickly draws that many, which costs less than the
extra pass over the file of a pilot. For an attack that compares each target with every record, a pilot of 500 targets
estimates p; its draws are not used again. A pilot is run only if it can save most of the work, which needs a limit: without
one, no success rate needs fewer than 3,000 targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from larvatus.attacks.linkage.target_sample import TargetCount, targets_for
from larvatus.comparison.limits import Limits
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.stats.estimates.intervals import wilson_size

_WIDEST, _NARROWEST, _OF_RATE = 0.005, 0.0005, 0.25  # half-widths of the interval, and its share of the rate or the limit
PILOT = 500
_WORTH_A_PILOT = 4  # the pilot must be able to reduce the number of targets by this factor
_SHARES = ("at_most", "above_chance", "above_baseline", "worst_group", "certain")


def state_targets(methods: Iterable[Attack], targets: TargetCount) -> tuple[Attack, ...]:
    """The attacks with this number of targets, unless they state one."""
    return tuple(
        m.model_copy(update={"targets": targets}) if targets is not None and getattr(m, "targets", targets) is None else m
        for m in methods
    )


def smallest_limit(limits: Limits, name: str) -> float:
    """The smallest share that a limit sets for an attack; 0 if there is none."""
    own = (limits.scores[name],) if name in limits.scores else limits.of_attacks
    return min((v for limit in own for f, v in limit.stated_figures().items() if f in _SHARES), default=0.0)


def half_width(share: float, limit: float) -> float:
    """The half-width that the interval should have at most."""
    return max(_NARROWEST, min(_WIDEST, _OF_RATE * max(share, limit)))


def size_for(share: float, limit: float) -> int:
    """The number of equally likely targets that gives this half-width."""
    return wilson_size(share, half_width(share, limit))


@dataclass(frozen=True, slots=True)
class CountedAttack:
    """An attack with the number of targets it draws, and the attack as it was stated."""

    stated: Attack
    attack: Attack
    limit: float = 0.0
    bounded: bool = False

    def score(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        """The score, under the settings that were stated."""
        score = replace(self.attack.attack(original, release, intruder, random), settings=self.stated.settings())
        if not self.bounded or score.interval is None:
            return score
        asked, width = half_width(score.value, self.limit), (score.interval[1] - score.interval[0]) / 2
        if width <= asked:
            return score
        note = (f"the interval has a half-width of {100 * width:.2g} percentage points; {100 * asked:.2g} would need more "
                "targets than this attack draws by default")
        return replace(score, notes=(*score.notes, note))


def count_targets(
    method: Attack, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, limit: float
) -> CountedAttack:
    """The attack with the number of targets that the precision needs; as it is if it states one, or if the file is small."""
    most, sizes = method.most_targets, release.data.groups.sizes
    if most is None or getattr(method, "targets", "all") is not None or release.data.rows <= most:
        return CountedAttack(method, method)
    needed = targets_for(size_for(0.5, limit), sizes)
    if needed > most and _WORTH_A_PILOT * size_for(0.0, limit) <= most:
        try:
            pilot = method.model_copy(update={"targets": PILOT}).attack(original, release, intruder, random.child("pilot"))
        except RiskError:  # the attack itself says why it does not apply
            return CountedAttack(method, method)
        needed = targets_for(size_for(pilot.value, limit), sizes)
    count = min(needed, most)
    return CountedAttack(method, method.model_copy(update={"targets": count}), limit, bounded=needed > most)
