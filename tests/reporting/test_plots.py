"""Values in notebooks: tables with bars, plots that save themselves, and one clear error without the libraries for it."""

from __future__ import annotations

import builtins
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import larvatus as lv
from larvatus.analysis import Estimates
from larvatus.core.errors import LarvatusError
from larvatus.core.number_format import count
from larvatus.reporting.charts.bars import bars_of_numbers, draw_bars
from larvatus.reporting.notebook.plot import Plot
from sample import ROLES, SECRET, people


@pytest.fixture(scope="module")
def made():
    data = lv.read(people(200), **ROLES)
    release = lv.mask(data, "additive_noise", secret=SECRET, name="noise <1>")
    return data, release, lv.compare(data, [release], ["nearest_record"], ["moments", "correlation"])


def drawn(plot) -> str:
    """The drawing as text, after checking that it stands alone."""
    text = plot._repr_svg_()
    ElementTree.fromstring(text)
    assert "var(" not in text
    assert not re.search(r"#[0-9a-f]{8}\b", text), "a transparent colour"
    assert ":is(" not in text
    return text


def test_a_comparison_draws_its_map(made):
    text = drawn(made[2].plot())
    assert "noise &lt;1&gt;" in text
    assert 'class="reason"' in text, "the unmasked columns alone find too many"


@pytest.mark.parametrize(("kind", "name"), [(None, "Nearest-record linkage"), ("loss", "Correlations")])
def test_scores_draw_themselves(made, kind, name):
    assert name in drawn(made[2].candidates[0].scores.plot(kind))


def test_names_can_be_read_on_their_stripes(made):
    """Renderers of PNG and PDF know no transparent colours; a stripe must be nearly white, as on the page."""
    stripe = re.search(r"\.stripe \{ fill: #([0-9a-f]{6}); \}", drawn(made[2].candidates[0].scores.plot()))
    assert stripe
    assert min(bytes.fromhex(stripe[1])) > 240


def test_corrected_estimates_draw_themselves_with_and_without_the_correction():
    estimates = Estimates(("slope <1>", "none"), np.array([2.0, np.nan]), np.array([0.1, np.nan]), np.array([1.25, np.nan]))
    text = drawn(estimates.plot())
    assert "slope &lt;1&gt;" in text
    assert "no estimate" in text
    full, empty = (float(re.search(rf'<circle cx="([0-9.]+)"[^>]* class="{tone}"><title>{value}<', text)[1])
                   for tone, value in (("point", "2"), ("point beaten", "1.25")))
    whisker = re.search(r'<line x1="([0-9.]+)"[^>]* x2="([0-9.]+)"[^>]* class="whisker risk"', text)
    low, high = float(whisker[1]), float(whisker[2])
    assert empty < low < full < high
    assert (full - low) / (full - empty) == pytest.approx(1.959964 * 0.1 / 0.75, abs=1e-3)  # places are tenths of a pixel


def test_scores_without_the_kind_say_so(made):
    losses = lv.utility(made[0], made[1], ["moments"])
    with pytest.raises(LarvatusError, match="no scores of kind 'risk'; the kinds here are loss"):
        losses.plot("risk")


def test_a_release_draws_a_column(made):
    text = drawn(made[1].plot(ROLES["confidential"][0]))
    assert len(re.findall('class="shown"', text)) in range(10, 27)
    other = next(n for n in made[1].columns if made[1].data.table.columns[n].kind != "number")
    assert drawn(made[1].plot(other)).count('class="shown"') >= 2
    with pytest.raises(LarvatusError, match="no released column 'nothing'"):
        made[1].plot("nothing")


def test_plots_are_saved_by_their_ending(made, tmp_path):
    plot = made[2].plot()
    assert plot.save(tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<svg ")
    with pytest.raises(LarvatusError, match="exists already"):
        plot.save(tmp_path / "map.svg")
    with pytest.raises(LarvatusError, match=r"ends in none of \.svg, \.png, \.pdf"):
        plot.save(tmp_path / "map.gif")


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_pictures_and_documents_are_written(made, tmp_path, ending, start):
    missing = "no library for PNG and PDF: install the extra plots"
    pytest.importorskip("cairosvg", reason=missing, exc_type=(ImportError, OSError))
    assert made[2].plot().save(tmp_path / f"map{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize("ending", [".png", ".pdf"])
def test_without_the_libraries_the_error_says_what_to_install(made, tmp_path, monkeypatch, ending):
    known = builtins.__import__

    def refuse(name, *arguments, **named):
        if name in ("resvg_py", "cairosvg"):
            raise ImportError(name)
        return known(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(LarvatusError, match=r"pip install 'larvatus\[plots\]', or save as \.svg"):
        made[2].plot().save(tmp_path / f"map{ending}")


def test_values_have_rich_and_plain_forms(made):
    data, release, compared = made
    advice = lv.advise(data)
    for value, said in ((data, f"Microdata: {count(200)} records"), (release, "Release noise &lt;1&gt;"),
                        (compared, "largest single loss"), (compared.candidates[0].scores, "Nearest-record linkage"),
                        (advice, "does not suit")):
        html = value._repr_html_()
        assert said in html
        assert "noise <1>" not in html
        assert "<" not in repr(value).replace("noise <1>", "")


def test_a_terminal_shows_bars_and_a_file_does_not(made, capsys):
    import io

    from rich.console import Console

    from larvatus.cli.output.terminal import Terminal
    from larvatus.reporting.notebook.views import headline_bars

    terminal = Terminal()
    for is_terminal in (True, False):
        shown = io.StringIO()
        terminal.out = Console(file=shown, force_terminal=is_terminal, width=120)
        terminal.bars(headline_bars(made[2]), "All releases")
        assert ("█" in shown.getvalue()) == is_terminal
        assert ("noise <1>" in shown.getvalue()) == is_terminal


@pytest.mark.parametrize("values", [
    [0.0007, 3.0, 900.0, 943.0], [-5.5, 0.0, 17.25], [7.0], [1e9, 1e9 + 3], [-1.7e308, 1.7e308], [0.0, 5e-324], [1, 1 + 3e-16],
])
def test_a_histogram_counts_every_value_between_round_numbers(values):
    made = bars_of_numbers("x", values)
    assert sum(made.counts) == len(values)
    assert made.ends[0] <= min(values)
    assert made.ends[-1] >= max(values)
    assert 1 <= len(made.counts) <= 26
    assert bars_of_numbers("x", [0.0007, 943.0]).ends[:3] == (0.0, 50.0, 100.0)


def test_a_saved_drawing_has_a_margin_on_every_side():
    text = Plot("x", draw_bars(bars_of_numbers("x", [1.0, 2.0]))).standalone()
    left, top, wide, high = map(float, re.search(r'viewBox="([^"]*)"', text)[1].split())
    inner = re.search(r'viewBox="0 0 (\S+) (\S+)"', draw_bars(bars_of_numbers("x", [1.0, 2.0])))
    assert left == top == -10
    assert (wide, high) == (float(inner[1]) + 20, float(inner[2]) + 20)
    assert text.count("viewBox") == 1
