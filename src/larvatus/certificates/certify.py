"""The certificates of a release: the smallest bound that is proved for each kind of intruder."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.certificates.candidates import candidate_cells, columns_with_more_digits
from larvatus.certificates.laws_of_steps import NoLaw, laws_of
from larvatus.certificates.normal_forecast import normal_forecast
from larvatus.certificates.proofs import Bound, equal_rows, equal_s, pairs_revealed, score_bound
from larvatus.core.errors import LarvatusError, MachineError
from larvatus.data.certificate import FALSE_ALARM, Certificate, Certificates, CertifiedIntruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release


def certify_release(original: Microdata, release: Release, false_alarm: float = FALSE_ALARM) -> Certificates:
    """Certificates of a paired release; `original` is in the sub-groups of the release."""
    whole, single, refusals = [equal_rows(release, false_alarm)], list[Bound](), list[str]()
    try:
        whole.append(equal_s(release, original, false_alarm)[0])
    except NoLaw as why:
        try:
            laws = laws_of(release, original)
            for into, bound in ((whole, pairs_revealed), (single, score_bound)):
                try:
                    into.append(bound(laws, false_alarm))
                except NoLaw as missing:
                    refusals.append(f"one by one: {missing}")
        except MachineError:
            raise
        except LarvatusError as missing:
            refusals += [f"equal S: {why}", f"law of the mask: {missing}"]
    exact_equations = [s.name() for s in release.steps if s.exact_noise(release.data.confidential) is not None]
    if exact_equations and whole[0].expected >= 1 and len(whole) == 1:
        refusals.append(f"whole file: {exact_equations[0]} keeps equations exactly, which only the true pairing satisfies")
    finer = columns_with_more_digits(release)
    if finer:
        refusals.insert(0, f"S: {finer[0]} is released with more digits than are compared, so it may tell all records apart. "
                           f"If its values repeat, declare it categorical (nominal = [{finer[0]!r}])")
    chance = candidate_cells(release).chance
    out = Certificates([
        _certificate("single target", [*single, *whole], chance, release.data.rows, false_alarm),
        _certificate("whole file", whole, chance, release.data.rows, false_alarm),
    ])
    out.refusals, out.normal_law = tuple(refusals), _forecast(release, original)
    return out


def _certificate(
    intruder: CertifiedIntruder, bounds: Sequence[Bound], chance: float, records: int, false_alarm: float
) -> Certificate:
    best, limit = min(bounds, key=lambda b: b.expected), min(bounds, key=lambda b: b.upper)
    assumed = tuple(dict.fromkeys(best.assumptions + limit.assumptions))
    return Certificate(intruder, best.expected, limit.upper, best.estimate, best.exact, best.proof, assumed, chance, records,
                       false_alarm, limit.proof)


def _forecast(release: Release, original: Microdata) -> float | None:
    try:
        return normal_forecast(release, original)
    except MachineError:
        raise
    except LarvatusError:
        return None
