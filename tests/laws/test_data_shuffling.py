"""Data shuffling: the same values in every sub-group, rank correlations kept in expectation, nothing of X beyond S."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import ROLES, SECRET, people

FALSE_ALARM = 1e-6
N, SEEDS = 4000, 20
X = ["x", "y", "w"]
LATENT = [[1, 0.8, 0.5, -0.6], [0.8, 1, 0.6, -0.3], [0.5, 0.6, 1, 0.0], [-0.6, -0.3, 0.0, 1]]
MASKED = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "INTVAL", "FICA", "WSALVAL", "ERNVAL"]
CODED = ["AFNLWGT", "EMCONTRB", "PTOTVAL"]


def zeros(x: np.ndarray, share: float) -> np.ndarray:
    """Skewed values, the lowest of which are zero."""
    return np.where(stats.rankdata(x) <= share * len(x), 0.0, np.exp(x))


def made(kind: str) -> pd.DataFrame:
    """Four columns of a normal copula: untied, with many zeros, or counts."""
    z = np.random.default_rng(5).multivariate_normal(np.zeros(4), LATENT, N)
    if kind == "untied":
        columns = np.exp(z[:, 0]), z[:, 1], z[:, 2] ** 3, z[:, 3]
    elif kind == "zeros":
        columns = zeros(z[:, 0], 0.6), zeros(z[:, 1], 0.6), zeros(z[:, 2], 0.3), z[:, 3]
    else:
        columns = np.rint(z[:, 0]), np.rint(2 * z[:, 1]), zeros(z[:, 2], 0.9), np.rint(z[:, 3])
    return pd.DataFrame(dict(zip([*X, "s"], columns, strict=True)))


def shuffled(table: pd.DataFrame, secret: bytes = SECRET, engine: str = "memory", names: list[str] = X, **roles) -> lv.Release:
    data = lv.read(table, confidential=names, engine=engine, **roles)
    return lv.mask(data, "data_shuffling", secret=secret)


def over_seeds(table: pd.DataFrame, **roles) -> list[pd.DataFrame]:
    return [shuffled(table, b"sixteen bytes and number %3d" % k, **roles).frame() for k in range(SEEDS)]


def limit(n: float, comparisons: int, seeds: int = SEEDS) -> float:
    """How far a mean of rank correlations over seeds may lie from its expectation.

    Var(r) is at most 1/(n-1), its value without association, within the 5 % that a normal copula can exceed it;
    3/n bounds how far the expectation in a sample lies from the correlation of the copula.
    """
    return stats.norm.isf(FALSE_ALARM / 2 / comparisons) * 1.05 / np.sqrt((n - 1) * seeds) + 3 / n


def same_values(one: pd.DataFrame, other: pd.DataFrame, names: list[str]) -> bool:
    return all(np.array_equal(np.sort(one[n]), np.sort(other[n]), equal_nan=True) for n in names)


@pytest.mark.parametrize("given", [[], ["age"], ["job"], ["age", "job"]], ids=["no S", "numeric S", "nominal S", "both"])
@pytest.mark.parametrize("names", [["income"], ["income", "wealth", "rooms"]], ids=["one column", "three columns"])
def test_every_column_keeps_its_values_in_every_sub_group(names, given):
    table = people(900, seed=4)
    data = lv.read(table, **{**ROLES, "confidential": names, "non_confidential": given})
    after = lv.mask(data, "data_shuffling", secret=SECRET).frame()
    for _, was in table.groupby(["region", "sex"]):
        now = after.loc[was.index]
        assert same_values(was, now, names)
        for name in names:
            assert now[name].isna().equals(was[name].isna())
            assert (now[name] != was[name]).sum() > len(was) / 3


def test_forty_columns_keep_their_values():
    """And their correlations within what one shuffle of so few records allows, and 0.02 that the repair may take."""
    rng = np.random.default_rng(8)
    names = [f"c{i}" for i in range(40)]
    table = pd.DataFrame(rng.normal(size=(900, 40)) @ rng.normal(size=(40, 40)), columns=names)
    table["c7"], table["c8"] = table.c6.clip(lower=0), np.rint(table.c5)
    table = table.assign(g=rng.integers(0, 3, 900), s=table.c0 + rng.normal(size=900), job=rng.choice(["a", "b"], 900))
    after = shuffled(table, names=names, non_confidential=["s", "job"], sub_groups=["g"]).frame()
    for _, was in table.groupby("g"):
        assert same_values(was, after.loc[was.index], names)
        r = [f.loc[was.index, names].corr(method="spearman").to_numpy()[np.triu_indices(40, 1)] for f in (table, after)]
        assert np.abs(r[0] - r[1]).max() < limit(len(was), 3 * 780, 1) + 0.02


def test_census_keeps_its_values_and_perfect_agreement_in_every_sub_group(real_files):
    table = pd.read_csv(real_files / "census.csv")
    codes = [f"{c} low" for c in CODED]
    table = table.assign(**{f"{c} low": (table[c] < table[c].mean()).astype(int) for c in CODED})
    after = shuffled(table, names=MASKED, sub_groups=codes).frame()
    agreeing = 0
    for _, was in table.groupby(codes):
        now = after.loc[was.index]
        assert same_values(was, now, MASKED)
        for i, one in enumerate(MASKED):
            for other in MASKED[:i]:
                r, z = (stats.spearmanr(f[one], f[other]).statistic for f in (was, now))
                if r > 1 - 1e-12:
                    agreeing += 1
                    assert z == pytest.approx(1.0, abs=1e-15)
                else:
                    assert z < 1 - 1e-6
    assert agreeing >= 1


@pytest.mark.parametrize("given", [[], ["s"]], ids=["no S", "S"])
@pytest.mark.parametrize("kind", ["untied", "zeros", "counts"])
def test_rank_correlations_are_kept_in_expectation(kind, given):
    """Without ties, with 60 % zeros and with counts, among X and with S: the mean over seeds is the original's."""
    table = made(kind)
    names = [*X, *given]
    pairs = np.triu_indices(len(names), 1)
    was = stats.spearmanr(table[names]).statistic[pairs]
    found = np.mean([stats.spearmanr(f[names]).statistic[pairs] for f in over_seeds(table, non_confidential=given)], axis=0)
    assert np.abs(found - was).max() < limit(N, len(was))


