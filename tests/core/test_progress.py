"""Time left: nothing before it can be told, falling while a piece is worked on, and near the truth."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from larvatus.core.progress import Clock, duration_text, with_count


class Hands:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def seconds(text: str) -> float:
    if not text or "few" in text:
        return 0.0
    found = re.fullmatch(r", about (\d+) (s|min|hours) left", text)
    return int(found[1]) * {"s": 1, "min": 60, "hours": 3600}[found[2]]


def told(durations: list[float], step: float = 1.0) -> list[tuple[int, float, str]]:
    """Pieces done, the true time left and what was said, every second."""
    hands = Hands()
    clock, out = Clock(len(durations), hands), []
    end = hands.at + sum(durations)
    for i, length in enumerate(durations):
        until = hands.at + length
        while hands.at < until:
            out.append((i, end - hands.at, clock.time_left()))
            hands.at = min(hands.at + step, until)
        clock.done()
    assert clock.time_left() == ""
    return out


@pytest.mark.parametrize(("pieces", "first"), [(4, 1), (20, 1), (40, 2), (200, 10)])
def test_nothing_is_told_before_a_piece_and_a_twentieth_are_done(pieces, first):
    said = told([5.0] * pieces)
    assert all(text == "" for done, _, text in said if done < first)
    assert all(text != "" for done, _, text in said if done >= first)


def test_the_estimate_never_rises_where_pieces_take_alike():
    left = [seconds(text) for _, _, text in told([10.0] * 12) if text]
    assert all(a >= b for a, b in pairwise(left))


def test_the_estimate_does_not_rise_while_a_piece_takes_longer_than_those_before():
    during = [seconds(text) for done, _, text in told([10.0, 10.0, 200.0, 10.0]) if done == 2]
    assert all(a >= b for a, b in pairwise(during))
    assert max(during) <= 20


def test_it_is_true_where_pieces_take_alike():
    for _, left, text in told([8.0] * 10):
        if text and left < 99:
            assert abs(seconds(text) - left) <= 5


def test_a_slow_first_piece_which_compiles_is_soon_forgotten():
    said = {done: seconds(text) for done, _, text in told([60.0, *[5.0] * 9])}
    assert said[3] < 100, "the plain mean says 175 s, the truth is 35 s"
    assert said[6] <= 25, "the plain mean says 57 s, the truth is 20 s"


def test_two_that_end_together_do_not_promise_a_moment():
    hands = Hands()
    clock = Clock(10, hands)
    hands.at += 60
    clock.done(2)
    assert seconds(clock.time_left()) >= 100


@pytest.mark.parametrize(("given", "said"), [
    (-3, "a few seconds"), (4.9, "a few seconds"), (7, "about 5 s"), (93, "about 95 s"), (100, "about 2 min"),
    (3000, "about 50 min"), (7300, "about 2 hours"),
])
def test_words(given, said):
    assert duration_text(given) == said


def test_the_piece_is_counted_while_there_is_one():
    assert with_count("masking", 0, 3) == "masking (1 of 3)"
    assert with_count("masking", 0, 1) == "masking"
    assert with_count("3 of 3 are finished", 3, 3) == "3 of 3 are finished"
