"""Intruders against masks that move values between records or coarsen them, written from the definitions of the masks.

They use NumPy and SciPy alone, and know the mask with its settings. They hold all original records, or a fifth of them. The
product's strongest linkage figure must not be below an intruder's by more than three standard errors of a share (a false
alarm about once in 700 cases). Most of them combine two ideas. A table gives every pair of a record and a row its likelihood
under the mask. Then `matched` uses that each row belongs to one record: the probability of each link, over all one-to-one
matchings at once.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import larvatus as lv
from strongest_attack import strongest

ATTACKED = ("rank_swap", "random_swap", "microaggregation", "reverse_map", "rounding", "recoding", "top_coding")
CENSUS8 = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
FEW = ["AGI", "STATETAX", "EMCONTRB"]
TOGETHER = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA"]
N, SE = 300, 3.0
# The default linkage attacks that matter for swaps if every record is known.
AGAINST_SWAPS = ["rank_window", "exact_match", "optimal_assignment", "probabilistic_linkage", "simulated_release"]
IMPOSSIBLE, SURE = -60.0, 1e-26
Attack = Callable[[np.ndarray, np.ndarray], np.ndarray]


def secret(i: int) -> bytes:
    return b"hostile orders %04d" % i


def credit(score: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The row with the largest score is the guess; ties share."""
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return best[np.arange(len(truth)), truth] / best.sum(axis=1)


def matched(score: np.ndarray, nobody: float = 0.0, rounds: int = 100) -> np.ndarray:
    """Log-odds of each link over all one-to-one matchings, by belief propagation (Bethe's approximation).

    Knows the log-likelihood of every pair. `nobody` is the weight of a row that belongs to no known record.
    """
    score = np.maximum(score - score.max(axis=1, keepdims=True), IMPOSSIBLE)
    to_row = np.zeros_like(score)
    for _ in range(rounds):
        reached = score + to_row
        top = reached.max(axis=1, keepdims=True)
        weight = np.exp(reached - top)
        to_record = -(top + np.log(np.maximum(weight.sum(axis=1, keepdims=True) - weight, SURE)))
        claim = score + to_record
        top = np.maximum(claim.max(axis=0, keepdims=True), 0.0)
        weight = np.exp(claim - top)
        others = np.maximum(weight.sum(axis=0, keepdims=True) - weight, 0) + nobody * np.exp(-top)
        to_row = 0.5 * to_row - 0.5 * (top + np.log(np.maximum(others, SURE)))
    return score + to_row + to_record


def log_of(possible: np.ndarray) -> np.ndarray:
    return np.where(possible, 0.0, IMPOSSIBLE)