def test_each_sub_group_keeps_its_own_rank_correlations():
    table = pd.concat([made("zeros"), made("untied").assign(y=lambda t: -t.y)], ignore_index=True)
    table["g"] = np.repeat([0, 1], N)
    after = over_seeds(table, sub_groups=["g"])
    for _, was in table.groupby("g"):
        r = [stats.spearmanr(f.loc[was.index, X]).statistic[0, 1:] for f in (table, *after)]
        assert np.abs(np.mean(r[1:], axis=0) - r[0]).max() < limit(N, 4)


def test_without_s_the_new_values_have_nothing_to_do_with_the_old():
    """r of X and Z is that of unrelated columns in every sub-group: mean 0, variance 1/(n-1), over seeds and pairs."""
    table = made("untied").assign(g=np.arange(N) % 2)
    for _, was in table.groupby("g"):
        r = [stats.spearmanr(was[X], f.loc[was.index, X]).statistic[:3, 3:] for f in over_seeds(table, sub_groups=["g"])]
        z = np.array(r) * np.sqrt(len(was) - 1)
        assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / z.size)
        assert np.abs(z.mean(axis=0)).max() < stats.norm.isf(FALSE_ALARM / 2 / 9) / np.sqrt(SEEDS)


@pytest.mark.parametrize("kind", ["untied", "zeros"])
def test_given_s_the_new_values_have_nothing_to_do_with_the_old(kind):
    """What is left of the ranks of X and of Z after a smooth regression on the scores of S has products of mean 0."""
    table = made(kind)
    after = over_seeds(table, non_confidential=["s"])
    score = stats.norm.ppf((stats.rankdata(table.s) - 0.5) / N)
    design = np.vander(score, 6)

    def rest(values: pd.Series) -> np.ndarray:
        rank = stats.rankdata(values)
        return rank - design @ np.linalg.lstsq(design, rank, rcond=None)[0]

    assert abs(stats.spearmanr(table.x, after[0].x).statistic) > 0.2
    for a in X:
        for b in X:
            products = rest(table[a]) * np.array([rest(f[b]) for f in after])
            assert abs(products.sum()) < stats.norm.isf(FALSE_ALARM / 2 / 9) * np.sqrt((products**2).sum())


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("share", [0.0, pytest.param(0.6, marks=pytest.mark.slow), 0.9])
def test_mean_ranks_at_the_levels_of_a_nominal_s_are_kept(levels, share):
    """In expectation, but for the thousandth that is given up so that a level wholly inside ties has an effect at all.

    A mean of n_l ranks, of standard deviation at most n/√12, has one of at most n/√(12 n_l).
    """
    rng = np.random.default_rng(9)
    job = rng.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1]) if levels == 3 else rng.choice(["a", "b"], N, p=[0.7, 0.3])
    z = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], N)
    table = pd.DataFrame({"job": job, "x": zeros(z[:, 0] + 1.0 * (job == "b") - 0.7 * (job == "c"), share), "y": z[:, 1]})
    after = over_seeds(table, names=["x", "y"], non_confidential=["job"])
    was, *now = (f[["x", "y"]].rank().groupby(f.job).mean() / N for f in (table, *after))
    z = stats.norm.isf(FALSE_ALARM / 2 / was.size)
    allowed = z / np.sqrt(12 * SEEDS * table.job.value_counts().sort_index()) + 0.001
    moved = (sum(now) / SEEDS - was).abs()
    assert moved.lt(allowed, axis=0).all().all(), moved
    assert (was.x.max() - was.x.min()) > 10 * moved.x.max()


