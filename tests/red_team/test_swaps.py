"""Intruders against swapped values that share no code with the product: chains, powers of the permutation, fixed blocks.

Each is first seen to work on a release made for it: pairs, cycles of three, blocks. Against the default swaps it must not
find more than `rank_window`, which knows the window and nothing else, beyond three standard errors.

Guesses by powers are not independent: a cycle of k records makes k guesses right at once. A random permutation has
Poisson(1/k) cycles of length k in each column, so the limit of one release counts cycles (false-alarm rate 1 in 100,000 for
each power), and the ten secrets are judged together by three standard errors of cycles (1 in 740).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import larvatus as lv

COLUMNS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
FEW = ["AGI", "STATETAX", "EMCONTRB"]
N, TARGETS, SE = 300, 60, 3.0
MASKS = ["rank_swap(window=0.15)", "rank_swap(window=0.5)", "random_swap(rate=1.0)"]
SECRETS = [pytest.param(0), *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 10))]
SHARES = [1.0, 0.2]


def secret(i: int) -> bytes:
    return b"swaps are attacked %d" % i


@pytest.fixture(scope="module")
def census(real_files: Path) -> pd.DataFrame:
    return pd.read_csv(real_files / "census.csv")[COLUMNS].sample(N, random_state=1).reset_index(drop=True)


def heavy_tails(n: int = N, p: int = 3) -> pd.DataFrame:
    """Made data: lognormal columns with a common factor, a tenth of them zero in the last column."""
    rng = np.random.default_rng(5)
    z = np.exp(rng.normal(size=(n, 1)) + rng.normal(size=(n, p)))
    z[rng.random(n) < 0.1, -1] = 0
    return pd.DataFrame(z, columns=[f"x{j}" for j in range(p)])


def known_records(n: int, share: float) -> np.ndarray:
    return np.sort(np.random.default_rng(2).permutation(n)[: round(share * n)])


def places(x: np.ndarray, y: np.ndarray, known: np.ndarray) -> tuple[list[dict[int, int]], list[dict[int, int]]]:
    """For each column, row → known record whose value it holds, and record → row, from values that occur once."""
    owner, row = [], []
    for j in range(x.shape[1]):
        mine, theirs = (dict(zip(*np.unique(v, return_counts=True), strict=True)) for v in (x[known, j], y[:, j]))
        at = {v: r for r, v in enumerate(y[:, j]) if theirs[v] == 1}
        row.append({int(a): at[x[a, j]] for a in known if mine[x[a, j]] == 1 and x[a, j] in at})
        owner.append({r: a for a, r in row[j].items()})
    return owner, row


def chain(x: np.ndarray, y: np.ndarray, known: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Credit of each target: follow every guess through all columns; the rows without a contradiction share it."""
    owner, row = places(x, y, known)
    out, links = [], dict[int, int]()
    for a in map(int, targets):
        if a in links:
            out.append(float(links[a] == a))
            continue
        survivors = {}
        for r in range(len(y)):
            pairs, back, todo, consistent = {a: r}, {r: a}, [(a, r)], True
            while todo and consistent:
                record, place = todo.pop()
                for j in range(x.shape[1]):
                    b, q = owner[j].get(place), row[j].get(record)
                    if b is None or q is None:
                        continue
                    if pairs.get(b, q) != q or back.get(q, b) != b:
                        consistent = False
                        break
                    if b not in pairs:
                        pairs[b], back[q] = q, b
                        todo.append((b, q))
            if consistent:
                survivors[r] = pairs
        if len(survivors) == 1:
            links |= next(iter(survivors.values()))
        out.append((a in survivors) / len(survivors) if survivors else 1 / len(y))
    return np.array(out)


