"""The page of one method: what it does, its formula, a picture, when to use it, what breaks it, its cost and its calls."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from references import references_of

from larvatus.core.number_format import share
from larvatus.data.contracts import Attack, Mask, Method
from larvatus.data.method_help import Description

PICTURES = Path(__file__).resolve().parents[1] / "reference" / "pictures"
DESK = {"mask": "choose it in step *Masks*", "attack": "step *Run* runs every attack that applies, and *Compare* shows them",
        "measure": "step *Run* runs every measure, and *Compare* shows them"}
STAYS = {"moments": "means and standard deviations", "marginal": "distributions of single columns",
         "correlation": "correlations", "rank_correlation": "rank correlations"}

_END_OF_SENTENCE = re.compile(r"[.!?][)\"”']?(?=\s+[A-Z`\"“(*])|[.!?]$")
_NO_ENDS = ("e.g.", "i.e.", "cf.", "vs.", "No.", "St.")


def formula_of(method: type[Method]) -> str:
    """What the method's file says after its first sentence: formulas as blocks, and what their symbols mean."""
    text = (inspect.getdoc(sys.modules[method.__module__]) or "").partition("\n\n")[2].strip("\n")
    plain = not any(line.startswith("    ") for line in text.splitlines())
    if plain:
        return f"```text\n{text}\n```" if text else ""
    out, block = list[str](), list[str]()
    for line in [*text.splitlines(), ""]:
        if block and line.startswith("    ") != block[0].startswith("    "):
            out.append(_shown(block))
            block = []
        block += [line] if line.strip() else []
    return "\n\n".join([*out, *([_shown(block)] if block else [])])


def _shown(lines: list[str]) -> str:
    """Indented lines as a block; others as a paragraph, without emphasis outside of code."""
    if lines[0].startswith("    "):
        return "```text\n" + "\n".join(line.removeprefix("    ") for line in lines) + "\n```"
    parts = " ".join(line.strip() for line in lines).split("`")
    return "`".join(p if i % 2 else re.sub(r"([*_])", r"\\\1", p) for i, p in enumerate(parts))


def in_two_sentences(summary: str, text: str) -> tuple[str, str]:
    """The first two sentences of what a method says of itself, and the rest, which belongs under a heading of its own."""
    said = " ".join(f"{summary} {text}".split())
    ends = [m.end() for m in _END_OF_SENTENCE.finditer(said) if not said[: m.end()].rstrip().endswith(_NO_ENDS)]
    return (said, "") if len(ends) < 2 else (said[: ends[1]].strip(), said[ends[1] :].strip())