@pytest.mark.parametrize(("share", "effects", "given"), [
    pytest.param(share, effects, given, id=f"{share}-{len(effects)} levels-{'-'.join(given)}",
                 marks=() if (share, len(effects), given[-1]) in ((0.0, 3, "place"), (0.9, 2, "s")) else pytest.mark.slow)
    for share in (0.0, 0.6, 0.9) for effects in ((1.5, -1.5), (2.0, -1.5, 0.5))
    for given in (["job"], ["job", "s"], ["job", "place"])
])
def test_rank_correlations_are_kept_given_levels_with_opposing_effects(effects, share, given):
    """X falls where Y rises from level to level, and inside levels both rise together."""
    rng = np.random.default_rng(11)
    job, place = rng.integers(0, len(effects), N), rng.integers(0, 2, N)
    z = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0.3], [0.8, 1, 0.4], [0.3, 0.4, 1]], N)
    effect = np.array(effects)[job]
    columns = {
        "x": zeros(z[:, 0] + effect, share), "y": zeros(z[:, 1] - effect + place, share), "w": z[:, 2] + 0.5 * place,
        "s": z[:, 0] + 0.5 * effect + rng.normal(size=N), "job": np.char.add("job ", job.astype(str)),
        "place": np.char.add("at ", place.astype(str)),
    }
    table = pd.DataFrame(columns)
    names = [*X, "s"] if "s" in given else X
    pairs = np.triu_indices(len(names), 1)
    was = stats.spearmanr(table[names]).statistic[pairs]
    found = np.mean([stats.spearmanr(f[names]).statistic[pairs] for f in over_seeds(table, non_confidential=given)], axis=0)
    assert np.abs(found - was).max() < limit(N, len(was))


@pytest.mark.parametrize("given", [[], ["s"]], ids=["no S", "S"])
@pytest.mark.parametrize("tied", [False, True])
def test_columns_in_perfect_agreement_stay_so(tied, given):
    rng = np.random.default_rng(2)
    x = np.rint(3 * rng.normal(size=500)) if tied else rng.normal(size=500)
    table = pd.DataFrame({"x": x, "y": np.exp(x), "w": -(x**3), "v": x + rng.normal(size=500), "s": x + rng.normal(size=500)})
    for engine in ("memory", "pieces"):
        after = shuffled(table, engine=engine, names=["v", "x", "y", "w"], non_confidential=given).frame()
        assert stats.spearmanr(after.x, after.y).statistic == pytest.approx(1.0, abs=1e-15)
        assert stats.spearmanr(after.x, after.w).statistic == pytest.approx(-1.0, abs=1e-15)
        assert after.y.to_numpy() == pytest.approx(np.exp(after.x).to_numpy(), rel=1e-14)
        assert stats.spearmanr(after.x, after.v).statistic < 0.99


