"""Texts of the desk: every key that a page uses exists, every language has all of them, and numbers follow the language."""

from __future__ import annotations

import inspect
import re
import string
from pathlib import Path

import pytest

import larvatus.desk
from larvatus.advice import role_guesses
from larvatus.desk.desk import STEPS
from larvatus.desk.pages.coarser_keys import key_step_words
from larvatus.desk.study_edits import ROLE_CHOICES
from larvatus.desk.verdicts import VERDICT_KEYS
from larvatus.desk.wording import Wording, language_for, languages

FOLDER = Path(larvatus.desk.__file__).parent
SOURCES = [*FOLDER.rglob("*.j2"), *FOLDER.rglob("*.py")]
KEY = re.compile(r"""(?:say|say\.plural|Refusal|super\(\).__init__)\(\s*f?['"]([a-z_]+\.[a-z_]*)['"]( ~)?""")
MADE = {  # keys that are put together in templates and pages
    **{f"steps.{s}": 1 for s in STEPS}, **{f"{s}.{t}": 1 for s in STEPS for t in ("title", "lead")},
    **{f"role.{r}": 1 for r in ROLE_CHOICES}, **{f"kinds.{k}": 1 for k in ("number", "category", "dates", "empty", "text")},
    **{f"small.{s}": 1 for s in ("pool", "pool_all", "refuse", "suppress")},
    **{f"tiers.{t}": 1 for t in ("public", "scientific", "secure")},
    **{f"decide.doing_{d}": 1 for d in ("approve", "export", "verify")},
    **{f"decide.needs_{d}": 1 for d in ("release", "by", "reason")},
    **{f"guard.{g}": 1 for g in ("address", "method", "origin", "length", "large", "enter")},
    "keys.found": 1, "keys.found_none": 1, "verdicts.none": 1, "verdicts.none_unmasked": 1,
    **{f"verdicts.{v}": 1 for v in VERDICT_KEYS.values()},
    **{f"open.{n}": 1 for n in ("delimiter", "decimal", "thousands", "encoding", "quote")},
}


def all_keys(code: str) -> set[str]:
    return {f"{part}.{name}" for part, texts in languages()[code].items() if part != "format" for name in texts}


def used_keys() -> set[str]:
    found: set[str] = set(MADE)
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for key, made in KEY.findall(text):
            if made or key.endswith("."):
                continue
            plural = re.search(rf"""plural\(\s*['"]{re.escape(key)}['"]""", text)
            found |= {f"{key}_one", f"{key}_many"} if plural else {key}
    return found


def test_every_key_that_is_used_exists():
    assert not used_keys() - all_keys("en")


def test_every_text_is_used():
    named = {k for k in all_keys("en") if k.startswith(("changes.", "role_is.", "seems.", "doing."))}
    assert not all_keys("en") - used_keys() - named


@pytest.mark.parametrize("code", ["de", "fr"])
def test_a_translation_is_complete(code: str):
    assert all_keys(code) == all_keys("en")
    assert set(languages()[code]["format"]) == set(languages()["en"]["format"])
    for key in all_keys("en"):
        part, name = key.split(".")
        fields = [{f for _, f, _, _ in string.Formatter().parse(languages()[c][part][name]) if f} for c in ("en", code)]
        assert fields[0] == fields[1], key


@pytest.mark.parametrize("code", ["de", "fr"])
def test_a_translation_is_one(code: str):
    same = [k for k in all_keys("en") if languages()[code][k.split(".")[0]][k.split(".")[1]]
            == languages()["en"][k.split(".")[0]][k.split(".")[1]]]
    assert len(same) < 20, same


def test_every_guess_of_a_role_has_words():
    """What a column seems to be is said in the language of the page."""
    made = set(re.findall(r"""RoleGuess\([^"]*"[a-z_]+", "([a-z ]+)\"""", inspect.getsource(role_guesses)))
    assert len(made) > 15
    assert {w.replace(" ", "_") for w in made} | {"category", "ordered_category"} == set(languages()["en"]["seems"])


def test_numbers_and_dates_follow_the_language():
    assert [Wording(c).count(1234567) for c in ("en", "de", "fr")] == ["1,234,567", "1.234.567", "1\u202f234\u202f567"]
    assert [Wording(c).share(0.1234) for c in ("en", "de", "fr")] == ["12.3\u00a0%", "12,3\u00a0%", "12,3\u00a0%"]
    assert Wording("de").iso_date("2026-03-01T12:00:00+00:00").startswith("01.03.2026")
    assert Wording("en").size(18_002) == "18 kB"


def test_the_browser_chooses_the_language():
    assert language_for("fr-CH, fr;q=0.9, en;q=0.8") == "fr"
    assert language_for("pt-BR, de;q=0.5") == "de"
    assert language_for("") == "en"


def test_verdicts_are_in_the_language_of_the_page():
    for said, key in VERDICT_KEYS.items():
        assert Wording("en")(f"verdicts.{key}") == said, "in English as in the report"
    assert Wording("de").plural("verdicts.breaks", 2, verdict="x") == "verletzt 2 Grenzen: x"


def test_steps_for_keys_are_said_in_words():
    step = {"method": "recoding", "columns": ["age", "job"], "level": {"age": 2, "job": 1}, "widths": {"age": [5.0, 10.0]}}
    assert key_step_words(step, Wording("en")) == "age in classes of 10; job at level 1 of its hierarchy"
    assert key_step_words({**step, "level": {"age": 3}}, Wording("de")) == "age in einer einzigen Klasse"
    blanked = key_step_words({"method": "local_suppression", "columns": ["age"], "k": 5}, Wording("en"))
    assert blanked == "combinations of age that fewer than 5 records share are blanked in part"
