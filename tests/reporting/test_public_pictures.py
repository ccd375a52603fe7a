"""What the public edition draws: released values only, and no bin that holds few records on either side."""

from __future__ import annotations

import re

import pytest

from larvatus.data.score import Rows, Score
from reporting.pictured import TITLES, histogram, pictured, with_scores

RELEASED = [50, 60, 70, 60, 50, 40]


def drawn(comparison, released, original):
    rows = Rows.of(histogram("income_0", "all records", released, original))
    score = Score("distributions", "loss", 0.2, by_variable=Rows.of([{"variable": "income_0", "loss": 0.20001}]),
                  details={"histogram": rows})
    return with_scores(comparison(1), score).html("public")


def bars(html: str) -> int:
    path = re.search(r'<path d="([^"]*)" class="shown"', html)
    return path.group(1).count("z") if path else 0


def test_original_counts_change_nothing_that_is_drawn(comparison):
    one, other = drawn(comparison, RELEASED, [40] * 6), drawn(comparison, RELEASED, [11, 999, 4321, 10, 77, 5000])
    assert bars(one) == 6
    assert one == other


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("side", ["original", "released"])
def test_a_bin_with_few_records_on_either_side_is_not_drawn(comparison, place, side):
    before, after = [40] * 6, list(RELEASED)
    (before if side == "original" else after)[place] = 9
    assert bars(drawn(comparison, after, before)) == 5


def test_what_is_cut_off_at_the_ends_has_no_place_on_the_axis(comparison):
    whole, cut = drawn(comparison, RELEASED, [40] * 6), drawn(comparison, RELEASED, [40] * 5 + [3])
    first = re.search(r'<path d="M0 ?[^"]*"', cut)
    assert first
    assert re.search(r"H371(\.0)?V", cut), "the last shown bin reaches the end of the panel"
    assert whole != cut


def test_a_column_with_hardly_a_bin_to_show_or_not_released_is_left_out(comparison):
    assert bars(drawn(comparison, [50, 60, 1, 1, 1, 1], [40] * 6)) == 0
    rows = Rows.of(histogram("unreleased_column", "all records", RELEASED))
    made = with_scores(comparison(1), Score("distributions", "loss", 0.2, details={"histogram": rows}))
    assert "unreleased_column" not in made.html("public")


def test_no_internal_figure_and_no_sub_group_histogram_is_public(comparison):
    html = pictured(comparison(2)).html("public", "noise 0")
    assert "Released distributions" in html
    assert not [title for title in TITLES if title in html]
    assert "At a glance" not in html
    assert "7321" not in html.replace(",", "")
    assert html.count('class="shown"') == 3