def longest(x: np.ndarray, y: np.ndarray, known: np.ndarray, window: float) -> np.ndarray:
    """Credit of each known record: of the guesses that neither contradict themselves nor move a value beyond the window.

    The guess with the longest chain is taken; ties share.
    """
    owner, row = places(x, y, known)
    ordered = np.sort(y, axis=0)
    low, high, at = (np.column_stack([np.searchsorted(ordered[:, j], v[:, j], side) for j in range(x.shape[1])])
                     for v, side in ((x, "left"), (x, "right"), (y, "left")))
    until = np.column_stack([np.searchsorted(ordered[:, j], y[:, j], "right") for j in range(x.shape[1])])
    far = window * len(y) + 1
    near = [(low[a] - far <= until).all(axis=1) & (at <= high[a] + far).all(axis=1) for a in range(len(x))]
    out = []
    for a in map(int, known):
        length = np.zeros(len(y), dtype=int)
        for r in np.flatnonzero(near[a]).tolist():
            pairs, back, todo, consistent = {a: r}, {r: a}, [(a, r)], True
            while todo and consistent:
                record, place = todo.pop()
                for b, q in ((o.get(place), w.get(record)) for o, w in zip(owner, row, strict=True)):
                    if b is None or q is None:
                        continue
                    if pairs.get(b, q) != q or back.get(q, b) != b or not near[b][q]:
                        consistent = False
                        break
                    if b not in pairs:
                        pairs[b], back[q] = q, b
                        todo.append((b, q))
            length[r] = len(pairs) if consistent else 0
        best = length == length.max()
        out.append(best[a] / best.sum())
    return np.array(out)


def powers(x: np.ndarray, y: np.ndarray, insiders: np.ndarray, k: int) -> tuple[float, int]:
    """Share of rows predicted rightly from insiders who know their rows, if the k-th power of each permutation were 1.

    Also returns the number of predictions.

    Insider a sees in its row the value of b, in b's row that of c, and so on; the k-th owner's row would hold a's value.
    """
    owner, row = places(x, y, np.arange(len(x)))
    inside = set(insiders.tolist())
    right = tried = 0
    for j in range(x.shape[1]):
        for a in inside:
            last: int | None = a
            for _ in range(k - 1):
                last = owner[j].get(last) if last in inside else None
            if last is None or a not in row[j] or last == a:
                continue
            tried += 1
            right += row[j][a] == last
    return right / max(tried, 1), max(tried, 1)


