"""Comparisons built directly, so that any shape is quick to make."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

from larvatus.comparison.comparison import About, Candidate, Comparison
from larvatus.data.notes import Note
from larvatus.data.score import Row, Rows, Score, Scores
from reporting.browser import Browser, browser

STEP = {"method": "additive_noise", "scope": "sub_group", "variance": 0.25, "where": [4711, 4712]}
PUBLIC_STEP = {"method": "additive_noise", "variance": 0.25, "where": [4711, 4712]}
MEAN_ORIGINAL = 987654.25
SD_ORIGINAL = 13579.5


def sub_groups(n: int, smallest: int = 30) -> list[tuple[str, int]]:
    return [("all records", 5000)] if n == 1 else [(f"region={g}, sex={g % 2}", smallest + g) for g in range(n)]


def attack(value: float, groups: Sequence[tuple[str, int]], draw: random.Random) -> Score:
    rows: list[Row] = []
    for name, size in groups:
        here = min(1.0, max(0.0, value * draw.uniform(0.5, 1.5)))
        rows.append({"sub_group": name, "records": size, "value": here, "chance": 1 / size, "s_alone": 1.5 / size,
                     "low": here * 0.8, "high": min(1.0, here * 1.2)})
    return Score(
        "nearest_record", "risk", value, "share of records found", {"within": [1, 3]}, 0.004, 0.006,
        (value * 0.9, min(1.0, value * 1.1)), Rows.of(rows), details={"within": Rows.of([{"within": 1, "value": value}])},
        notes=("an internal remark of the attack",),
    )


def measures(loss: float, groups: Sequence[tuple[str, int]], columns: Sequence[str]) -> list[Score]:
    by_group = Rows.of({"sub_group": name, "records": size, "value": loss} for name, size in groups)
    moments: list[Row] = [
        {"variable": c, "loss": loss, "mean_original": MEAN_ORIGINAL, "mean_released": 1.0, "sd_original": SD_ORIGINAL}
        for c in columns
    ]
    pairs: list[Row] = [
        {"first": a, "second": b, "loss": loss, "original": 0.24680, "released": 0.1}
        for i, a in enumerate(columns) for b in columns[i + 1 :]
    ]
    return [
        Score("moments", "loss", loss, "shift of means", by_group=by_group, by_variable=Rows.of(moments)),
        Score("correlation", "loss", loss, "change of correlations", by_group=by_group, by_pair=Rows.of(pairs)),
    ]


def built(
    candidates: int = 3, groups: int = 6, columns: int = 3, risk: float | None = None, loss: float | None = None,
    smallest: int = 30, names: Mapping[int, str] | None = None,
) -> Comparison:
    """A comparison of any size; risk and loss differ between releases unless they are given."""
    draw = random.Random(1)
    sizes = sub_groups(groups, smallest)
    variables = [f"income_{i}" for i in range(columns)]
    made = []
    for i in range(candidates):
        value = 0.4 / (i + 1) if risk is None else risk
        lost = 0.01 * (i + 1) if loss is None else loss
        scores = Scores([attack(value, sizes, draw), *measures(lost, sizes, variables)])
        notes = (Note("an internal warning", "warning", "additive_noise"), Note("a public remark", public=True))
        name = (names or {}).get(i, f"noise {i}")
        made.append(Candidate(name, (STEP,), ("Noise was added.",), (PUBLIC_STEP,), notes, 5000, scores))
    about = About(5000, tuple(variables), ("age",), ("region", "sex"), "weight", tuple(sizes), ("age",), "teaching")
    return Comparison(tuple(made), about)


@pytest.fixture
def comparison() -> Callable[..., Comparison]:
    return built


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; each test opens its pages anew."""
    with browser() as made:
        yield made


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Browser]:
    """The browser as every test expects it: light colours, on a screen."""
    chromium.media()
    yield chromium
    chromium.media()


@dataclass
class Page(HTMLParser):
    """What a page holds, as a browser would find it."""

    def __post_init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._skipped = 0
        self._joined = self._in_term = False  # text of an explained term belongs to the text around it

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._skipped += tag in ("style", "script")
        self._in_term = ("class", "term") in attrs
        self._joined = self._in_term

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in ("style", "script")
        self._joined, self._in_term = self._in_term, False

    def handle_data(self, data: str) -> None:
        if self._joined and self.words and not self._skipped:
            self.words[-1] += data
        elif not self._skipped:
            self.words.append(data)
        self._joined = False

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag in tags]


@pytest.fixture
def parsed() -> Callable[[str], Page]:
    def parse(html: str) -> Page:
        page = Page()
        page.feed(html)
        return page

    return parse
