"""A tree in which things can be found: small rooms, names that say what they hold, each public name once."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import larvatus
from every_case import every_case
from source_trees import tree

ROOT = Path(larvatus.__file__).parent
FILES = sorted(f for f in ROOT.rglob("*.py") if f.name != "__init__.py")
METHOD_ROOMS = {"masks", "attacks", "measures"}
MOST_MODULES = 25
SHORT = 60
PARTICIPLES = {
    "advised", "allowed", "altered", "analysed", "applied", "arranged", "asked", "assigned", "attacked", "capitalised",
    "carried", "checked", "chosen", "clustered", "coded", "combined", "compared", "completed", "composed", "constrained",
    "corrected", "counted", "credited", "cumulated", "decided", "decoded", "described", "drawn", "dumped", "estimated",
    "expected", "explained", "extracted", "filled", "fitted", "folded", "found", "gathered", "given", "grouped", "grown",
    "guessed", "held", "intersected", "joined", "judged", "kept", "keyed", "known", "laid_out", "left", "limited", "linked",
    "listed", "loaded", "made", "mapped", "marked", "matched", "measured", "moved", "named", "narrowed", "numbered",
    "opened", "ordered", "paired", "parsed", "parted", "patterned", "placed", "planned", "preferred", "preserved",
    "printed", "projected", "proposed", "published", "quoted", "ranked", "rechunked", "received", "recoded", "rejoined",
    "released", "remembered", "removed", "renamed", "rendered", "replaced", "reproduced", "returned", "rotated", "rounded",
    "said", "sampled", "scanned", "scored", "searched", "seen", "selected", "separated", "settled", "shared", "shortened",
    "shown", "simulated", "solved", "sorted", "spelled", "spread", "stacked", "standardised", "started", "stated", "stored",
    "studied", "suppressed", "swapped", "taken", "titled", "told", "tried", "truncated", "unexplained", "unused",
    "verified", "weighted", "whitened", "wrapped", "written",
}
ADJECTIVES = {  # usual in the field before a noun: released columns, weighted moments, a truncated normal distribution
    "allowed", "combined", "compared", "expected", "extracted", "given", "grouped", "joined", "keyed", "known", "limited",
    "named", "ordered", "paired", "parsed", "planned", "preferred", "published", "released", "rounded", "sampled",
    "selected", "shared", "simulated", "sorted", "spread", "standardised", "stated", "suppressed", "truncated",
    "unexplained", "unused", "weighted", "written",
}
ROLES = {"known", "released"}  # properties of Microdata: columns by role
NOUNS = {"spread"}
BY_NAME = {"PAPER"}  # found by this name in every paper's folder, as methods are found by their file's
ALONE = {  # short modules with one user, and why each stays a file
    "reporting/charts/frontier.py": "a chart of its own, beside the other charts",
    "pipeline/extremes.py": "what is true of a finished release, apart from how it is made",
    "__main__.py": "what python -m larvatus runs, by its name",
    "advice/texts_among_numbers.py": "what texts of a column are, apart from what a column is",
    "attacks/keys/disclosed_differences.py": "reads the rules of a release, which the attack does not",
    "stats/linkage_law/one_to_one.py": "a simulation, apart from the closed forms",
    "attacks/keys/near_values.py": "nearness of values, apart from the classes that the attack counts",
    "stats/key_risk/pitman_prediction.py": "the law of uniques given the sample, apart from how models are fitted",
    "attacks/values/common_values.py": "what several releases show of a record, apart from the regression that uses it",
    "attacks/values/repeated_values.py": "which values a person repeats, apart from the means over rows",
    "attacks/values/defining_columns.py": "a search over columns of S, apart from the attack on the cells that it finds",
    "stats/estimates/common_values.py": "arithmetic on values and groups, tested by hand",
    "stats/grouping/equal_groups.py": "arithmetic on values, tested by itself",
    "stats/grouping/swap_pairs.py": "which units exchange their values, tested by itself",
    "stats/linear/non_negative.py": "least squares under bounds, tested by itself",
    "stats/neighbours/unit_assignments.py": "assignment of whole units, apart from the evidence of their members",
    "stats/key_risk/household_risk.py": "arithmetic of risks, tested against a simulation",
    "stats/grouping/tree_cuts.py": "a published function without its overhead, tested against it",
    "pipeline/candidates/stored_outcomes.py": "what an unfinished release stores, apart from the cache of finished ones",
    "engines/_disk/duckdb_files.py": "files of DuckDB as sources, where that library may be imported",
    "engines/_files/labelled_targets.py": "a file that is written when all of it is there, apart from those written in parts",
    "study/source_section.py": "one table of a study, read before its other parts",
    "cli/output/option_words.py": "which option a setting is: a table to add a line to",
    "desk/events.py": "what pages are told, apart from what they show",
    "desk/study_script.py": "the script that users download, read as one page",
    "desk/uploads.py": "what comes from outside, apart from the pages",
    "cli/demo_study.py": "the data and the study of the demo, which a newcomer looks for by name",
    "cli/compile_ahead.py": "what an installation runs with python -m, by its name",
    "constraints/feasibility.py": "linear programming, imported only where rules are stated",
    "engines/_disk/pairing.py": "the verb `pair` of one engine, as in every engine",
    "masks/grouping/outlyingness.py": "arithmetic that the mask's own file would have to import at once",
    "reporting/board/assumptions.py": "one section of the board's part, as its neighbours",
    "reporting/figures/captions.py": "sentences from figures, apart from the choice of the figure",
    "reporting/editions/public.py": "the list of what may be published, read as one page",
    "reporting/editions/compose.py": "the door from a comparison to a report",
    "reporting/figures/propensity.py": "one figure, as its neighbours",
    "reporting/page/search_table.py": "one block of the page, as its neighbours",
    "stats/copula/iman_conover.py": "one published algorithm",
    "stats/estimates/lorenz.py": "one published formula",
    "stats/estimates/marginality.py": "one published formula",
    "stats/linear/truncated_normal.py": "one distribution",
    "stats/linkage/separating_columns.py": "a search on plain arrays, beside the data that it names columns of",
    "pipeline/budgets/budget_of_releases.py": "a public function, apart from what studies do with budgets",
    "certificates/normal_forecast.py": "a forecast under a model, apart from bounds",
    "stats/link_bounds/similar_blocks.py": "how records are cut into blocks, apart from what is bounded in them",
    "stats/noise/transitions.py": "matrices of one mask, on plain arrays",
    "risks.py": "the former name of attacks, for one version",
    "utilities.py": "the former name of measures, for one version",
}


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def public(path: Path) -> dict[str, ast.AST]:
    """Functions, classes and constants that a module defines under a public name."""
    out: dict[str, ast.AST] = {}
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            out[node.name] = node
        elif isinstance(node, ast.Assign):
            out |= {n.id: node for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            out[node.target.id] = node
    return {name: node for name, node in out.items() if not name.startswith("_")}


def private(path: Path) -> bool:
    return any(part.startswith("_") for part in path.relative_to(ROOT).parts)


@every_case(sorted({f.parent for f in FILES}))
def test_rooms_are_small(folder):
    modules = [f for f in FILES if f.parent == folder]
    assert len(modules) <= MOST_MODULES or folder.name in METHOD_ROOMS


@every_case(sorted({f.parent for f in ROOT.rglob("*.py")}))
def test_every_package_says_what_belongs_there(folder):
    said = ast.get_docstring(tree(folder / "__init__.py"))
    assert said is not None
    assert len(said.split()) >= 5


@every_case(FILES, place)
def test_no_name_is_a_bare_participle(path):
    own = [n for n, node in public(path).items() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert not {n.lower() for n in (path.stem.strip("_"), *own)} & PARTICIPLES


@every_case(FILES, place)
def test_no_public_name_starts_or_ends_with_a_participle(path):
    """`told_scores` and `copies_asked` say less than `print_scores` and `copies_of_steps`."""
    own = [n.split("_") for n, node in public(path).items() if isinstance(node, ast.FunctionDef) and "_" in n]
    first = {"_".join(n) for n in own if n[0] in PARTICIPLES - ADJECTIVES}
    last = {"_".join(n) for n in own if n[-1] in PARTICIPLES - ADJECTIVES and n[-2] not in {"is", "be", "not"}}
    assert not first | last


@every_case([f for f in FILES if not private(f)], place)
def test_no_method_of_a_public_class_is_a_bare_participle(path):
    """Methods and properties; fields may be adjectives, and an engine's own folder is not public."""
    classes = [node for node in public(path).values() if isinstance(node, ast.ClassDef)]
    named = {f"{c.name}.{m.name}" for c in classes for m in c.body if isinstance(m, ast.FunctionDef)}
    allowed = {f"Microdata.{n}" for n in ROLES}
    assert not {n for n in named if n.split(".")[1] in PARTICIPLES - NOUNS} - allowed
    assert not {n for n in named if n.split(".")[1].split("_")[0] in PARTICIPLES - ADJECTIVES}, "a prefix"