def moves(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Column by column, the least number of ranks between a known value and a released one; tied values have many ranks.

    A permutation releases the original values of a column, so their ranks are known however few records are.
    """
    out = []
    for j in range(x.shape[1]):
        ordered = np.sort(y[:, j])
        (low, high), (first, last) = ((np.searchsorted(ordered, v, "left"), np.searchsorted(ordered, v, "right") - 1)
                                      for v in (x[:, j], y[:, j]))
        out.append(np.maximum(0, np.maximum(first - high[:, None], low[:, None] - last)))
    return np.array(out)


def own_value(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pairs in which a row holds the record's own value, one that occurs once: a swap without fixed points excludes them."""
    out = np.zeros((len(x), len(y)), dtype=bool)
    for j in range(x.shape[1]):
        equal = x[:, j, None] == y[:, j]
        out |= equal & (equal.sum(axis=1, keepdims=True) == 1)
    return out


def in_window(window: float, nobody: float = 0.0) -> Attack:
    """Rows within the window in every column, one to one, except those that hold the record's own value.

    Window .15, 300 census records, 8 columns: .90 and .89 (product .67 and .61); 1,080 records: .72 (.43). With a fifth of
    300 known: .65 and .64 (.44 and .40). Three columns: .20 (.11). Mean of ten secrets, 300 records: 8 columns .90 (.65), three
    .21 (.10), a fifth known .69 (.40).
    """
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        near = (moves(x, y) <= int(window * len(y) + 1e-9)).all(axis=0) & ~own_value(x, y)
        return matched(log_of(near), nobody)

    return attack


def by_distance(window: float) -> Attack:
    """The law of the moves with distance = "distribution", found by simulation; then one to one.

    Window .15, 300 census records, 8 columns: .65 and .64 (product .40 and .41); three columns: .15 and .10 (.11 and .12).
    Mean of ten secrets, 8 columns: .64 (.41).
    """
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        n, rng = len(y), np.random.default_rng(0)
        half, seen = 0.5 * int(window * n + 1e-9), np.full(n, 0.5)
        for _ in range(200):
            away = np.maximum(np.abs(half * (1 + rng.normal(size=n))), 1) * rng.choice([-1, 1], n)
            seen += np.bincount(np.abs(np.argsort(np.arange(n) + away) - np.arange(n)), minlength=n)
        smooth = np.convolve(seen, np.ones(5) / 5, "same")
        smooth[0] = smooth[1]
        return matched(np.log(smooth / smooth.sum())[moves(x, y)].sum(axis=0))

    return attack


def equal_in(sets: Sequence[Sequence[int]], rate: float) -> Attack:
    """Equality of whole sets of columns that are swapped together, each set counted once; then one to one.

    Rate .5, five of eight columns together, 400 census records: .80 and .83 (product .50 and .50: five equal columns outweigh
    three that are swapped alone). Three columns alone at rate .3: .93 and .93 (.86 and .85); at rate .5: .71 and .73 (.66 and
    .64); eight at rate .85: .41 and .39 (.38 and .37); eight at rate .7: .80 and .81 (.74 and .77). Mean of ten
    secrets, 300 records: five together .81 (.50), three alone at rate .3 .93 (.85).
    """
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        n, score = len(y), np.zeros((len(x), len(y)))
        for columns in sets:
            both = np.vstack([x[:, columns], y[:, columns]])
            code = np.unique(both, axis=0, return_inverse=True)[1].ravel()
            known, shown = code[: len(x)], code[len(x) :]
            share = np.maximum(np.bincount(shown, minlength=code.max() + 1)[known], 1)[:, None] / n
            score += np.where(known[:, None] == shown, np.log((1 - rate) / share + rate), np.log(rate))
        return matched(score)

    return attack


def in_sub_groups(size: int, window: float | None) -> Attack:
    """No value stays in its place, so a row is not the record's whose value it holds; few others are left in a sub-group.

    With a window, rows outside it are excluded too; then one to one. Eight columns, sub-groups of 5: random_swap at rate 1
    .97 and .97 (product .32 and .40), rank_swap at window .5 1.00 and 1.00 (.75 and .74). Sub-groups of 10: .34 and .31 (.14
    and .11), .98 and .98 (.46 and .47). Four columns, sub-groups of 10: .18 and .16 (.13 and .14), .69 and .68 (.25 and .25).
    """
    def attack(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        score = np.full((len(x), len(y)), IMPOSSIBLE)
        for start in range(0, len(y), size):
            here = slice(start, start + size)
            possible = ~own_value(x[here], y[here])
            if window is not None:
                possible &= (moves(x[here], y[here]) <= int(window * size + 1e-9)).all(axis=0)
            score[here, here] = matched(log_of(possible))
        return score

    return attack


def before_reverse_map(share: float, correlated: bool) -> Attack:
    """Undo the reverse map, then measure distance by the covariance of the noise, one to one.

    The masked value of each rank is near its mean over simulated masks. Noise .25, 300 census records: correlated .54 and .56
    (product .42 and .43), additive .39 and .39 (.35 and .33). Lognormal data, additive: .16 and .13 (.15 and .14). With a fifth
    known it found no more: .40 and .37 (.38 and .50). Mean of ten secrets, correlated noise, all known: .57 (.43).
    """
    def attack(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        rng, covariance = np.random.default_rng(1), share * np.cov(x.T)
        if not correlated:
            covariance = np.diag(np.diag(covariance))
        root = np.linalg.cholesky(covariance + 1e-9 * np.diag(np.diag(covariance)))
        ordered = np.mean([np.sort(x + rng.normal(size=x.shape) @ root.T, axis=0) for _ in range(100)], axis=0)
        y = np.empty_like(z)
        for j in range(z.shape[1]):
            low, high = (rankdata(z[:, j], how).astype(int) for how in ("min", "max"))
            total = np.concatenate([[0.0], np.cumsum(ordered[:, j])])
            y[:, j] = (total[high] - total[low - 1]) / (high - low + 1)
        away = np.linalg.solve(root, (x[:, None] - y).reshape(-1, x.shape[1]).T)
        return matched(-0.5 * (away**2).sum(axis=0).reshape(len(x), len(z)))

    return attack


def same_blocks(k: int) -> Attack:
    """After univariate microaggregation and a reverse map: rows in the record's blocks of k ranks, in every column.

    The release holds the original values of each column, so the blocks are known to an intruder who holds a single record. 300
    census records, a fifth known, 8 columns, k = 60: .79 (product .79); three columns, k = 20: .85 (.85). With all known, no
    more than the product: .83 to .84 (.81), .85 (.85), .41 (.41).
    """
    def attack(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        possible, n = np.ones((len(x), len(z)), dtype=bool), len(z)
        block = np.minimum(np.arange(n) // k, n // k - 1)
        for j in range(z.shape[1]):
            ordered = np.sort(z[:, j])
            (low, high), (first, last) = (
                (block[np.searchsorted(ordered, v, "left")], block[np.searchsorted(ordered, v, "right") - 1])
                for v in (x[:, j], z[:, j])
            )
            possible &= (low[:, None] <= last) & (first <= high[:, None])
        return log_of(possible)

    return attack


def learnt_cuts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Learn where classes of ranks are cut: first from the shares of the known values, then from the surest links so far.

    1,080 census records, 8 columns, a fifth known: microaggregation, fixed, k = 200: .66 (product .53); k = 100, median: .95
    (.90); recoding into five classes: .67 (.59). Classes known to the digit would give .74, .97 and .73. The first figure
    exceeds three standard errors, but not for another draw of the known records: .61 (.51).
    """
    shown = [np.unique(c, return_inverse=True, return_counts=True) for c in y.T]
    alike = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    several = alike[2][alike[1].ravel()]
    link, sure = np.zeros(len(x), dtype=int), np.zeros(len(x))
    score = np.zeros((len(x), len(y)))
    for step, width in enumerate((0.04, 0.03, 0.02, 0.015, 0.01, 0.01)):
        score = np.zeros((len(x), len(y)))
        for value, (centre, at, count) in zip(x.T, shown, strict=True):
            cuts = np.clip(np.quantile(value, np.cumsum(count)[:-1] / len(y)), centre[:-1], centre[1:])
            for q in range(len(cuts)) if step else ():
                between = value[(sure > 0.5) & (value > centre[q]) & (value < centre[q + 1])]
                ends = np.sort(np.concatenate([between, centre[q : q + 2]]))
                tried = (ends[1:] + ends[:-1]) / 2
                wrong = [(sure * ((value > t) != (at[link] > q))).sum() for t in tried]
                cuts[q] = tried[int(np.argmin(wrong))]
            ordered = np.sort(value)
            place, cut = (np.searchsorted(ordered, v) / len(value) for v in (value, cuts))
            above = 1 / (1 + np.exp(np.clip((cut - place[:, None]) / width, -50, 50)))
            edge = np.ones((len(x), 1))
            inside = np.hstack([edge, above]) - np.hstack([above, 0 * edge])
            score += np.log(np.maximum(inside, 1e-4))[:, at]
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        link = weight.argmax(axis=1)
        sure = several[link] * weight.max(axis=1) / weight.sum(axis=1)
    return score


def by_known_spread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Microaggregation by projection, a fifth known: the sum of columns in units of the spread of the known records.

    No more than the product: k = 10, 8 columns .087 (.077); k = 5, three columns .100 (.163).
    """
    def along(v: np.ndarray) -> np.ndarray:
        return np.asarray(((v - y.mean(axis=0)) / x.std(axis=0)).sum(axis=1))

    return np.round(-np.abs(along(x)[:, None] - along(y)), 9)


def equal_rows(shown: pd.DataFrame, known: np.ndarray) -> np.ndarray:
    """The most that anybody can find after a mask without random draws: rows with equal values cannot be told apart.

    With all records known the product reaches it: 300 census records, three columns, rounding to 1,000 .873 (.873),
    recoding into five classes .233 (.233), both tails of .3 cut .713 (.713), mdav with all columns and k = 5 .200 (.200).
    """
    _, at, count = np.unique(shown.to_numpy(float), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(1 / count[at.ravel()][known])


def some(n: int, share: float) -> np.ndarray:
    return np.sort(np.random.default_rng(2).permutation(n)[: round(share * n)])


def with_margin(value: float, n: int) -> float:
    """A figure of the product, plus three standard errors of a share of n records."""
    return value + SE * np.sqrt(max(value * (1 - value), 1 / n) / n)


class Case:
    """A release, an intruder against it, and the records that the intruder holds."""

    def __init__(self, steps: Sequence[str], attack: Attack | None, columns: Sequence[str] = CENSUS8, n: int = N,
                 share: float = 1.0, size: int = 0, attacks: list[str] | None = None) -> None:
        self.steps, self.attack, self.columns, self.n = steps, attack, list(columns), n
        self.share, self.size, self.attacks = share, size, attacks

    def figures(self, census: pd.DataFrame, i: int, folder: Path, stop: bool) -> tuple[float, float, int]:
        """What the product finds and what the intruder finds, and the number of targets.

        With `stop`, no further attack is run once one finds what the intruder finds.
        """
        frame = census[self.columns].sample(self.n, random_state=1).reset_index(drop=True)
        known, who = some(self.n, self.share), lv.Intruder()
        if self.share < 1:
            file = folder / f"known {i}.csv"
            frame.iloc[known].assign(id=known).to_csv(file, index=False)
            who = lv.Intruder(file=str(file), truth="id")
        within = {"sub_groups": ["part"]} if self.size else {}
        table = frame.assign(part=[f"part {r // self.size}" for r in range(self.n)]) if self.size else frame
        data = lv.read(table, confidential=self.columns, **within)
        release = lv.mask(data, *self.steps, secret=secret(i))
        shown = release.to_pandas()[self.columns]
        if self.attack is None:
            found = equal_rows(shown, known)
        else:
            found = credit(self.attack(frame.to_numpy(float)[known], shown.to_numpy(float)), known)
        intruder = float(found.mean())
        return strongest(data, release, intruder if stop else math.inf, self.attacks, who), intruder, len(known)


ALONE = [[j] for j in range(8)]
DISTANCES = "rank_swap(window=0.15, distance='distribution')"
SETS = ((0, 1, 2, 3, 4), (5,), (6,), (7,))
FIXED = "microaggregation(k={}, grouping='fixed')"
HELD = {  # all but the last four found more before one-to-one links under laws that are learnt or simulated
    "distances": Case([DISTANCES], by_distance(0.15), attacks=AGAINST_SWAPS),
    "swapped together": Case(
        [f"random_swap(rate=0.5, together={TOGETHER})"], equal_in(SETS, 0.5), attacks=AGAINST_SWAPS
    ),
    "swapped alone": Case(["random_swap(rate=0.3)"], equal_in(ALONE[:3], 0.3), FEW, attacks=AGAINST_SWAPS),
    "all swapped in sub-groups": Case(["random_swap(rate=1.0)"], in_sub_groups(5, None), size=5, attacks=AGAINST_SWAPS),
    "window in sub-groups": Case(["rank_swap(window=0.5)"], in_sub_groups(10, 0.5), size=10, attacks=AGAINST_SWAPS),
    "window, three columns": Case(["rank_swap(window=0.15)"], in_window(0.15), FEW, attacks=AGAINST_SWAPS),
    "window, a fifth known": Case(["rank_swap(window=0.15)"], in_window(0.15, 1.0), share=0.2, attacks=AGAINST_SWAPS[:-1]),
    "noise and reverse map": Case(["correlated_noise(variance=0.25)", "reverse_map"], before_reverse_map(0.25, True)),
    "blocks and reverse map, a fifth known": Case([FIXED.format(60), "reverse_map"], same_blocks(60), share=0.2),
    "rounding": Case(["rounding(base=1000)"], None, FEW),
    "recoding": Case(["recoding(bins=5)"], None, FEW),
    "top coding": Case(["top_coding(tail=0.3, side='both')"], None, FEW),
    "mdav": Case(["microaggregation(k=5)"], None),
}
HELD_SLOWLY = {
    "window": Case(["rank_swap(window=0.15)"], in_window(0.15), attacks=AGAINST_SWAPS),
    "swapped alone, eight columns": Case(["random_swap(rate=0.85)"], equal_in(ALONE, 0.85), attacks=AGAINST_SWAPS),
    "distances, three columns": Case([DISTANCES], by_distance(0.15), FEW, attacks=AGAINST_SWAPS),
    "additive noise and reverse map": Case(["additive_noise(variance=0.25)", "reverse_map"], before_reverse_map(0.25, False)),
    "blocks and reverse map": Case([FIXED.format(20), "reverse_map"], same_blocks(20), FEW),
    "projection, a fifth known": Case(["microaggregation(k=10, grouping='projection')"], by_known_spread, share=0.2),
    "cuts, a fifth known": Case([FIXED.format(200)], learnt_cuts, n=1080, share=0.2),
    "classes, a fifth known": Case(["recoding(bins=5)"], learnt_cuts, n=1080, share=0.2),
}


@pytest.fixture(scope="module")
def census(real_files) -> pd.DataFrame:
    return pd.read_csv(real_files / "census.csv")[CENSUS8].astype(float)


def not_below(case: Case, census: pd.DataFrame, secrets: int, folder: Path) -> None:
    """Over all secrets together: the records are the same, so the standard error is that of one release."""
    figures = [case.figures(census, i, folder, stop=secrets == 1) for i in range(secrets)]
    product, intruder = (float(np.mean([f[j] for f in figures])) for j in (0, 1))
    print(f"{case.steps}: product {product:.3f}, intruder {intruder:.3f}")
    assert intruder <= with_margin(product, figures[0][2])


@pytest.mark.parametrize("name", HELD)
def test_no_weaker_than_intruders_that_found_no_more(name, census, tmp_path):
    not_below(HELD[name], census, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HELD_SLOWLY, *HELD])
def test_no_weaker_over_ten_secrets_than_intruders_that_found_no_more(name, census, tmp_path):
    case = {**HELD_SLOWLY, **HELD}[name]
    not_below(case, census, 1 if case.n > N else 10, tmp_path)


@pytest.mark.parametrize("attack", [
    in_window(0.15), by_distance(0.15), equal_in(SETS, 0.5), before_reverse_map(0.25, True), same_blocks(20), learnt_cuts,
])
def test_intruders_do_not_use_the_order_of_the_rows(attack):
    """Otherwise they would find records without any skill: record and row have the same number."""
    rng = np.random.default_rng(3)
    x = np.exp(rng.normal(size=(80, 1)) + rng.normal(size=(80, 8)))
    moved = np.argsort(np.argsort(np.log(x) + 0.1 * rng.normal(size=x.shape), axis=0), axis=0)
    y = np.take_along_axis(np.sort(x, axis=0), moved, axis=0)
    order = rng.permutation(80)
    there = np.argsort(order)
    assert credit(attack(x, y[order]), there).mean() == pytest.approx(credit(attack(x, y), np.arange(80)).mean(), abs=0.03)


CRASH = """
import numpy as np, pandas as pd, larvatus as lv
x = pd.DataFrame(np.random.default_rng(1).normal(size=(300, 8)), columns=list("abcdefgh"))
data = lv.read(x.assign(part=[f"part {r // 5}" for r in range(300)]), confidential=list("abcdefgh"), sub_groups=["part"])
lv.risk(data, lv.mask(data, "random_swap(rate=1.0)", secret=bytes(range(32))), ["swap_chain"])
"""


def test_swaps_in_small_sub_groups_can_be_attacked():
    assert subprocess.run([sys.executable, "-c", CRASH], capture_output=True, check=False).returncode == 0
