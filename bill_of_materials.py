"""The software bill of materials: what the package needs, with versions and licences, from what is installed here.

    python3 bootstrap.py sbom              print the list of licences, and write sbom.json (CycloneDX)
    python bill_of_materials.py --extra spark --extra duckdb -o sbom.json
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

OWN = "larvatus"
_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_LONG = 60  # some packages have the whole text of a licence in this field


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], help="also what this extra needs, if it is installed")
    parser.add_argument("-o", "--output", type=Path, help="file to write the bill to")
    asked = parser.parse_args()
    found = installed(OWN, set(asked.extra))
    for name, one in found.items():
        print(f"{name:<28} {one.version:<14} {licence(one)}")
    if asked.output is not None:
        asked.output.write_text(json.dumps(bill(found, set(asked.extra)), indent=1) + "\n", encoding="utf-8")
    return 0


def installed(root: str, extras: set[str]) -> dict[str, Distribution]:
    """The package and everything it needs, directly or not, as installed."""
    found: dict[str, Distribution] = {}
    waiting = [(root, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop(0)
        if canonical(name) in found:
            continue
        try:
            found[canonical(name)] = distribution(name)
        except PackageNotFoundError:  # for another system or Python, or an extra that is not installed
            continue
        waiting += [(n, frozenset()) for n in needs(found[canonical(name)], wanted)]
    return dict(sorted(found.items()))


def needs(one: Distribution, extras: Iterable[str]) -> list[str]:
    """The names of the packages that one needs, with those of the extras."""
    names = []
    for line in one.requires or ():
        extra, name = _EXTRA.search(line), _NAME.match(line)
        if name and (extra is None or extra[1] in set(extras)):
            names.append(name[1])
    return names


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(one: Distribution) -> str:
    """The licence that a package states: an expression, a short text, or its classifiers."""
    told = one.metadata
    for field in ("License-Expression", "License"):
        if (said := (told.get(field) or "").strip()) and len(said) <= _LONG and "\n" not in said:
            return said
    classes = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or () if c.startswith("License :: ")]
    return "; ".join(classes) or "not stated; see the files of the package"


def bill(found: dict[str, Distribution], extras: set[str]) -> dict[str, Any]:
    """The bill in the form of CycloneDX 1.5."""
    def reference(name: str) -> str:
        return f"pkg:pypi/{name}@{found[name].version}"

    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": OWN, "version": found[OWN].version, "bom-ref": reference(OWN),
                                   "licenses": [{"license": {"name": licence(found[OWN])}}]}},
        "components": [
            {"type": "library", "name": name, "version": one.version, "bom-ref": reference(name), "purl": reference(name),
             "licenses": [{"license": {"name": licence(one)}}]}
            for name, one in found.items() if name != OWN
        ],
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted({
                reference(canonical(n)) for n in needs(one, extras if name == OWN else ()) if canonical(n) in found
            })} for name, one in found.items()
        ],
    }


if __name__ == "__main__":
    raise SystemExit(main())