def method_page(method: type[Method], page: Description, word: str, source: str, found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    yield f"# {page.name}\n\n*{word}* · [`{source}`](../../{source})\n"
    lead, details = in_two_sentences(page.summary, page.text)
    yield f"{lead}\n"
    if formula := formula_of(method):
        yield f"## Formula\n\n{formula}\n"
    if details:
        yield f"## How it works\n\n{details}\n"
    if found:
        yield from _picture(page, word, found, not issubclass(method, Attack) or method.paired)
    yield f"## When to use it\n\n{page.use}\n" if page.use else ""
    if page.assumes:
        yield f"**What it assumes.** {page.assumes}\n"
    if issubclass(method, Mask):
        yield from _breaks(page, found)
    if "seconds" in found:
        yield from _cost(found["seconds"])
    yield from _calls_without_pairs(page) if issubclass(method, Attack) and not method.paired else _calls(page, word, found)
    yield from _settings(page)
    if issubclass(method, Mask):
        yield "\n## What may be published\n"
        listed = ", ".join(f"`{name}`" for name in page.publishable)
        yield f"Parameters: {listed}." if listed else "None of the parameters."
        yield f"\nSentence for the public: *{page.public_sentence}*"
    yield "\n## References\n"
    works = list(references_of(inspect.getdoc(sys.modules[method.__module__]) or ""))
    yield from works or ["None: the formula on this page defines the method."]
    yield "\nThis page is generated from the method's own file; change it there and run `make docs`.\n"


def _picture(page: Description, word: str, found: Mapping[str, Any], paired: bool) -> Iterator[str]:
    if word == "mask":
        steps = " and then ".join(f"`{s}`" for s in found["steps"])
        yield f"## Before and after\n\n![{page.name}: the same records before and after](pictures/{page.name}.svg)\n"
        points = '"point bad"' in (PICTURES / f"{page.name}.svg").read_text(encoding="utf-8")
        marked = " Red points are the same ten records." if points else ""
        yield f"{found['records']:,} made-up people, masked by {steps}.{marked}\n"
        if found["losses"]:
            yield "| what analysts use | loss, 0 is best |\n|---|---|"
            for name, value in found["losses"]:
                yield f"| {STAYS.get(name, name)} ([{name}]({name}.md)) | {'exact' if abs(value) < 1e-12 else f'{value:.3f}'} |"
            yield ""
        return
    what = "What it finds" if word == "attack" else "What it reports"
    yield f"## {what}\n\n![{page.name}: {what.lower()} for several masks](pictures/{page.name}.svg)\n"
    yield f"{_scene(word, paired)}\n"


def _scene(word: str, paired: bool) -> str:
    if not paired:
        return ("Files made from the same 600 made-up people; a fifth of them was held out. "
                "The mark shows what the attack finds about those held out.")
    end = "The mark shows what chance or the unmasked columns alone would find." if word == "attack" else "0 is best."
    return f"The same 600 made-up people, released by different masks. {end}"


def _breaks(page: Description, found: Mapping[str, Any]) -> Iterator[str]:
    yield "## What breaks it\n"
    links = ", ".join(f"[{n}]({n}.md)" for n in page.nemesis)
    yield f"**Attacks that know this mask:** {links}. They are among the attacks that run by default.\n"
    if found.get("attacks"):
        yield "On the release of the picture, by an intruder who knows all original records:\n"
        yield "| attack | success | baseline: chance or S alone |\n|---|---|---|"
        for name, value, base in found["attacks"]:
            mark = " (strongest)" if name == found["strongest"] else ""
            yield f"| [{name}]({name}.md){mark} | {share(value)} | {share(base)} |"
        yield ""


def _cost(seconds: list[float]) -> Iterator[str]:
    if not seconds:
        yield "## Cost\n\nNot timed: the search ends after a bounded amount of work.\n"
        return
    small, large = seconds
    yield "## Cost\n"
    growth = f", {large / small:.1f} times as long for four times as many" if small > 0.005 else ""
    yield f"{small:.2g} processor seconds for 10,000 records of the file above, and {large:.2g} for 40,000{growth}.\n"


def _calls(page: Description, word: str, found: Mapping[str, Any]) -> Iterator[str]:
    yield "## The same in Python, in a study, on the command line and at the desk\n"
    if word == "mask":
        steps = found.get("steps", [page.name])
        listed = ", ".join(f'"{s}"' for s in steps)
        yield f"```python\nrelease = lv.mask(data, {listed})\n```\n"
        yield f'```toml\n[[release]]\nname = "{page.name}"\nsteps = [{listed}]\n```\n'
        options = " ".join(f'--step "{s}"' for s in steps)
        yield f"```bash\nlarvatus mask people.csv -o released.csv --study study.toml {options}\n```\n"
    else:
        function, table = ("lv.risk", "attack") if word == "attack" else ("lv.utility", "measure")
        command = "risk" if word == "attack" else "utility"
        yield f'```python\nscore = {function}(data, release, ["{page.name}"])[0]\n```\n'
        yield f'```toml\n[[{table}]]\nmethod = "{page.name}"\n```\n'
        yield f"```bash\nlarvatus {command} people.csv released.csv --study study.toml --method {page.name}\n```\n"
    yield f"At the desk: {DESK[word]}.\n"


def _calls_without_pairs(page: Description) -> Iterator[str]:
    yield "## The same in Python, in a study, on the command line and at the desk\n"
    yield (f'```python\ndata = lv.hold_out(data, "holdout.csv")\n'
           f'score = lv.risk(data, "synthetic.csv", ["{page.name}"], paired=False)[0]\n```\n')
    yield f'```toml\n[[attack]]\nmethod = "{page.name}"\n\n[holdout]\nfile = "holdout.csv"\n```\n'
    yield (f"```bash\nlarvatus risk training.csv synthetic.csv --study study.toml --holdout holdout.csv --not-paired "
           f"--method {page.name}\n```\n")
    yield ("At the desk: step *Masks* has a part *A synthetic file*. It holds records out, writes the training part for the "
           "generator, and adds the generator's file as not paired. Step *Run* runs every attack that applies, and *Compare* "
           "shows them.\n")


def _settings(page: Description) -> Iterator[str]:
    yield "## Parameters\n"
    if not page.settings:
        yield "None."
        return
    yield "| name | may be | default | meaning |\n|---|---|---|---|"
    for s in page.settings:
        yield f"| `{s.name}` | {_cell(s.allowed)} | `{_cell(s.default)}` | {_cell(s.meaning)} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
