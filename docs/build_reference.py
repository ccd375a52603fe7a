"""Write docs/reference/: one page per method, from its own docstring and fields. Run by `make docs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "methods"))

from method_page import method_page

from larvatus.core.discovery import load, own_names
from larvatus.data.method_help import describe_method

FOLDER = Path(__file__).resolve().parent / "reference"
KINDS: Mapping[str, tuple[str, str]] = {
    "Masks": ("mask", "larvatus.masks"),
    "Attacks": ("attack", "larvatus.attacks"),
    "Measures": ("measure", "larvatus.measures"),
}
FOOT = "This page is generated from the method's own file; change it there and run `make docs`.\n"


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    found = {heading: {n: load(package, n) for n in own_names(package)} for heading, (_, package) in KINDS.items()}
    figures = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
    out = {"README.md": "\n".join(_index(found))}
    for heading, methods in found.items():
        for name, method in methods.items():
            word, package = KINDS[heading]
            source = f"src/{package.replace('.', '/')}/{name}.py"
            out[f"{name}.md"] = "\n".join(method_page(method, describe_method(method), word, source, figures.get(name, {})))
    return out


def _index(found: Mapping[str, Mapping[str, type]]) -> Iterator[str]:
    yield "# Reference\n\nEvery method there is, in its own words. `larvatus describe NAME` shows the same.\n"
    for heading, methods in found.items():
        yield f"## {heading}\n"
        for name, method in methods.items():
            yield f"* [{name}]({name}.md): {' '.join(describe_method(method).summary.split())}"
        yield ""
    yield FOOT


def main() -> int:
    """Write the pages that differ and remove those of methods that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"docs/reference: {len(wanted)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
