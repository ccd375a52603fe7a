"""Pages from templates: all text is escaped, and drawings come from the report's own charts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from larvatus.comparison.release_sentences import capitalise, plain_title
from larvatus.desk.desk import STEPS, Desk
from larvatus.desk.finished_results import results_of
from larvatus.desk.history import check_study
from larvatus.desk.refusals import problem_in
from larvatus.desk.study_folder import StudyFolder
from larvatus.desk.wording import Wording, languages


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("larvatus.desk", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["capital"] = capitalise
    made.globals.update(drawing=Markup, plain_title=plain_title, problem_in=problem_in)
    return made


def render_page(name: str, say: Wording, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A page in a language."""
    names = {code: texts["format"]["name"] for code, texts in languages().items()}
    html = _templates().get_template(f"{name}.html.j2").render(say=say, languages=names, steps=STEPS, **values)
    return HTMLResponse(html, status)


@cache
def chart_styles() -> str:
    """The rules for drawings from the style sheets of the report, so that every figure looks as it does there."""
    folder = files("larvatus.reporting.page") / "templates"
    lines = [line for name in ("report.css", "board.css") for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if line.startswith(("svg .", "svg path")))


def frame_of(desk: Desk, study: StudyFolder, step: str) -> dict[str, Any]:
    """What every page of a study shows around its content: the steps, undo and redo, the TOML, and problems."""
    checked = study.check()
    return {
        "study": study, "step": step, "toml": study.text(), "problems": checked.problems, "done": steps_done(desk, study),
        "mend_at": _page_to_mend(study) if checked.problems else "",
        "history": study.history, "busy": [j for j in desk.worker.open_jobs(study.id) if j.name == "run"],
    }


def _page_to_mend(study: StudyFolder) -> str:
    """Where the problems of a study can be solved: where its releases are planned, if it has none without them."""
    without = {name: value for name, value in study.plain.items() if name != "release"}
    return "roles" if check_study(without, study.path).problems else "masks"


def steps_done(desk: Desk, study: StudyFolder) -> set[str]:
    """The steps that have what the next one needs."""
    done = set()
    results = results_of(study)
    if desk.columns(study) is not None:
        done.add("open")
    if study.check().study is not None:
        done.add("roles")
    if study.finding("keys", desk.data_key(study)) is not None:
        done.add("keys")
    if study.plain.get("release"):
        done.add("masks")
    if results is not None and results.is_current:
        done |= {"run"}
    if study.about.get("approved"):
        done |= {"compare", "decide"}
    return done
