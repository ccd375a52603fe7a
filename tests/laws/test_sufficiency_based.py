"""Sufficiency-based masks: what they keep exactly in every sub-group, what similarity means, and what they refuse."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import ROLES, SECRET, people

FALSE_ALARM = 1e-6
EXACT = 1e-12
N = 3000
X = ["x", "y", "w"]
S = ["s", "t", "job"]
MATRIX = [[0.6, 0.1, 0.0], [0.1, 0.5, 0.05], [0.0, 0.1, 0.4]]
MASKED = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "INTVAL", "FICA", "WSALVAL", "ERNVAL"]
CODED = ["AFNLWGT", "EMCONTRB", "PTOTVAL"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Skewed columns on scales 1 to 1e7 that depend on a numeric S, a nominal S and a numeric S with missing values."""
    rng = np.random.default_rng(21)
    g = rng.choice([0, 1, 2], N, p=[0.5, 0.3, 0.2])
    s, job = rng.normal(size=N), rng.choice(["full", "none", "part"], N, p=[0.6, 0.3, 0.1])
    t = np.where(rng.random(N) < 0.1, np.nan, 1e5 + 10 * rng.normal(size=N))
    z = rng.multivariate_normal(np.zeros(3), [[1, 0.6, -0.3], [0.6, 1, 0.2], [-0.3, 0.2, 1]], N)
    return pd.DataFrame({
        "g": g, "s": s, "t": t, "job": job, "x": np.exp(0.8 * z[:, 0] + 0.3 * s),
        "y": 1e7 * (z[:, 1] + (job == "none")) + 1e6 * g, "w": 3 + z[:, 2] - np.nan_to_num(t - 1e5) / 20,
    })


@pytest.fixture(scope="module")
def census(real_files) -> pd.DataFrame:
    """The Census file with codes, 1 where a value is below the mean of its column."""
    table = pd.read_csv(real_files / "census.csv")
    return table.assign(**{f"{c} low": (table[c] < table[c].mean()).astype(int) for c in CODED})


def masked(table: pd.DataFrame, engine: str = "memory", given: list[str] = S, names: list[str] = X, **settings) -> lv.Release:
    data = lv.read(table, confidential=names, non_confidential=given, sub_groups=["g"], engine=engine)
    return lv.mask(data, lv.masks.SufficiencyBased(**settings), secret=SECRET)


def terms(table: pd.DataFrame, given: list[str] = S) -> pd.DataFrame:
    """S as numbers, by pandas: indicators of names, the mean and an indicator where a number is missing."""
    out = pd.get_dummies(table[given], drop_first=True).astype(float)
    for name in [c for c in given if table[c].isna().any() and table[c].dtype.kind == "f"]:
        out[f"{name} missing"] = table[name].isna().astype(float)
        out[name] = table[name].fillna(table[name].mean())
    return out