def test_every_public_name_is_defined_once():
    where = defaultdict(list)
    for path in FILES:
        for name in public(path):
            if "cli/commands/" not in place(path) and name not in BY_NAME:
                where[name].append(place(path))
    assert not {name: places for name, places in where.items() if len(places) > 1}


def importers() -> dict[str, set[str]]:
    """Module → the modules of the package that import it."""
    names = {".".join(("larvatus", *f.relative_to(ROOT).with_suffix("").parts)): place(f) for f in FILES}
    out: dict[str, set[str]] = {p: set() for p in names.values()}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for module in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
                    if module in names:
                        out[names[module]].add(place(path))
    return out


def test_short_modules_with_one_user_have_a_reason():
    free = ("cli/commands/", "desk/pages/", "reporting/sections/", "datasets/", "engines/duckdb.py", "engines/memory.py",
            "engines/spark.py")
    lonely = set()
    for name, users in importers().items():
        method = name.count("/") == 1 and name.split("/")[0] in METHOD_ROOMS | {"engines"}
        lines = len((ROOT / name).read_text(encoding="utf-8").splitlines())
        if lines < SHORT and len(users) <= 1 and not method and not name.startswith(free):
            lonely.add(name)
    assert lonely - set(ALONE) == set()
    assert set(ALONE) - lonely == set(), "no longer short or no longer with one user: take them off the list"
