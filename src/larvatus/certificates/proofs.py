"""The bounds that can be proved for a release, each with its argument.

    equal rows        whoever also knows the mask's random draws can tell all released rows apart but equal ones: the expected
                      number of links is the number of distinct released rows. This holds for every mask.
    equal S           the steps use X only through figures that do not change if records with equal S exchange their X. Given X,
                      every pairing within a cell of equal S is then equally likely: one link per cell is expected.
    pairs revealed    the links of all records outside a block of at most 12 similar ones are revealed; inside, the posterior
                      of the pairing is exact. Knowing more cannot lower the success of the best intruder.
    scored one by one the intruder's score of a candidate depends on the target and on this candidate's released row
                      (`stats/link_bounds/score_rules`), within blocks of similar records.

Limits for one release: links in different cells or blocks are independent. The number in a cell of equal rows is that of
matches of a random pairing; in a block it is between 0 and the size of the block. For scores one by one, links are also at most
the targets whose own row passes a fixed score, which are independent, plus those that no rival passes (`score_rules`). Limits
that follow from the law of the mask are numbers, not random. So the smallest of them holds with the false alarm of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.certificates.candidates import CandidateCells, candidate_cells, hidden_columns, released_rows
from larvatus.certificates.determined_columns import nearly_determined
from larvatus.certificates.laws_of_steps import (
    NoLaw,
    ReleasedLaws,
    check_first_steps,
    check_plain,
    masking_steps,
    records_by_step,
    zeros_kept_by,
)
from larvatus.certificates.unchanged_columns import chance_of_equal_draw
from larvatus.core.arrays import Ints
from larvatus.data.certificate import GIVEN_DRAWS, ROW_BY_ROW
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.stats.link_bounds.matchings import MOST_MATCHED
from larvatus.stats.link_bounds.record_laws import JointLaw
from larvatus.stats.link_bounds.sampled_bounds import SampledMean, pairing_bound, power_bounds, score_rule_bound
from larvatus.stats.link_bounds.tails import chance_of_sum, upper_random_pairing, upper_share, upper_sum_of_blocks

MOST_COMPARED = 1500  # records among which a score rule chooses; the answer is known to be among them
_BLOCKS = (MOST_MATCHED, 40, 150)  # sizes of blocks for the limit in one release
_WITHOUT_RIVALS = (0.0005, 0.002, 0.008, 0.03)  # share of targets that may have no rival above their fixed score
_OF_ROWS, _OF_DRAWS = 1 / 4, 1 / 2  # of the false alarm: equal rows; the draws of the mask, for whichever limit is smallest
_OF_SAMPLE = 1 / 16  # each of the four sampled bounds: pairings, scores, their blocks, power
_DRAWS, _FEWER_DRAWS, _MANY = 20_000, 4_000, 5_000
_PAIRINGS = 3_000
RARELY_EQUAL, _OFTEN = 1e-9, 0.5  # chances that a draw is refused because it changes nothing: neglected, and no proof
_SEED = 71
INDEPENDENT = "the mask draws each record on its own, by the law that its settings state"
EQUAL_S = "equal S, and a mask that uses no value of a single record"
SHUFFLED_ROWS = "the released rows are in random order"


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on the share of links: in expectation, its estimate, and in one release; the share that is certain aside."""

    expected: float
    estimate: float
    upper: float
    proof: str
    exact: bool = False
    assumptions: tuple[str, ...] = (SHUFFLED_ROWS,)


def equal_rows(release: Release, false_alarm: float) -> Bound:
    """The bound on whoever also knows the random draws."""
    code, part = released_rows(release), false_alarm * _OF_ROWS
    known = bool(release.steps) and _follows_from_record(release.steps) and not release.unmasked
    found = _of_sets(np.bincount(code), part, "equal released rows", exact=known)
    return found if known else replace(found, assumptions=(SHUFFLED_ROWS, GIVEN_DRAWS))


def equal_s(release: Release, original: Microdata, false_alarm: float) -> tuple[Bound, CandidateCells]:
    """The bound on masks that forget who is who among records with the same S; raises `NoLaw` if some step does not."""
    check_plain(release, original)
    steps = masking_steps(release, original)
    first = check_first_steps(steps, release, original)
    bad = [s.name() for s in first if not s.model_copy(update={"where": None}).forgets_pairing()]
    if bad:
        raise NoLaw(f"{bad[0]} uses the values of each record")
    hidden = hidden_columns(release, original)
    cells = candidate_cells(release, original, zeros_kept_by(first, original), records_by_step(steps, first, original), hidden)
    column = nearly_determined(first, original, cells)
    if column:
        raise NoLaw(f"S nearly determines {column}, which may be released as it is")
    again = chance_of_equal_draw(release, original, cells)
    if again > _OFTEN:
        raise NoLaw("a draw that leaves a column unchanged is drawn again, which is likely with so few records")
    of_keys = [s for s in release.steps if s not in steps]
    exact = again < RARELY_EQUAL and all(s.where is None for s in steps) and _follows_from_record(of_keys)
    exact = exact and not hidden
    found = _of_sets(cells.sizes, false_alarm * _OF_DRAWS * (1 - again), EQUAL_S, exact=exact)
    more = min(1.0, found.expected / (1 - again))  # links given that the draw was not refused
    return replace(found, expected=more, estimate=more), cells