@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_columns_in_perfect_agreement_stay_so_where_both_are_present(engine):
    """Different cells are missing, and large values more often, so that ranks over all present values do not agree."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=800)
    table = pd.DataFrame({"v": x + rng.normal(size=800), "x": x, "y": np.exp(x), "w": -(x**3)})
    table = table.mask(rng.random((800, 4)) < [0.1, 0.1, 0.0, 0.2]).assign(g=np.arange(800) % 2)
    table.loc[(table.x > 0.5) & (rng.random(800) < 0.4), "y"] = np.nan
    after = shuffled(table, engine=engine, names=["v", "x", "y", "w"], sub_groups=["g"]).frame()
    for _, now in after.groupby("g"):
        r = now[["v", "x", "y", "w"]].corr(method="spearman").to_numpy()
        assert r[1, 2] == pytest.approx(1.0, abs=1e-15)
        assert r[1, 3] == pytest.approx(-1.0, abs=1e-15)
        assert r[2, 3] == pytest.approx(-1.0, abs=1e-15)
        assert abs(r[0, 1:]).max() < 0.95
    assert same_values(table, after, ["v", "x", "y", "w"])


def test_agreement_is_seen_where_as_many_cells_are_missing_but_others():
    x = np.random.default_rng(6).normal(size=300)
    table = pd.DataFrame({"x": np.where(np.arange(300) < 50, np.nan, x), "y": np.where(np.arange(300) >= 250, np.nan, -x)})
    after = shuffled(table, names=["x", "y"]).frame()
    assert after.corr(method="spearman").to_numpy()[0, 1] == pytest.approx(-1.0, abs=1e-15)


@pytest.mark.parametrize("spoilt", ["pair", "tie", "constant", "few"])
def test_agreement_in_part_of_the_records_is_not_taken_for_more(spoilt):
    """One exchanged pair, one tie, columns that do not vary where both are present, or nine records that have both."""
    from larvatus.core.randomness import RecordRandom
    from larvatus.masks.copula.estimate import copula_of, rank_columns

    x = np.random.default_rng(4).permutation(400) + 1.0
    y = x**3
    if spoilt == "pair":
        y[[x.argmin(), np.flatnonzero(x == 2)[0]]] = 8.0, 1.0
    elif spoilt == "tie":
        y[x == 2] = 1.0
    elif spoilt == "constant":
        x[100:300], y[100:300] = 50.5, 7.5
    table = pd.DataFrame({"x": x, "y": y})
    table.loc[:99, "x"] = np.nan
    table.loc[300 if spoilt != "few" else 109 :, "y"] = np.nan
    if spoilt in ("pair", "tie"):
        table.loc[table.index[np.isin(np.arange(400), np.flatnonzero(x <= 2))]] = np.array([x, y]).T[x <= 2]
    data = lv.read(table, confidential=["x", "y"])
    assert copula_of(rank_columns(data, data.confidential, RecordRandom(bytes(16))))[0].member.tolist() == [0, 1]


def test_perfect_agreement_of_many_records_is_not_lost_to_rounding():
    """Sixty thousand latent values lie so close that rounding alone would exchange neighbours."""
    x = np.random.default_rng(3).normal(size=60_000)
    table = pd.DataFrame({"x": x, "y": np.exp(x), "w": -x, "v": x + np.random.default_rng(4).normal(size=60_000)})
    after = shuffled(table, names=["x", "y", "w", "v"]).frame()
    assert np.array_equal(np.argsort(after.x), np.argsort(after.y))
    assert np.array_equal(after.x, -after.w)


def test_nearly_perfect_agreement_is_not_taken_for_perfect():
    x = np.arange(500.0)
    y = x.copy()
    y[[250, 251]] = y[[251, 250]]
    table = pd.DataFrame({"x": x, "y": y})
    assert stats.spearmanr(*table.to_numpy().T).statistic > 1 - 1e-6
    after = shuffled(table, names=["x", "y"]).frame()
    assert (after.x != after.y).any()
    assert stats.spearmanr(after.x, after.y).statistic > 0.999


def test_missing_values_stay_where_they_are_and_the_rest_keep_their_correlations():
    table = made("zeros")
    gone = np.random.default_rng(3).random((N, 4)) < [0.2, 0.1, 0.0, 0.15]
    table = table.mask(gone)
    after = over_seeds(table, non_confidential=["s"])
    for f in after[:2]:
        assert f[X].isna().equals(table[X].isna())
        assert same_values(table, f, X)
    names, pairs = ["x", "y", "w", "s"], np.triu_indices(4, 1)
    was, *now = (f[names].corr(method="spearman").to_numpy()[pairs] for f in (table, *after))
    there = table[names].notna().astype(float)
    together = (there.T @ there).to_numpy()[pairs]
    assert (np.abs(np.mean(now, axis=0) - was) < [limit(n, 6) for n in together]).all()


def test_zeros_as_a_sub_group_level_stay_where_they_are():
    table = made("zeros").assign(g=np.arange(N) % 2)
    data = lv.read(table, confidential=X, non_confidential=["s"], sub_groups=["g"])
    after = lv.mask(data, lv.masks.DataShuffling(zeros="sub_group"), secret=SECRET).frame()
    assert (after[X] == 0).equals(table[X] == 0)
    pattern = (table[X] == 0).apply(tuple, axis=1)
    for _, was in table.groupby([pattern, "g"]):
        assert same_values(was, after.loc[was.index], X)
    rare = table.assign(x=np.where(np.arange(N) == 7, 0.0, np.exp(table.x)), y=np.exp(table.y), w=np.exp(table.w))
    data = lv.read(rare, confidential=X, sub_groups=lv.SubGroups(columns=("g",), small="suppress"))
    release = lv.mask(data, lv.masks.DataShuffling(zeros="sub_group"), secret=SECRET)
    assert release.frame().index.tolist() == [i for i in range(N) if i != 7]
    assert "1 records with a rare pattern of zero values are left out of the release" in [n.text for n in release.notes]


def test_whole_file_scope_shuffles_between_sub_groups():
    table = made("untied").assign(g=np.arange(N) % 2)
    table.loc[table.g == 1, "x"] += 100
    data = lv.read(table, confidential=X, sub_groups=["g"])
    after = lv.mask(data, lv.masks.DataShuffling(scope="file"), secret=SECRET).frame()
    assert same_values(table, after, X)
    assert stats.binomtest(int((after.x[table.g == 0] > 100).sum()), N // 2).pvalue > FALSE_ALARM


def test_constant_columns_and_small_sub_groups():
    table = made("untied").assign(g=np.arange(N) % 2)
    flat = table.assign(y=np.where(table.g == 0, 3.0, table.y))
    after = shuffled(flat, sub_groups=["g"], non_confidential=["s"]).frame()
    assert (after.y[flat.g == 0] == 3.0).all()
    assert same_values(flat[flat.g == 1], after[after.g == 1], X)
    with pytest.raises(lv.LarvatusError, match=r"data_shuffling: 1 of 2 sub-groups have fewer than 6 .* \(g=1\) has 5"):
        shuffled(table[(table.g == 0) | (table.index < 10)], sub_groups=["g"], non_confidential=["s"])


def test_it_says_that_extremes_leave_unmodified_and_what_came_through():
    table = made("untied")
    release = shuffled(table)
    said = [n.text for n in release.notes]
    assert "the smallest and the largest value of every column are released unchanged" in said
    same = int((release.frame().x == table.x).sum())
    if same:
        assert f"{same} of 4,000 values of x ({same / N:.1%}) are unchanged" in said
    assert stats.poisson.sf(same - 1, 1.0) > FALSE_ALARM


def test_one_swapped_pair_of_neighbours_is_not_perfect_agreement():
    """In 60,000 rows it moves Spearman's coefficient by less than 1e-13: ranks are compared one by one."""
    from larvatus.core.randomness import RecordRandom
    from larvatus.masks.copula.estimate import copula_of, rank_columns

    n = 60_000
    x = np.random.default_rng(5).normal(size=n)
    y = np.exp(x)
    near = np.argsort(x)[100:102]
    swapped = y.copy()
    swapped[near] = y[near[::-1]]
    table = pd.DataFrame({"x": x, "same": y, "reverse": -y, "swapped": swapped})
    data = lv.read(table, confidential=list(table))
    copula = copula_of(rank_columns(data, data.confidential, RecordRandom(bytes(16))))[0]
    assert copula.member.tolist() == [0, 0, 0, 1]
    assert copula.sign.tolist() == [1, 1, -1, 1]
