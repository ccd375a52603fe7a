"""Step 6: the risk–utility map, a card for each release, limits, and files that were masked elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from larvatus.comparison.limits_by_release import judge_limits
from larvatus.comparison.release_sentences import capitalise
from larvatus.comparison.selection_rule import passes_rule
from larvatus.comparison.tiers import INTERVAL_ABOVE, TIERS
from larvatus.core.errors import StudyError
from larvatus.desk.finished_results import StudyResults, elsewhere_of, results_of
from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.pages.roles_page import columns_with_roles
from larvatus.desk.pages.search_form import add_search_result, show_search, start_search
from larvatus.desk.pages.synthetic_files import add_synthetic_file, files_to_add, other_files
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import columns_without_steps, with_part, without_empty
from larvatus.desk.synthetic_lines import synthetic_results
from larvatus.desk.verdicts import decision_text, verdict_texts
from larvatus.reporting.board.cards import card_of
from larvatus.reporting.board.map_block import risk_map
from larvatus.reporting.board.release_budget import budget_story
from larvatus.reporting.board.subject import Subject, subject_of
from larvatus.reporting.board.unmasked_success import success_without_mask
from larvatus.reporting.charts.risk_map import PHONE, draw_risk_map
from larvatus.reporting.figures.registry import pictures
from larvatus.reporting.page.blocks import Figure, NotesList, Paragraph, ReportTable
from larvatus.reporting.sections.certificates import certificates_story

_FEWEST_RECORDS = math.ceil((1.96 / INTERVAL_ABOVE) ** 2)  # with fewer, the interval of a correlation is too wide
_MANY_MISSING = 0.02
_DRAWN, _MOST_PICTURES = ("distributions", "correlation", "scatter"), 4


def show_compare(at: PageRequest) -> dict[str, Any]:
    """The map and the cards, the best release first."""
    results = results_of(at.study)
    job = at.desk.worker.latest(at.study.id, "elsewhere")
    beside = {"job": job if job and job.state != "done" else None, "files": other_files(at),
              "apart": at.study.plain.get("holdout", {}), "new_files": files_to_add(at),
              "ready": at.study.check().study is not None}
    if results is None or not results.comparison.candidates:
        return {"results": None, **beside}
    subject = subject_of(results.comparison)
    drawn = risk_map(subject) if subject.measures else None
    return {
        **beside, **show_search(at),
        "results": results, "title": decision_text(subject, at.say), "cards": cards_of(subject),
        "verdicts": verdict_texts(subject, at.say), "synthetic": synthetic_results(subject.candidates, at.say),
        "pictures": pictures_of(subject), "proved": proved_parts(subject),
        "map": draw_risk_map(drawn) if drawn else "", "narrow": draw_risk_map(drawn, PHONE) if drawn else "",
        "sentence": drawn.sentence if drawn else "", "limits": _limits(at, map_points(subject)), "tiers": list(TIERS),
        "passing": passing_names(results), "all": [c.name for c in results.comparison.candidates],
        "points": map_points(subject), "without_mask": _without_mask(subject),
        "unmasked": columns_without_steps(at.study.plain),
        "few": _FEWEST_RECORDS if results.comparison.about.records < _FEWEST_RECORDS else 0,
        "with_missing": columns_with_missing(at),
    }


def columns_with_missing(at: PageRequest) -> list[str]:
    """Confidential columns with many missing cells, which no mask changes: who did not answer can be seen."""
    masked = [c for c in columns_with_roles(at) if c["now"] == "confidential"]
    return [c["name"] for c in masked if c["missing"] > _MANY_MISSING * c["records"]]


def proved_parts(subject: Subject) -> list[dict[str, Any]]:
    """Certificates and the budget of the source, as the report has them; only what was computed."""
    stories = [story for story in (certificates_story(subject), budget_story(subject)) if story is not None]
    return [{
        "title": story.title, "finding": story.finding, "tables": [b for b in story.picture if isinstance(b, ReportTable)],
        "notes": [*(b.text for b in story.beside if isinstance(b, Paragraph)),
                  *(text for b in story.below if isinstance(b, NotesList) for _, text in b.items)],
    } for story in stories]


def cards_of(subject: Subject) -> list[Any]:
    """The card of every release, in the order of the report."""
    return [card_of(head, subject, in_full=True) for head in subject.in_order]


def pictures_of(subject: Subject) -> dict[int, list[Figure]]:
    """The pictures of each release, by its number: distributions, correlations, pairs of columns."""
    out: dict[int, list[Figure]] = {}
    for head in subject.heads:
        scores = {s.method: s for s in subject.candidate(head).scores}
        drawn = [b for m in _DRAWN if m in scores for b in pictures([head], [scores[m]]) if isinstance(b, Figure)]
        out[head.number] = drawn[:_MOST_PICTURES]
    return out


def map_points(subject: Subject) -> list[dict[str, Any]]:
    """For the sliders: excess risk and mean loss of each release."""
    return [{"number": h.number, "name": h.name, "excess": None if h.excess is None else max(h.excess, 0.0), "loss": h.loss}
            for h in subject.heads]


def passing_names(results: StudyResults) -> list[str]:
    """The releases that meet the limits, or the rule of the report if there are none."""
    subject, limits = subject_of(results.comparison), judge_limits(results.comparison)
    return [h.name for h in subject.heads if passes_rule(h, limits)]


def _without_mask(subject: Subject) -> str:
    """What the unmasked columns alone find, if that is too much in every release: more masking of the others is no help."""
    always = all(success_without_mask(h, subject) for h in subject.heads)
    said = success_without_mask(subject.favourite, subject) if always else ""
    return f"{capitalise(said)}." if said else ""


def _limits(at: PageRequest, points: list[dict[str, Any]]) -> dict[str, Any]:
    """The limits as the controls show them; the slider for risk reaches the highest point of the map."""
    stated = at.study.plain.get("limits", {})
    every = stated.get("every_attack")
    above = every.get("above_baseline") if isinstance(every, Mapping) else None
    highest = max([20.0, *(100 * (p["excess"] or 0.0) for p in points)])
    return {"tier": stated.get("tier", ""), "above": above, "highest": 5 * math.ceil(highest / 5),
            "loss": stated.get("mean_loss"), "stated": bool(stated)}


def _set_tier(at: PageRequest) -> None:
    tier = at.value("tier")
    at.change(with_part(at.study.plain, "limits", tier=tier if tier in TIERS else None), "limits")


def _set_loss(at: PageRequest) -> None:
    """A limit on the mean loss, in per cent."""
    at.change(with_part(at.study.plain, "limits", mean_loss=at.share("loss")), "limits")


def _set_above(at: PageRequest) -> None:
    """A limit on every attack: success above its baseline, in percentage points."""
    above = at.share("above")
    every = None if above is None else {"above_baseline": above}
    at.change(with_part(at.study.plain, "limits", every_attack=every), "limits")


def _no_limits(at: PageRequest) -> None:
    at.change(without_empty({**at.study.plain, "limits": {}}), "limits")


def _drop_elsewhere(at: PageRequest) -> None:
    left = [m for m in elsewhere_of(at.study) if m["candidate"]["name"] != at.value("name")]
    at.study.keep_finding("elsewhere_list", "all", left)


def _score_elsewhere(at: PageRequest) -> None:
    path = at.desk.root.resolve_table(at.value("path"))
    if at.study.check().study is None:
        raise StudyError(at.study.check().problems)
    if at.study.plain.get("holdout", {}).get("share"):  # the records left are not numbered as the rows of another file
        raise Refusal("compare.elsewhere_apart")
    keep = "keep" if at.value("row_order") == "keep" else "checked"
    at.desk.ask(at.study, "elsewhere", file=str(path), name=path.name, row_order=keep)


def _add_synthetic(at: PageRequest) -> str:
    """Add a file without pairs to the study, and run it; releases that are finished are not made again."""
    if at.study.check().study is None:
        raise StudyError(at.study.check().problems)
    add_synthetic_file(at)
    at.desk.start_run(at.study)
    return "run"


COMPARE_ACTIONS: Mapping[str, Action] = {
    "tier": _set_tier, "above": _set_above, "loss": _set_loss, "no_limits": _no_limits, "elsewhere": _score_elsewhere,
    "add_file": _add_synthetic,
    "drop": _drop_elsewhere, "search": start_search, "add_found": add_search_result,
}
