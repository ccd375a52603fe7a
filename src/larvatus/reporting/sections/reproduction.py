"""How to reproduce the releases and this report: package, study and commands; never the secret or a record id."""

from __future__ import annotations

from typing import Any

from larvatus.comparison.subset import ComparisonLike
from larvatus.reporting.page.blocks import Code, Listing, Paragraph, ReportBlock, Section

COMMANDS = """\
pip install larvatus=={version}
larvatus run study.toml -o out/ --secret-file SECRET
"""


def reproduction_section(comparison: ComparisonLike, version: str) -> Section:
    """The study file, or one reconstructed from the comparison if there was none."""
    study = comparison.about.study
    said = (
        "The study file, with paths shortened to file names:" if study
        else "The releases were made from Python, not from a study file. An equivalent study file:"
    )
    items = (
        f"Package: larvatus {version}.",
        "The same secret gives the same releases, bit for bit, on every engine. Another secret gives different releases with "
        "the same properties. No report contains the secret; someone who may see the original data must store it.",
        "Lists of record ids are shown only as the number of records.",
    )
    blocks: tuple[ReportBlock, ...] = (
        Listing(items), Code("Commands", COMMANDS.format(version=version)), Paragraph(said),
        Code("Study", study or _told(comparison)),
    )
    return Section("How to reproduce this", blocks)


def _told(comparison: ComparisonLike) -> str:
    """A study with the roles, steps, attacks and measures of the comparison."""
    import tomli_w

    about, first = comparison.about, comparison.candidates[0]
    roles = {"confidential": list(about.confidential), "weight": about.weight, "key": list(about.keys),
             "non_confidential": [n for n in about.non_confidential if n not in about.keys]}
    plain: dict[str, Any] = {
        "source": "…", "purpose": about.purpose, "roles": roles, "sub_groups": {"columns": list(about.sub_groups)},
        "release": [{"name": c.name, "steps": [_settings(s) for s in c.steps]} for c in comparison.candidates],
        "attack": [_settings({"method": s.method, **s.settings}) for s in first.of_kind("risk")],
        "measure": [_settings({"method": s.method, **s.settings}) for s in first.of_kind("loss") if s.method != "analyses"],
    }
    return tomli_w.dumps(_without_nothing(plain))


def _settings(settings: Any) -> dict[str, Any]:
    """Settings with a list of record ids replaced by their number."""
    where = settings.get("where")
    return {**settings, "where": f"{len(where):,} record ids"} if isinstance(where, list | tuple) else dict(settings)


def _without_nothing(value: Any) -> Any:
    """A value that TOML can store: empty and None entries are dropped, other types become text."""
    if isinstance(value, dict):
        return {str(k): _without_nothing(v) for k, v in value.items() if v is not None and v != {} and v != []}
    if isinstance(value, list | tuple):
        return [_without_nothing(v) for v in value if v is not None]
    return value if isinstance(value, bool | int | float | str) else str(value)
