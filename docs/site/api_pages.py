"""One page for every public name of the package, filled by mkdocstrings from its docstring."""

from __future__ import annotations

import inspect
from pathlib import Path

import larvatus

FUNCTIONS = ("read", "hold_out", "mask", "risk", "utility", "compare", "certify", "linkage_law",
             "linear_frontier", "budget", "check", "run", "search", "advise")
VALUES = ("Microdata", "Release", "Score", "Scores", "Comparison", "Study", "Roles", "SubGroups", "Intruder", "Holdout",
          "Limits", "Constraints", "Domain", "Analysis", "Goal", "Advice", "RoleGuesses", "SearchResult", "Note",
          "LarvatusError", "Scoring", "Execution", "Decision", "OutputFiles", "Certificate", "Certificates", "ReleaseBudget",
          "LinkForecast", "LinearFrontier")
INTERFACES = ("Mask", "Masked", "Attack", "Measure", "Engine", "Block", "Column", "RecordRandom")
PACKAGES = ("analysis", "datasets")  # one page for all names of each
GROUPS = {"Functions": FUNCTIONS, "Values": VALUES, "For analysts, and made-up data": PACKAGES, "To add a method": INTERFACES}
LEFT_OUT = {"attacks", "masks", "measures"}  # packages whose methods have pages in the reference


def write_api_pages(target: Path) -> dict[str, list[str]]:
    """Write the pages; return the names by group. A public name in no group is an error."""
    listed = {name for names in GROUPS.values() for name in names}
    forgotten = {n for n in larvatus.__all__ if not n.endswith("Like")} - listed - LEFT_OUT
    if forgotten:
        raise LookupError(f"no page for {', '.join(sorted(forgotten))}: add it to a group in {Path(__file__).name}")
    target.mkdir(parents=True, exist_ok=True)
    for name in listed:
        lead = f"{first_sentence(name)}\n\n" if name in PACKAGES else ""
        (target / f"{name}.md").write_text(f"# lv.{name}\n\n{lead}" + "\n".join(map(_filled, homes_of(name))), encoding="utf-8")
    lines = ["# Python interface", "", "```python", "import larvatus as lv", "```", ""]
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", ""]
        lines += [f"* [`lv.{name}`]({name}.md): {first_sentence(name)}" for name in names]
        lines.append("")
    (target / "README.md").write_text("\n".join(lines), encoding="utf-8")
    return {heading: list(names) for heading, names in GROUPS.items()}


def homes_of(name: str) -> list[str]:
    """Where a public name is defined, or each name of a public package, as dotted paths."""
    found = getattr(larvatus, name)
    values = [getattr(found, inside) for inside in found.__all__] if inspect.ismodule(found) else [found]
    return [f"{value.__module__}.{value.__qualname__}" for value in values]


def _filled(home: str) -> str:
    """The mark that mkdocstrings replaces by a docstring."""
    return f"::: {home}\n    options:\n      heading_level: 2\n      show_root_heading: true\n"


def first_sentence(name: str) -> str:
    """The first line of the docstring."""
    return (inspect.getdoc(getattr(larvatus, name)) or "").split("\n\n")[0].replace("\n", " ")