def gap(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Largest difference of means and covariances, in standard deviations of the first, computed in long double."""
    one, other = (np.asarray(v, dtype=np.longdouble) for v in (before, after))
    sd = one.std(axis=0)
    sd = np.where(sd <= 1e-15 * abs(one.mean(axis=0)), 1.0, sd)
    shift = abs((other.mean(axis=0) - one.mean(axis=0)) / sd).max()
    a, b = ((v - v.mean(axis=0)) / sd for v in (one, other))
    return float(max(shift, abs(a.T @ a - b.T @ b).max() / len(one)))


def residuals(values: pd.DataFrame, given: pd.DataFrame) -> np.ndarray:
    design = np.column_stack([np.ones(len(given)), (given - given.mean()) / given.std().replace(0, 1)])
    return values.to_numpy() - design @ np.linalg.lstsq(design, values.to_numpy(), rcond=None)[0]


@pytest.mark.parametrize("settings", [
    {"similarity": 0}, {"similarity": 0.5, "noise": "laplace"}, {"similarity": 0.99, "noise": "mixture"},
    {"similarity": [0.5, 0.45, 0.55], "noise": "uniform"}, {"similarity": {"y": 0.3, "x": 0.25, "w": 0.2}},
    {"similarity": MATRIX},
], ids=["zero", "scalar", "near one", "list", "by name", "matrix"])
@pytest.mark.parametrize("given", [[], ["s"], S], ids=["no S", "numeric S", "every S"])
def test_means_and_covariances_are_kept_in_every_sub_group_and_similarity_is_what_was_asked(table, settings, given):
    value = settings["similarity"]
    beta = np.array(value) if value is MATRIX else np.diag(
        [value[n] for n in X] if isinstance(value, dict) else np.broadcast_to(value, 3)
    )
    scaled = table.assign(y=table.y / 1e7)
    for frame, name in ((table, "as it is"), (scaled, "one scale")):
        if value is MATRIX and name == "as it is":
            continue
        release = masked(frame, given=given, **settings)
        assert "exact in 3 of 3 sub-groups" in [n.text for n in release.notes]
        after = release.frame()
        for g, was in frame.groupby("g"):
            now, s = after[after.g == g], terms(was, given) if given else was[[]]
            assert gap(pd.concat([s, was[X]], axis=1), pd.concat([s, now[X]], axis=1)) < EXACT
            x, y = residuals(was[X], s), residuals(now[X], s)
            scale = np.sqrt((x * x).sum(axis=0))
            assert np.abs((y.T @ x - beta @ (x.T @ x)) / np.outer(scale, scale)).max() < 1e-9


def test_means_at_every_level_of_a_nominal_s_are_kept(table):
    after = masked(table).frame()
    for g in range(3):
        was, now = (f[f.g == g].groupby("job")[X].mean() for f in (table, after))
        assert ((now - was) / table[X].std()).abs().max().max() < EXACT


@pytest.mark.parametrize("d", [0.0, 0.5, 0.9])
def test_the_width_of_an_interval_for_x_shrinks_as_stated(table, d):
    """1 - R²(X | S, Y) is (1 - d²) times 1 - R²(X | S), exactly: widths 1, .866025 and .435890."""
    after = masked(table, similarity=d).frame()
    for g, was in table.groupby("g"):
        s, y = terms(was), after.loc[after.g == g, X].add_suffix(" released")
        for name in X:
            alone, both = ((residuals(was[[name]], given) ** 2).sum() for given in (s, pd.concat([s, y], axis=1)))
            assert both / alone == pytest.approx(1 - d * d, abs=1e-9)


def test_at_similarity_zero_nothing_of_x_is_left_beyond_s(table):
    """Given S, neither the order nor the size of deviations is shared: the rank correlations are those of unrelated columns."""
    after = masked(table).frame()
    limit = stats.norm.isf(FALSE_ALARM / 2 / 54) * 1.05
    for g, was in table.groupby("g"):
        x, y = residuals(was[X], terms(was)), residuals(after.loc[after.g == g, X], terms(was))
        for i in range(3):
            for j in range(3):
                for f in (np.asarray, np.abs):
                    assert abs(stats.spearmanr(f(x[:, i]), f(y[:, j])).statistic) < limit / np.sqrt(len(was) - 1)


NARROW = 1 / np.sqrt(0.9 + 0.1 * 16)
SHAPES = {
    "normal": stats.norm().cdf, "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)).cdf,
    "laplace": stats.laplace(0, np.sqrt(0.5)).cdf,
    "mixture": lambda e: 0.9 * stats.norm.cdf(e / NARROW) + 0.1 * stats.norm.cdf(e / NARROW / 4),
}


@pytest.mark.parametrize("noise", SHAPES)
def test_noise_has_its_shape(noise):
    """Made orthogonal to two columns of 40,000 rows and scaled to its variance the shape stays, and is no other."""
    table = pd.DataFrame({"x": np.random.default_rng(1).gamma(2, size=40_000)})
    after = lv.mask(lv.read(table, confidential="x"), lv.masks.SufficiencyBased(noise=noise), secret=SECRET).frame().x
    e = (after - after.mean()) / after.std()
    fits = {name: stats.kstest(e, cdf).pvalue > FALSE_ALARM for name, cdf in SHAPES.items()}
    assert fits == {name: name == noise for name in SHAPES}


@pytest.mark.parametrize("similarity", [0.0, 0.7, [0.5, 0.45, 0.55]], ids=["zero", "scalar", "list"])
def test_its_law_is_the_law_of_what_it_does(table, similarity):
    data = lv.read(table, confidential=X, non_confidential=S, sub_groups=["g"])
    mask = lv.masks.SufficiencyBased(similarity=similarity)
    law = mask.law(data)
    after = lv.mask(data, mask, secret=SECRET).frame()
    assert law.confidential == tuple(X)
    for g, (_, was) in enumerate(table.groupby("g")):
        s = terms(was)[[n.replace("=", "_") if "=" in n else n for n in law.given]].to_numpy()
        here, x, sd = law.groups[g], was[X].to_numpy(), was[X].std().to_numpy()
        e = after.loc[after.g == g, X].to_numpy() - (here.intercept + x @ here.on_x.T + s @ here.on_s.T)
        assert np.abs(e.mean(axis=0) / sd).max() < 1e-9
        assert np.abs((np.cov(e.T) - here.covariance) / np.outer(sd, sd)).max() < 1e-9
        assert np.abs(np.corrcoef(e.T, np.hstack([x, s]).T)[:3, 3:]).max() < 1e-9


def test_its_law_is_not_stated_where_values_are_missing():
    assert lv.masks.SufficiencyBased().law(lv.read(people(), **ROLES)) is None


@pytest.mark.parametrize("similarity", [0.0, 0.5, 0.9])
def test_census_in_every_sub_group(census, similarity):
    codes = [f"{c} low" for c in CODED]
    for names, given in ((MASKED, []), (MASKED, ["POTHVAL", "AFNLWGT"]), ([*MASKED, *CODED, "POTHVAL", "PEARNVAL"], [])):
        data = lv.read(census, confidential=names, non_confidential=given, sub_groups=codes)
        after = lv.mask(data, lv.masks.SufficiencyBased(similarity=similarity), secret=SECRET).frame()
        for index in census.groupby(codes).groups.values():
            assert gap(census.loc[index, [*given, *names]], after.loc[index, [*given, *names]]) < EXACT
        assert gap(census[names], after[names]) < EXACT


@pytest.mark.parametrize("similarity", [0.0, 0.5])
def test_census_all_columns_at_once_keep_their_moments_and_their_identity(census, similarity):
    names = [*MASKED, *CODED, "POTHVAL", "PEARNVAL"]
    data = lv.read(census, confidential=names)
    after = lv.mask(data, lv.masks.SufficiencyBased(similarity=similarity), secret=SECRET).frame()
    assert gap(census[names], after[names]) < EXACT
    assert (after[names] - census[names]).abs().min().min() > 0
    assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-13 * census.PTOTVAL.max()


def thin_table(n: int, thin: float) -> pd.DataFrame:
    """Directions as thin as stated in S, in X and in X given S, an identity, and scales from 1e-6 to 1e9."""
    z = np.random.default_rng(4).normal(size=(7, n))
    table = pd.DataFrame({"s": 1e9 + 1e6 * z[0], "t": 2 * z[0] + thin * z[1], "a": 1e8 * (0.3 * z[0] + thin * z[2])})
    table["b"] = np.exp(z[3])
    table["c"] = table.a / 1e8 + table.b + thin * z[4]
    table["d"] = 1e-6 * (thin * z[5] - 2 * table.c)
    table["e"] = table.b * 1e3 + 7 * table.c
    return table


def check_thin(table: pd.DataFrame, after: pd.DataFrame, thin: float) -> None:
    assert gap(table, after[table.columns]) < EXACT
    was, now = (f.c - f.a / 1e8 - f.b for f in (table, after))
    assert now.std() == pytest.approx(was.std(), rel=1e-14 / thin)
    assert (after.e - after.b * 1e3 - 7 * after.c).abs().max() < 1e-9


@pytest.mark.parametrize("n", [150, 3000])
@pytest.mark.parametrize("thin", [1e-6, 1e-10])
def test_badly_scaled_collinear_columns(n, thin, monkeypatch):
    """Held whole, or over chunks: moments to rounding; Y itself to rounding over the thinnest direction.

    S nearly determines a column, which is refused otherwise.
    """
    monkeypatch.setattr("larvatus.pipeline.make_release.check_changed", lambda *asked: None)
    table = thin_table(n, thin)
    data = lv.read(table, confidential=list("abcde"), non_confidential=["s", "t"])
    for d in (0.0, 0.5):
        mask = lv.masks.SufficiencyBased(similarity=d)
        held = lv.mask(data, mask, secret=SECRET).frame()
        check_thin(table, held, thin)
        with monkeypatch.context() as patch:
            patch.setattr("larvatus.masks.sufficiency_based.LARGEST_WHOLE", 100)
            patch.setattr("larvatus.engines._memory.table.CHUNK", 64)
            cut = lv.mask(data, mask, secret=SECRET).frame()
        check_thin(table, cut, thin)
        assert ((cut - held).abs().max() / table.std()).max() < 1e-13 / thin


@pytest.fixture(scope="module")
def large() -> pd.DataFrame:
    """One sub-group that is not held whole and one that is; a thin direction, an identity, a nominal S."""
    rng, n = np.random.default_rng(31), 69_000
    z, s = rng.normal(size=(3, n)), rng.normal(size=n)
    table = pd.DataFrame({
        "g": np.repeat([0, 1], [67_000, 2000]), "s": np.where(rng.random(n) < 0.02, np.nan, s),
        "job": rng.choice(["a", "b", "c"], n), "x": np.exp(z[0] + s), "y": 1e6 * z[1],
    })
    return table.assign(w=table.x + table.y / 1e6 + 1e-8 * z[2], sum=table.x + table.y)


@pytest.mark.parametrize("similarity", [0.5, [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0.1, 0.1, 0, 0.4]]])
def test_large_groups_are_as_exact_as_held_ones_and_the_same_on_every_engine(large, similarity):
    names, given = ["x", "y", "w", "sum"], ["s", "job"]
    released = [masked(large, e, given, names, similarity=similarity).frame() for e in ("memory", "pieces")]
    for after in released:
        for g, was in large.groupby("g"):
            s = terms(was, given)
            now = after.loc[after.g == g, names]
            assert gap(pd.concat([s, was[names]], axis=1), pd.concat([s, now], axis=1)) < EXACT
            x, y = residuals(was[names], s), residuals(now, s)
            scale = np.sqrt((x * x).sum(axis=0))
            assert np.abs((y - 0.5 * x).T @ x / np.outer(scale, scale)).max() < 1e-9
        grid = 2.0**-44 * large[["sum", "x", "y"]].std().sum()  # values are released as multiples of 2⁻⁴⁴ of their spread
        assert (after["sum"] - after.x - after.y).abs().max() < grid
    assert ((released[0][names] - released[1][names]).abs().max() / large[names].std()).max() < 1e-9


def test_the_way_of_large_groups_gives_what_the_way_of_held_ones_gives(table, monkeypatch):
    held = masked(table, similarity=0.5).frame()
    monkeypatch.setattr("larvatus.masks.sufficiency_based.LARGEST_WHOLE", 700)
    mixed = masked(table, similarity=0.5)
    assert ((mixed.frame()[X] - held[X]).abs().max() / table[X].std()).max() < 1e-12
    flat = table.assign(y=np.where(table.g == 0, 5.0, table.y))
    release = masked(flat, similarity=0.5)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "y does not vary beyond what S determines in sub-group (g=0) and is released as it is"
    ]
    assert (release.frame().y[flat.g == 0] == 5.0).all()
    still = flat.assign(x=np.where(table.g == 0, 0.1, table.x), w=np.where(table.g == 0, 0.0, table.w))
    assert masked(still).frame().loc[table.g == 0, X].equals(still.loc[table.g == 0, X])
    with pytest.raises(lv.LarvatusError, match=r"sub-group \(g=0\) this similarity needs noise of negative variance"):
        masked(table.assign(y=np.where(table.g == 0, table.x + table.s, table.y)), similarity=[0.3, 0.4, 0.3])


def test_a_similarity_without_noise_is_refused_with_the_direction(table):
    """Nearly equal columns cannot be kept to different degrees: their difference would need negative variance."""
    twin = table.assign(y=table.x * 100 + 0.001 * table.w)
    with pytest.raises(lv.LarvatusError, match=(
        r"sufficiency_based: in sub-group \(g=0\) this similarity needs noise of negative variance \(-\d.*\) in the direction "
        r"(\+0\.71·x -0\.71·y|-0\.71·x \+0\.71·y|-0\.71·y \+0\.71·x|\+0\.71·y -0\.71·x) of the standardised columns"
    )):
        masked(twin, similarity=[0.2, 0.8, 0.5])
    assert masked(twin, similarity=[0.5, 0.5, 0.5]).notes


@pytest.mark.parametrize(("similarity", "said"), [
    ([0.1, 0.2], "2 values for 3 confidential columns"), ({"x": 0.1}, "no value for 'y'"),
    ([[0.5]], "needs 3 rows of 3 values"),
])
def test_settings_that_do_not_fit_the_columns(table, similarity, said):
    with pytest.raises(lv.LarvatusError, match=said):
        masked(table, similarity=similarity)


@pytest.mark.parametrize("similarity", [1.0, -0.1, [[1.5]]])
def test_settings_out_of_range(similarity):
    with pytest.raises(lv.LarvatusError, match=r"sufficiency_based\.similarity"):
        lv.mask(lv.read(pd.DataFrame({"x": [1.0, 2.0]}), confidential="x"), {
            "method": "sufficiency_based", "similarity": similarity,
        }, secret=SECRET)


def test_a_column_that_does_not_vary_in_a_sub_group_is_released_as_it_is_and_said(table):
    flat = table.assign(x=np.where(table.g == 1, 0.1, table.x), w=np.where(table.g == 2, 2 * table.s, table.w))
    release = masked(flat)
    after = release.frame()
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "x does not vary beyond what S determines in sub-group (g=1) and is released as it is",
        "w does not vary beyond what S determines in sub-group (g=2) and is released as it is",
    ]
    assert (after.x[flat.g == 1] == 0.1).all()
    for g, was in flat.groupby("g"):
        s = terms(was)
        assert gap(pd.concat([s, was[X]], axis=1), pd.concat([s, after.loc[after.g == g, X]], axis=1)) < EXACT


def test_a_sub_group_without_variation_or_without_values_passes(table):
    still = table.assign(**{n: np.where(table.g == 1, 0.1, table[n]) for n in X})
    release = masked(still)
    assert (release.frame().loc[table.g == 1, X] == 0.1).all().all()
    assert sum(n.kind == "status" for n in release.notes) == 3
    empty = table.assign(**{n: np.where(table.g == 1, np.nan, table[n]) for n in X})
    assert masked(empty).frame().loc[table.g == 1, X].isna().all().all()


def test_a_sub_group_in_which_s_determines_everything_is_refused(table):
    bound = table[["g", "s", "x"]].assign(x=np.where(table.g == 1, 3 * table.s + 1, table.x))
    with pytest.raises(lv.LarvatusError, match=r"sub-group \(g=1\) has \d+ records .* only the original values preserve"):
        masked(bound, given=["s"], names=["x"])


def test_small_sub_groups_by_size(table):
    """One S and three X: 2 residual dimensions are needed (n = 4), 6 for the similarity to be prescribed (n = 8)."""
    for size in range(2, 10):
        small = pd.concat([table[table.g == 0][:100], table[table.g == 1][:size]])
        if size < 4:
            with pytest.raises(lv.LarvatusError, match=rf"fewer than 4 usable records: \(g=1\) has {size}"):
                masked(small, given=["s"], insiders=0)
            continue
        release = masked(small, given=["s"], similarity=0.3, insiders=0)
        status = [n.text for n in release.notes if n.kind == "status"]
        assert len(status) == (size < 8)
        if status:
            assert status[0].startswith("1 sub-groups are too small for the stated similarity")
            assert status[0].endswith("g=1")
        assert f"exact in {1 + (size >= 8)} of 2 sub-groups" in [n.text for n in release.notes]
        was, now = (f.loc[f.g == 1, ["s", *X]] for f in (small, release.frame()))
        assert gap(was, now) < EXACT
        assert ((now - was)[X].abs().max() / was[X].std()).min() > 1e-3


@pytest.mark.parametrize("chosen", [(0, 1), (0, 1, 2)])
def test_chosen_records_that_leave_no_choice_are_refused(chosen):
    table = pd.DataFrame({"s": np.arange(9.0) ** 2, "x": np.sin(np.arange(9.0))})
    data = lv.read(table, confidential="x", non_confidential="s")
    with pytest.raises(lv.LarvatusError, match=rf"with where: .* has {len(chosen)} usable records, and 4 are needed"):
        lv.mask(data, lv.masks.SufficiencyBased(where=chosen, insiders=0), secret=SECRET)


@pytest.mark.parametrize("held", [1 << 16, 100], ids=["held whole", "in chunks"])
def test_columns_too_far_from_zero_are_named(table, held, monkeypatch):
    """At 2e7 standard deviations in one sub-group; at half that, and where a column is constant, nothing is said."""
    monkeypatch.setattr(import_module("larvatus.masks.sufficiency_based"), "LARGEST_WHOLE", held)
    z = (table.x - table.groupby("g").x.transform("mean")) / table.groupby("g").x.transform("std")
    moved = table.assign(x=z + np.where(table.g == 1, 2e7, 5e6), y=np.where(table.g == 0, 1e12, table.y))
    said = [n for n in masked(moved, given=["s"]).notes if "standard deviations" in n.text]
    assert [n.kind for n in said] == ["warning"]
    assert "the mean of x lies more than ten million standard deviations from zero in 1 sub-groups" in said[0].text
    assert said[0].text.endswith("Subtract a constant from it first: g=1")


def test_a_sub_group_in_which_only_two_releases_keep_the_moments_is_named(table):
    """One column, one S, four records: the residuals have two dimensions, and one is the original's own."""
    small = pd.concat([table[table.g == 0].iloc[:4], table[table.g == 1].iloc[:5]])
    data = lv.read(small, confidential=["x"], non_confidential=["s"], sub_groups=["g"])
    step = "sufficiency_based(similarity=0.5, insiders=0)"
    found = [lv.mask(data, step, secret=b"sixteen bytes and %5d" % k)
             for k in range(25)]
    said = [n for n in found[0].notes if "only two sets of values" in n.text]
    assert [(n.kind, n.text.rpartition(": ")[2]) for n in said] == [("warning", "g=0")]
    frames = [f.frame() for f in found]
    assert len({tuple(f.x[f.g == 0].round(6)) for f in frames}) == 2
    assert len({tuple(f.x[f.g == 1].round(6)) for f in frames}) == len(frames)
    both = lv.read(small, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"])
    notes = lv.mask(both, "sufficiency_based(insiders=0)", secret=SECRET).notes
    assert not [n for n in notes if "only two sets of values" in n.text]


def patchy(table: pd.DataFrame, rare: int) -> pd.DataFrame:
    """x missing for a fifth, y for a few records of sub-group 2 and more of others; all of X missing for some."""
    rng = np.random.default_rng(7)
    out = table.copy()
    out.loc[rng.random(N) < 0.2, "x"] = np.nan
    whole = out.index[out.x.notna()]
    out.loc[np.r_[whole[out.g[whole] == 2][:rare], whole[out.g[whole] == 1][:90]], "y"] = np.nan
    out.loc[out.index[out.y.notna()][:40], X] = np.nan
    return out


def by_pattern(table: pd.DataFrame, pooled: set[tuple] = frozenset()) -> list[pd.Index]:
    pattern = table[X].isna().apply(tuple, axis=1)
    level = [-1 if p in pooled else g for p, g in zip(pattern, table.g, strict=True)]
    return list(table.groupby([pattern, level]).groups.values())


@pytest.mark.parametrize("rare", [0, 60])
def test_records_with_the_same_missing_columns_keep_their_moments(table, rare):
    frame = patchy(table, rare)
    release = masked(frame, given=["s", "job"], similarity=0.5)
    after = release.frame()
    assert after[X].isna().equals(frame[X].isna())
    for index in by_pattern(frame):
        there = [n for n in X if frame.loc[index, n].notna().all()]
        s = terms(frame.loc[index], ["s", "job"])
        if there:
            one, other = (pd.concat([s, f.loc[index, there]], axis=1) for f in (frame, after))
            assert gap(one, other) < EXACT
            assert (one[there] - other[there]).abs().max().min() > 0


def test_a_rare_pattern_is_refused_pooled_or_left_out(table):
    frame = patchy(table, 3)
    roles = {"confidential": X, "non_confidential": ["s", "job"]}
    rare = frame.y.isna() & frame.x.notna() & (frame.g == 2)
    assert rare.sum() == 3

    def run(small: str, **settings) -> lv.Release:
        data = lv.read(frame, **roles, sub_groups=lv.SubGroups(columns=("g",), small=small))
        return lv.mask(data, lv.masks.SufficiencyBased(similarity=0.5, insiders=0, **settings), secret=SECRET)

    with pytest.raises(lv.LarvatusError, match=r"fewer than 6 usable records: \(missing=y, g=2\) has 3"):
        run("refuse")
    pooled = run("pool").frame()
    for index in by_pattern(frame, {(False, True, False)}):
        there = [n for n in X if frame.loc[index, n].notna().all()]
        assert not there or gap(frame.loc[index, there], pooled.loc[index, there]) < EXACT
    release = run("suppress")
    after = release.frame()
    assert after.index.equals(frame.index[~rare])
    assert "3 records with a rare pattern of missing values are left out of the release" in [n.text for n in release.notes]
    chosen = run("suppress", where="s > -9").frame()
    assert len(chosen) == N - 3
    assert chosen[X].isna().equals(frame.loc[chosen.index, X].isna())


def test_steps_after_one_that_left_a_sub_group_out_keep_to_their_sub_groups(table):
    """Sub-group 0 has values enough but only rare patterns; what follows must not take it for sub-group 1."""
    few = pd.concat([table[table.g == 0][:10], table[table.g > 0]]).reset_index(drop=True)
    few.loc[few.index[:4], "x"] = np.nan
    few.loc[few.index[4:8], "y"] = np.nan
    data = lv.read(few, confidential=X, non_confidential=["s", "job"],
                   sub_groups=lv.SubGroups(columns=("g",), small="suppress"))
    after = lv.mask(data, lv.masks.SufficiencyBased(), lv.masks.ReverseMap(), secret=SECRET).frame()
    assert set(after.g) == {1, 2}
    for g in (1, 2):
        for name in X:
            assert sorted(after.loc[after.g == g, name]) == sorted(few.loc[few.g == g, name])


def test_chosen_records_keep_their_moments_and_the_file_scope_those_of_the_file(table):
    chosen = table.s > 0.3
    after = masked(table, given=["s", "job"], where="s > 0.3", similarity=0.4).frame()
    assert after.loc[~chosen, X].equals(table.loc[~chosen, X])
    for g in range(3):
        inside = chosen & (table.g == g)
        s = terms(table[inside], ["s", "job"])
        assert gap(pd.concat([s, table.loc[inside, X]], axis=1), pd.concat([s, after.loc[inside, X]], axis=1)) < EXACT
    after = masked(table, given=["job"], scope="file").frame()
    s = terms(table, ["job"])
    assert gap(pd.concat([s, table[X]], axis=1), pd.concat([s, after[X]], axis=1)) < EXACT
    one = table.g == 0
    assert gap(table.loc[one, X], after.loc[one, X]) > 1e-3


@pytest.mark.parametrize("similarity", [0.3, [0.3, 0.3, 0.3001]], ids=["one similarity", "three"])
@pytest.mark.parametrize("given", [["s", "job"], ["t"]], ids=["S", "S with missing values"])
def test_many_small_sub_groups_are_as_exact_as_few_and_the_same_on_every_engine(table, similarity, given):
    many = table.assign(g=np.arange(N) % 97)
    first = np.arange(N)  # in every sub-group five records without t, and at least five of every job
    many["t"] = np.where(first < 97 * 5, np.nan, many.t.fillna(1e5))
    many["job"] = np.where(first < 97 * 15, np.array(["full", "none", "part"])[first // 97 % 3], many.job)
    after = masked(many, given=given, similarity=similarity).frame()
    other = masked(many, engine="pieces", given=given, similarity=similarity).frame()
    assert np.array_equal(after[X], other[X])
    for g, was in many.groupby("g"):
        s = terms(was, given)
        assert gap(pd.concat([s, was[X]], axis=1), pd.concat([s, after.loc[after.g == g, X]], axis=1)) < EXACT


def test_two_secrets_and_two_settings_share_no_noise(table):
    data = lv.read(table, confidential=["w"], sub_groups=["g"])
    one = lv.mask(data, "sufficiency_based", secret=SECRET).frame().w
    limit = stats.norm.isf(FALSE_ALARM / 4) / np.sqrt(N) * 1.05
    for mask, secret in (("sufficiency_based", SECRET[::-1]), ("sufficiency_based(similarity=0.1)", SECRET)):
        other = lv.mask(data, mask, secret=secret).frame().w
        inside = [v - v.groupby(table.g).transform("mean") for v in (one, other - 0.1 * table.w * ("similarity" in mask))]
        assert abs(np.corrcoef(*inside)[0, 1]) < limit
