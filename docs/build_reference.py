"""Write docs/reference/: one page per method, from its own docstring and fields. Run by `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from larvatus.core.discovery import load, own_names
from larvatus.data.contracts import Mask
from larvatus.data.method_help import Description, describe_method

FOLDER = Path(__file__).resolve().parent / "reference"
KINDS: Mapping[str, tuple[str, str]] = {
    "Masks": ("mask", "larvatus.masks"),
    "Attacks": ("attack", "larvatus.attacks"),
    "Measures": ("measure", "larvatus.measures"),
}
FOOT = "\nThis page is generated from the method's own file; change it there and run `make docs`.\n"


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    found = {heading: {n: load(package, n) for n in own_names(package)} for heading, (_, package) in KINDS.items()}
    out = {"README.md": "\n".join(_index(found))}
    for heading, methods in found.items():
        for name, method in methods.items():
            word, package = KINDS[heading]
            source = f"src/{package.replace('.', '/')}/{name}.py"
            out[f"{name}.md"] = "\n".join(_page(describe_method(method), word, source, issubclass(method, Mask)))
    return out


def _index(found: Mapping[str, Mapping[str, type]]) -> Iterator[str]:
    yield "# Reference\n\nEvery method there is, in its own words. `larvatus describe NAME` shows the same.\n"
    for heading, methods in found.items():
        yield f"## {heading}\n"
        for name, method in methods.items():
            yield f"* [{name}]({name}.md): {' '.join(describe_method(method).summary.split())}"
        yield ""
    yield FOOT.lstrip("\n")


def _page(page: Description, word: str, source: str, is_mask: bool) -> Iterator[str]:
    yield f"# {page.name}\n\n*{word}* · [`{source}`](../../{source})\n"
    yield f"{' '.join(page.summary.split())}\n"
    if page.text:
        yield f"{page.text}\n"
    if page.assumes:
        yield f"**What it assumes.** {page.assumes}\n"
    if page.nemesis:
        links = ", ".join(f"[{n}]({n}.md)" for n in page.nemesis)
        yield f"**Attacks that know this mask:** {links}. They are among the attacks that run by default.\n"
    yield "## Parameters\n"
    if page.settings:
        yield "| name | may be | default | meaning |\n|---|---|---|---|"
        for s in page.settings:
            yield f"| `{s.name}` | {_cell(s.allowed)} | `{_cell(s.default)}` | {_cell(s.meaning)} |"
    else:
        yield "None."
    if is_mask:
        yield "\n## What may be published\n"
        listed = ", ".join(f"`{name}`" for name in page.publishable)
        yield f"Parameters: {listed}." if listed else "None of the parameters."
        yield f"\nSentence for the public: *{page.public_sentence}*"
    yield FOOT


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


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