def blocks(x: np.ndarray, y: np.ndarray, targets: np.ndarray, size: int) -> np.ndarray:
    """Credit of each target: intersect over columns the rows in the same block of `size` consecutive ranks."""
    inside = np.ones((len(targets), len(y)), dtype=bool)
    for j in range(x.shape[1]):
        ordered = np.sort(y[:, j])
        mine, theirs = (np.searchsorted(ordered, v) // size for v in (x[targets, j], y[:, j]))
        inside &= mine[:, None] == theirs
    count = inside.sum(axis=1)
    truth = inside[np.arange(len(targets)), targets]
    return np.where(count > 0, truth / np.maximum(count, 1), 1 / len(y))


def released(table: pd.DataFrame, mask: str, i: int) -> tuple[lv.Microdata, lv.Release, np.ndarray, np.ndarray]:
    data = lv.read(table, confidential=list(table))
    release = lv.mask(data, mask, secret=secret(i))
    return data, release, table.to_numpy(float), release.frame().to_numpy(float)


def limit(window: np.ndarray) -> float:
    """The success of `rank_window` on these targets plus standard errors of one guess per target."""
    value, n = float(window.mean()), len(window)
    return value + SE * np.sqrt(max(value * (1 - value), 1 / n) / n)


def limit_of_powers(window: np.ndarray, guesses: int, k: int, false_alarms: float = 1e-5) -> float:
    """The share of right guesses in the largest number of k-cycles that is plausible at the success of `rank_window`."""
    return k * poisson.isf(false_alarms, float(window.mean()) * guesses / k) / guesses


@pytest.mark.parametrize("i", SECRETS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("columns", [FEW, COLUMNS], ids=["3 columns", "8 columns"])
def test_nobody_finds_more_than_the_window_does(census, columns, mask, i):
    data, release, x, y = released(census[columns], mask, i)
    window = lv.risk(data, release, ["rank_window"])[0].by_record
    for share in SHARES:
        known = known_records(N, share)
        targets = known[:TARGETS]
        assert chain(x, y, known, targets).mean() <= limit(window[targets])
        for k in (2, 3):
            right, tried = powers(x, y, known, k)
            assert right <= limit_of_powers(window[known], tried, k)
    everyone = np.arange(N)
    for size in (5, 15, 45, 90, 150):
        assert blocks(x, y, everyone, size).mean() <= limit(window)


@pytest.mark.parametrize("i", SECRETS)
@pytest.mark.parametrize("mask", MASKS)
def test_made_data_hold_too(mask, i):
    data, release, x, y = released(heavy_tails(), mask, i)
    window = lv.risk(data, release, ["rank_window"])[0].by_record
    known = np.arange(N)
    assert chain(x, y, known, known[:TARGETS]).mean() <= limit(window[:TARGETS])
    for k in (2, 3):
        right, tried = powers(x, y, known_records(N, 0.2), k)
        assert right <= limit_of_powers(window, tried, k)


@pytest.mark.slow
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("columns", [FEW, COLUMNS], ids=["3 columns", "8 columns"])
def test_ten_secrets_together_have_no_more_short_cycles_than_the_window_allows(census, columns, mask, k):
    found = expected = 0.0
    for i in range(10):
        data, release, x, y = released(census[columns], mask, i)
        right, tried = powers(x, y, np.arange(N), k)
        found += right * tried
        expected += float(lv.risk(data, release, ["rank_window"])[0].by_record.mean()) * tried
    assert found <= expected + SE * np.sqrt(k * expected)


@pytest.mark.parametrize("i", SECRETS)
@pytest.mark.parametrize("mask", [m[:-1] + ", pairs=true)" for m in (*MASKS, "random_swap(rate=0.5)")])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("columns", [FEW, COLUMNS], ids=["3 columns", "8 columns"])
def test_the_product_finds_what_a_chain_through_pairs_finds(census, columns, share, mask, i, tmp_path):
    data, release, x, y = released(census[columns], mask, i)
    known = known_records(N, share)
    own = tmp_path / "own.csv"
    census[columns].iloc[known].assign(id=known).to_csv(own, index=False)
    who = lv.Intruder() if share == 1 else lv.Intruder(file=str(own), truth="id")
    score = lv.risk(data, release, ["swap_chain"], intruder=who)[0]
    assert len(score.by_record) == len(known)
    theirs = chain(x, y, known, known)
    assert score.value >= theirs.mean() - 1e-9
    if share == 1 and "rate=0.5" not in mask:
        assert score.value >= 0.99
        assert not (score.by_record == 0).any(), "no wrong link is claimed"
        assert powers(x, y, known_records(N, 0.2), 2)[0] == 1.0


@pytest.mark.parametrize("i", SECRETS)
@pytest.mark.parametrize("window", [0.15, 0.5])
def test_the_longest_chain_of_an_intruder_who_knows_a_fifth_of_the_records(real_files, window, i, tmp_path):
    """If all rows without a contradiction shared the credit, .80 and .02 were found; the longest chains find .91 and .42."""
    census = pd.read_csv(real_files / "census.csv")[COLUMNS].astype(float)
    data, release, x, y = released(census, f"rank_swap(window={window}, pairs=true)", i)
    known = known_records(len(census), 0.2)
    census.iloc[known].assign(id=known).to_csv(tmp_path / "own.csv", index=False)
    score = lv.risk(data, release, ["swap_chain"], intruder=lv.Intruder(file=str(tmp_path / "own.csv"), truth="id"))[0]
    theirs = float(longest(x, y, known, window).mean())
    assert theirs > {0.15: 0.75, 0.5: 0.2}[window]
    assert score.value >= theirs - SE * np.sqrt(2 * theirs * (1 - theirs) / len(known))


def test_the_search_for_powers_finds_cycles_of_three():
    rng = np.random.default_rng(3)
    x = heavy_tails().to_numpy()[:, :2]
    y = x.copy()
    for j in range(2):
        thirds = rng.permutation(N).reshape(3, -1)
        y[thirds, j] = x[np.roll(thirds, 1, axis=0), j]
    insiders = known_records(N, 0.5)
    assert powers(x, y, insiders, 3)[0] == 1.0
    assert powers(x, y, insiders, 2)[0] == 0.0


def test_intersection_finds_records_permuted_within_blocks():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(N, 3))
    y = x.copy()
    for j in range(3):
        order = np.argsort(x[:, j])
        for at in range(0, N, 15):
            y[order[at : at + 15], j] = x[rng.permutation(order[at : at + 15]), j]
    assert blocks(x, y, np.arange(N), 15).mean() > 0.95