def _follows_from_record(steps: Sequence[Mask]) -> bool:
    """Whether whoever knows a record knows what the steps make of it: no draws, and no ties among records are broken."""
    return all(s.alone and not s.random and s.where is None for s in steps)


def _of_sets(sizes: Ints, false_alarm: float, proof: str, exact: bool) -> Bound:
    """One expected link for each set of records that nothing distinguishes."""
    records, alone, sets = int(sizes.sum()), int((sizes == 1).sum()), int((sizes > 1).sum())
    expected = (alone + sets) / max(records, 1)
    upper = alone + upper_random_pairing(sets, records - alone, false_alarm)
    return Bound(expected, expected, upper / max(records, 1), proof, exact)


def pairs_revealed(found: ReleasedLaws, false_alarm: float) -> Bound:
    """The bound on whole-file intruders."""
    shared, alone, records = _shared(found)
    if not shared:
        return Bound(1.0, 1.0, 1.0, _REVEALED)
    mean = pairing_bound(shared, MOST_MATCHED, _PAIRINGS, false_alarm * _OF_SAMPLE, _SEED)
    again = _drawn_again(found, [mean], records - alone)
    upper = _in_one_release(mean, records - alone, false_alarm * _OF_DRAWS * (1 - again))
    shares = mean.upper / (1 - again), mean.estimate / (1 - again), upper
    expected, estimate, limit = (_with(share, alone, records) for share in shares)
    return Bound(expected, estimate, limit, _REVEALED, assumptions=(SHUFFLED_ROWS, INDEPENDENT))


_REVEALED = f"exact pairing of blocks of {MOST_MATCHED}, all other links revealed"


def score_bound(found: ReleasedLaws, false_alarm: float) -> Bound:
    """The bound on intruders who know one record."""
    if not found.row_by_row:
        raise NoLaw("a later step looks at several released rows at once")
    shared, alone, records = _shared(found)
    proof = "any score of the candidates one by one, under the law of the mask"
    if not shared:
        return Bound(1.0, 1.0, 1.0, proof)
    draws = _DRAWS if records <= _MANY else _FEWER_DRAWS
    sampled, drawn = false_alarm * _OF_SAMPLE, false_alarm * _OF_DRAWS
    mean = score_rule_bound(shared, MOST_COMPARED, draws, sampled, _SEED)
    blocks = [score_rule_bound(shared, size, _FEWER_DRAWS, sampled / len(_BLOCKS), _SEED + size) for size in _BLOCKS]
    again = _drawn_again(found, blocks, records - alone)
    drawn *= 1 - again
    uppers = [_by_power(shared, records - alone, draws, sampled, drawn)]
    uppers += [_in_one_release(some, records - alone, drawn) for some in blocks]
    shares = mean.upper / (1 - again), mean.estimate / (1 - again), min(uppers)
    expected, estimate, limit = (_with(share, alone, records) for share in shares)
    return Bound(expected, estimate, limit, proof, assumptions=(SHUFFLED_ROWS, INDEPENDENT, ROW_BY_ROW))


def _drawn_again(found: ReleasedLaws, means: Sequence[SampledMean], records: int) -> float:
    """A bound on the chance that a column comes out unchanged, and is then drawn again.

    Whoever guesses at a row with a value alike would then be right once in every set of values alike. The bounds in blocks
    say how rare this number of links is.
    """
    out = sum(min(chance, *(chance_of_sum(sets, m.upper * records, m.blocks, m.largest) for m in means))
              for sets, chance in found.back)
    if out > _OFTEN:
        raise NoLaw("a draw that later steps change back is drawn again, perhaps often with so few records")
    return out


def _by_power(shared: list[JointLaw], records: int, draws: int, sampled: float, drawn: float) -> float:
    """The limit of the share in one release by targets whose own row passes a fixed score.

    Half of the false alarm of the draws is for targets without rivals (Markov), half for own rows (Chernoff).
    """
    part = drawn / 2
    rivals = [float(-np.log(part * share)) for share in _WITHOUT_RIVALS]
    powers = power_bounds(shared, MOST_COMPARED, draws, rivals, sampled, _SEED + 1)
    return min(1.0, *(share + upper_share(p.upper, records, part) for share, p in zip(_WITHOUT_RIVALS, powers, strict=True)))


def _shared(found: ReleasedLaws) -> tuple[list[JointLaw], int, int]:
    """The laws of cells of two or more records, the records that S singles out, and all records."""
    alone = int((found.cells.sizes == 1).sum())
    return [law for law in found.laws if law.records > 1], alone, len(found.cells.code)


def _with(share: float, alone: int, records: int) -> float:
    """The share of all records, given the share among those that S does not single out."""
    return min(1.0, (alone + share * (records - alone)) / records)


def _in_one_release(mean: SampledMean, records: int, false_alarm: float) -> float:
    """The limit of the share in one release, from the bound on its mean in blocks."""
    return min(1.0, upper_sum_of_blocks(mean.upper * records, mean.blocks, mean.largest, false_alarm) / records)
