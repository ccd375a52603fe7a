"""The board's part speaks in plain words: no code name, no letter for a column, figures that people say, short captions."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from larvatus.comparison.plain_names import PLAIN
from larvatus.data.notes import Note
from larvatus.data.score import Score, Scores
from larvatus.reporting.charts.panels import _text_ends, _ticks
from larvatus.reporting.charts.scales import LinearScale, LogScale
from larvatus.reporting.figures.svg import text_width
from reporting.conftest import built

CODE_NAMES = re.compile(rf"(?<![\w])({'|'.join(m for m in PLAIN if '_' in m)}|data_shuffling|additive_noise)(?![\w])")
LETTER = re.compile(r"(?<![\w’])[SXYZ](?![\w.])")


def boards_part(html: str) -> str:
    """Everything that is read before the appendix, drawings included, without explanations and data for scripts."""
    part = html.split("<header>")[1].split('id="appendix"')[0]
    part = re.sub(r"data-points='[^']*'|<(style|script).*?</\1>", "", part, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", part)


def study_of_all_methods():
    """Two releases with every attack and every measure, and a warning of a mask."""
    made = built(2)
    risks = [Score(m, "risk", 0.3, "", chance=0.1, interval=(0.2, 0.4)) for m, p in PLAIN.items() if not p.looks_at]
    losses = [Score(m, "loss", 0.3, "", worst_value=1.0) for m, p in PLAIN.items() if p.looks_at]
    note = Note("the largest value is released unchanged", "warning", "data_shuffling")
    return replace(made, candidates=tuple(replace(c, scores=Scores([*risks, *losses]), notes=(note,)) for c in made.candidates))


def test_no_code_name_before_the_appendix():
    text = boards_part(study_of_all_methods().html())
    assert "Nearest-record linkage" in text
    assert "The largest value is released unchanged" in text
    assert CODE_NAMES.findall(text) == []
    assert LETTER.findall(text) == []


def test_counted_successes_are_natural_frequencies_on_the_cards():
    made = study_of_all_methods()
    shown = re.findall(r'class="success">(.*?)</span>\s*<span class="bar', made.html(), flags=re.DOTALL)
    texts = [re.sub(r"<[^>]+>", "", s) for s in shown]
    assert len(texts) == 2
    assert all(re.fullmatch(r"30 in 100 \w+ \w+, 10 in 100 by guessing", t.replace("\xa0", " ")) for t in texts), texts


@pytest.mark.parametrize("scale", [LinearScale(1.0, False), LinearScale(0.3, True), LogScale(0.001, 1.0)])
@pytest.mark.parametrize("wide", [60.0, 105.0, 300.0])
def test_ticks_of_panels_are_thinned_evenly(scale, wide):
    drawn = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]+)<', _ticks(scale, 0.0, wide, 0.0, 10.0))
    said = [text for *_, text in drawn]
    every = [text for _, text in scale.ticks()]
    assert said in [every[::k] for k in range(1, len(every) + 1)]
    ends = [_text_ends(float(x), text, anchor) for x, anchor, text in drawn]
    assert all(a[1] < b[0] for a, b in pairwise(ends))
    if sum(text_width(text) + 9 for text in every) < wide * 0.8:
        assert said == every


def test_every_attack_and_measure_explains_itself_before_the_appendix():
    html = study_of_all_methods().html()
    part = html.split("<header>")[1].split('id="appendix"')[0]
    said = dict(re.findall(r'id="(term-\d+)"[^>]*>(.*?)<', html))
    terms = {name.lower(): key for key, name in re.findall(r'class="term" aria-describedby="([^"]+)">(.*?)</span>', part)}
    missing = [p.name for p in PLAIN.values() if p.name.removeprefix("the ").lower() not in terms]
    assert missing == []
    assert all(said[key] for key in terms.values())
