"""Every method has a page worth reading: a formula, a picture, when to use it, what breaks it, and calls that can be made."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

from every_case import every_case
from larvatus.cli.main import app
from larvatus.core.discovery import load, own_names
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.method_parsing import all_of

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
FIGURES = json.loads((PAGES / "figures.json").read_text(encoding="utf-8"))
MOST_WORDS = 70  # of the two sentences that say what a method does
KINDS = {"masks": Mask, "attacks": Attack, "measures": Measure}
METHODS = [(room, name) for room in KINDS for name in own_names(f"larvatus.{room}")]


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, word: str) -> list[str]:
    return re.findall(rf"^```{word}\n(.*?)^```$", page(name), re.M | re.S)


@every_case(METHODS)
def test_the_page_has_every_part(room, name):
    text = page(name)
    for heading in ("## Formula", "## When to use it", "## The same in Python", "## Parameters", "## Cost",
                    "## References"):
        assert heading in text, heading
    assert ("## What breaks it" in text) == (room == "masks")


@every_case(METHODS)
def test_the_page_begins_with_one_or_two_sentences(room, name):
    lead = page(name).split("\n\n")[2]
    assert 1 <= len(re.findall(r"[.!?](?=\s+[A-Z`(]|$)", lead.strip())) <= 2, lead
    assert len(lead.split()) <= MOST_WORDS


@every_case(METHODS)
def test_the_picture_can_be_read_aloud(room, name):
    drawn = (PAGES / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert len(re.search(r"<desc[^>]*>(.*?)</desc>", drawn)[1]) > 30
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


@every_case(METHODS)
def test_there_are_figures(room, name):
    found = FIGURES[name]
    if room == "masks":
        assert {row[0] for row in found["attacks"]}, "no attack has a figure"
        assert 0 <= max(value for _, value, _ in found["attacks"]) <= 1.0001
    else:
        assert any(row[1] is not None for row in found["releases"]), "the method applies to no release of its picture"


def test_figures_of_methods_that_are_gone_are_gone():
    assert set(FIGURES) == {name for _, name in METHODS}
    assert {p.stem for p in (PAGES / "pictures").glob("*.svg")} == set(FIGURES)


@every_case(METHODS)
def test_the_calls_can_be_made(room, name):
    written = tomllib.loads(blocks(name, "toml")[0])
    if room == "masks":
        assert all_of(Mask, written["release"][0]["steps"])[-1].name() in (name, "data_shuffling", "weight_calibration")
    else:
        assert next(iter(written.values()))[0]["method"] == name
    command = shlex.split(blocks(name, "bash")[0])
    app.parse_args(command[1:], exit_on_error=False, print_error=False)
    for step in (given for option, given in pairwise(command) if option == "--step"):
        assert all_of(Mask, [step])


@every_case([name for room, name in METHODS if room == "attacks"])
def test_an_attack_without_pairs_is_called_on_a_file_without_pairs(name):
    paired = load("larvatus.attacks", name).paired
    assert ("--not-paired" in blocks(name, "bash")[0]) is not paired
    assert ("paired=False" in blocks(name, "python")[0]) is not paired
    assert ("about those held out" in page(name)) is not paired


def test_code_in_a_formula_is_shown_as_it_is():
    assert "`stats.closeness.seen_records`" in page("closest_record")


@every_case([name for room, name in METHODS if room == "masks"])
def test_the_attacks_that_know_a_mask_have_figures(name):
    """At least one of them ran on the release of the picture."""
    known = re.search(r"\*\*Attacks that know this mask:\*\* (.*)\. They", page(name))[1]
    ran = {row[0] for row in FIGURES[name]["attacks"]}
    assert ran & set(re.findall(r"\[(\w+)\]", known))
