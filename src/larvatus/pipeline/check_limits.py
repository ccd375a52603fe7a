"""Check a release against limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from larvatus.attacks.linkage.exact_totals import records_from_totals
from larvatus.comparison.limits import Judgement, LimitsLike, needed_for
from larvatus.core.errors import EngineError, RiskError, StudyError, UtilityError
from larvatus.core.progress import current_progress
from larvatus.data.accepted_types import AttackLike, IntruderLike, ReleaseLike
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Attack, Measure, Method
from larvatus.data.exposure.computable_records import SAFE_AGAINST
from larvatus.data.exposure.leverage import in_place_text, released_in_place
from larvatus.data.exposure.remaining_values import remaining_values
from larvatus.data.holdout import FEWEST_HELD_OUT, NO_HOLDOUT
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.pairing import as_release
from larvatus.data.pairings.released_keys import with_released_keys
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.measures.analyses.spec import METHOD
from larvatus.pipeline.attack_release import attacks_under_tier, others_of, risk_of_methods
from larvatus.pipeline.budgets.budget_of_run import RunBudget
from larvatus.pipeline.budgets.manifest_entries import in_original_order
from larvatus.pipeline.measure_release import utility
from larvatus.pipeline.target_counts import state_targets
from larvatus.study.scoring import Scoring, refuse_unused, scoring_of


def check(
    data: Microdata, release: ReleaseLike, limits: LimitsLike | None = None, *, intruder: IntruderLike | None = None,
    scoring: Scoring | None = None, other_releases: ReleaseLike | None = None, pairing: str | Path | None = None,
    other_pairings: Sequence[str | Path] = (), row_order: Literal["checked", "keep"] = "checked", paired: bool = True,
) -> Judgement:
    """Check a release against limits: Limits, the name of an access tier, or a table as in `[limits]`.

    If `scoring` names no attacks or measures, those that the limits need are run; for an access tier, every attack that
    applies, with the settings of `scoring` if it names the attack; attacks that know the steps of the release also run with
    their defaults. A limit on a score that was not run counts as broken. `other_releases`, `pairing` and `row_order` are
    those of `risk`. Records that the non-confidential columns hold in place (rare categories, extreme values) and that are
    released unmasked count as a broken limit. So do records whose values follow from the exact totals of several releases, and
    a release that exceeds the budget of its source (`scoring.budget`).

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> judgement = lv.check(data, lv.mask(data, "additive_noise(variance=0.001)"), {"nearest_record": 0.05})
        >>> judgement.meets_limits
        False
        >>> judgement.broken.column("figure")
        ['value (upper end of the interval)']
        >>> lv.check(data, "masked_elsewhere.csv", "public")  # doctest: +SKIP
    """
    check_microdata(data)
    how = scoring_of(scoring, {"limits": limits, "intruder": intruder})
    refuse_unused(how, "check", "domains", "null_resamples")
    asked, combined, attacks, measures = how.limits, how.combine, how.attacks, how.measures
    budget = RunBudget.of(how.budget) if how.budget.has_limit else None
    if not asked and budget is None:
        raise StudyError(["limits: no limit is given. Add [limits] to the study, or name a tier such as \"public\"."])
    given = as_release(data, release, pairing, row_order=row_order, paired=paired)
    beside: Any = {"intruder": how.intruder, "other_releases": other_releases, "other_pairings": other_pairings,
                   "limits": asked, "progress": current_progress()}
    found: list[Score] = []
    not_run: dict[str, str] = {}
    needed: Sequence[AttackLike] = needed_for(asked, combined, "risk") if attacks is None else attacks
    if asked.tier is not None or (attacks is None and asked.of_attacks):
        named = all_of(Attack, list(attacks or ()))
        more = [a for a in attacks_under_tier(named, given.steps) if a not in named]
        found += risk_of_methods(data, given, state_targets(more, how.targets), **beside)
        have = [*(a.name() for a in named), *(s.method for s in found)]
        needed = [*(attacks or ()), *(n for n in needed_for(asked, combined, "risk") if n not in have)]
    for attack in state_targets(all_of(Attack, needed), how.targets):
        with _noted(attack, not_run):
            found += risk_of_methods(data, given, [attack], [attack], **beside)
    for measure in all_of(Measure, needed_for(asked, combined, "loss") if measures is None else measures):
        if measure.name() != METHOD:
            with _noted(measure, not_run):
                found += utility(data, given, [measure], progress=current_progress())
    if how.analyses:
        found += [s for s in utility(data, given, [], analyses=how.analyses, progress=current_progress()) if s.method == METHOD]
    judged = asked.judge(found, combined, not_run)
    who = intruder_of(how.intruder)
    others = others_of(data, who.other_releases if other_releases is None else other_releases, other_pairings, row_order)
    exposed = [*_unjudged_rows(data, given), *_held_rows(data, given), *_rows_from_totals(data, given, others, who)]
    spent: list[Row] = []
    if budget is not None and given.is_paired:
        entry = budget.entry(data, given)
        spent = budget.rows(in_original_order(entry) if row_order == "keep" else entry)
    return Judgement(Rows.of([*judged.rows, *exposed, *spent]), judged.warnings)


def _unjudged_rows(data: Microdata, release: Release) -> list[Row]:
    """A broken limit if nothing can be said of copies: the release has no pairs, and there is no holdout."""
    if release.is_paired or data.holdout is not None:
        return []
    return [{"score": "near_copies", "figure": "records held out", "value": 0.0, "limit": float(FEWEST_HELD_OUT), "met": False,
             "reason": f"the file is not paired with the original. To judge it, {NO_HOLDOUT}"}]


def _held_rows(data: Microdata, release: Release) -> list[Row]:
    """A broken limit if records that S holds in place are released unmasked: no share of them is acceptable."""
    if not release.is_paired:
        return []
    original = in_groups_of(with_released_keys(data, release), release.data)
    found = {h.records: h for copy in release.copies for h in released_in_place(original, copy, SAFE_AGAINST + 1)}
    if not found:
        return []
    count = float(len({r for ids in found for r in ids}))
    where = in_place_text(original, list(found.values()))
    why = f"{where}: of a few records that share a category or a sub-group, the sum is unmasked"
    return [{"score": "leverage", "figure": "records unmasked because of S", "value": count, "limit": 0.0, "met": False,
             "reason": why}]


def _rows_from_totals(data: Microdata, release: Release, others: Sequence[Release], intruder: Intruder) -> list[Row]:
    """Broken limits if several releases together give values of single records, or combinations of two."""
    paired = [o for o in others if o.is_paired]
    if not paired or not release.is_paired:
        return []
    left = remaining_values(data, release, paired)
    rows: list[Row] = [] if not len(left.record) else [
        {"score": "uniqueness", "figure": "records left over between two releases", "value": float(len(left.record)),
         "limit": 0.0, "met": False, "reason": left.in_words()}]
    found = records_from_totals(data, release, paired, intruder)
    if not found.count:
        return rows
    return [*rows, {"score": "exact_equations", "figure": "records known from totals of several releases",
                    "value": float(found.count), "limit": 0.0, "met": False, "reason": found.in_words()[0]}]


@contextmanager
def _noted(method: Method, not_run: dict[str, str]) -> Iterator[None]:
    """Record why a method was not run, for the limits that refer to it."""
    try:
        yield
    except (RiskError, UtilityError, EngineError) as error:
        not_run[method.name()] = error.reason_for(method.name())
