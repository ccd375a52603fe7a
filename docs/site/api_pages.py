"""One page for every public name of the package, filled by mkdocstrings from its docstring."""

from __future__ import annotations

import importlib
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
GROUPS = {"Functions": FUNCTIONS, "Values": VALUES, "To add a method": INTERFACES}
LEFT_OUT = {"analysis", "attacks", "datasets", "masks", "measures"}  # packages; methods have pages in the reference


def write_api_pages(target: Path) -> dict[str, list[str]]:
    """Write the pages; return the names by group. A public name in no group is an error."""
    listed = {name for names in GROUPS.values() for name in names}
    forgotten = {n for n in larvatus.__all__ if not n.endswith("Like")} - listed - LEFT_OUT
    if forgotten:
        raise LookupError(f"no page for {', '.join(sorted(forgotten))}: add it to a group in {Path(__file__).name}")
    target.mkdir(parents=True, exist_ok=True)
    for name in listed:
        (target / f"{name}.md").write_text(f"# lv.{name}\n\n::: {home_of(name)}\n    options:\n      heading_level: 2\n      "
                                           "show_root_heading: true\n", encoding="utf-8")
    lines = ["# Python interface", "", "```python", "import larvatus as lv", "```", ""]
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", ""]
        lines += [f"* [`lv.{name}`]({name}.md): {first_sentence(name)}" for name in names]
        lines.append("")
    (target / "README.md").write_text("\n".join(lines), encoding="utf-8")
    return {heading: list(names) for heading, names in GROUPS.items()}


def home_of(name: str) -> str:
    """Where a public name is defined, as a dotted path."""
    found = getattr(larvatus, name)
    module = importlib.import_module(found.__module__)
    return f"{module.__name__}.{found.__qualname__}"


def first_sentence(name: str) -> str:
    """The first line of the docstring."""
    return (inspect.getdoc(getattr(larvatus, name)) or "").split("\n\n")[0].replace("\n", " ")
