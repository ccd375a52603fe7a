"""The linear mask with the least loss: its closed form against a general optimiser, its information, and what it links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import larvatus as lv
from larvatus.core.errors import StudyError
from larvatus.stats.linear.fit_on_s import FitOnS
from larvatus.stats.linear.least_loss import (
    directions_of,
    information_in,
    least_loss_matrix,
    least_loss_similarities,
    loss_of,
)
from larvatus.stats.linkage_law.equal_correlations import rivals
from larvatus.stats.linkage_law.link_probability import link_probability
from sample import SECRET


def covariance(p: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(p, p))
    c = a @ a.T + 0.2 * np.eye(p)
    return c / np.sqrt(np.outer(np.diag(c), np.diag(c)))


@pytest.mark.parametrize("domains", [0.0, 1.5])
@pytest.mark.parametrize(("p", "bits"), [(2, 0.5), (2, 3.0), (3, 1.5)])
def test_no_matrix_loses_less_for_the_same_information(p, bits, domains):
    """A general optimiser over all p² entries of B, from several starts, comes to the same loss and to no lower one."""
    root = np.linalg.cholesky(covariance(p, 10 * p))
    m = root.T @ root
    worst = np.trace(m) * (2 + domains)

    def loss(flat: np.ndarray) -> float:
        away = np.eye(p) - flat.reshape(p, p)
        return float((2 * np.trace(m @ away) + domains * np.trace(m @ away @ away.T)) / worst)

    def room(flat: np.ndarray) -> float:
        b = flat.reshape(p, p)
        left = np.linalg.eigvalsh(np.eye(p) - b @ b.T)
        return float(bits + 0.5 * np.log2(left).sum()) if left[0] > 0 else float(10 * left[0] - 10)

    best, weights = least_loss_matrix(root, bits, domains), directions_of(root)[0]
    assert information_in(best[1]) == pytest.approx(bits, abs=1e-9)
    mine = loss_of(best[1], weights, domains)
    inside = np.linalg.solve(root, best[0] @ root)
    assert loss(inside.ravel()) == pytest.approx(mine, abs=1e-9)
    draws = np.random.default_rng(1)
    found = [minimize(loss, (0.3 * np.eye(p) + 0.1 * draws.normal(size=(p, p))).ravel(), method="SLSQP",
                      constraints=[{"type": "ineq", "fun": room}], options={"maxiter": 300, "ftol": 1e-12}) for _ in range(3)]
    reached = [f.fun for f in found if room(f.x) > -1e-7]
    assert reached
    assert min(reached) >= mine - 1e-6
    assert min(reached) == pytest.approx(mine, abs=1e-4)


def test_nothing_is_kept_at_no_bits_and_all_directions_are_alike_if_columns_are():
    assert (least_loss_similarities(np.array([1.0, 2.0]), 0.0) == 0).all()
    b = least_loss_similarities(np.ones(4), 2.0)
    assert b == pytest.approx(np.full(4, np.sqrt(0.5)), abs=1e-9)


def test_shared_directions_are_kept_most():
    b = least_loss_similarities(np.array([0.1, 1.0, 3.0]), 2.0)
    assert b[0] < b[1] < b[2]


def test_the_stated_law_is_that_of_pooled_categories(monkeypatch):
    """Two categories of S with one or two records are pooled by the mask: its matrices are those that the law states."""
    draws = np.random.default_rng(3)
    s = np.array(["r", "q", "q"] + ["u", "v"] * 30)
    a = draws.normal(size=63) + np.where(s == "q", 5.0, 0.0)
    frame = pd.DataFrame({"g": 1, "s": s, "a": a, "b": a + draws.exponential(size=63) + np.where(s == "r", 9.0, 0.0)})
    data = lv.read(frame, confidential=["a", "b"], non_confidential=["s"], sub_groups=lv.SubGroups(columns=["g"], small="pool"))
    used, weights_of = [], FitOnS.noise_weights

    def watched(fit: FitOnS, beta: np.ndarray) -> np.ndarray:
        used.append((beta, weights_of(fit, beta) * fit.scale[-2:]))
        return weights_of(fit, beta)

    monkeypatch.setattr(FitOnS, "noise_weights", watched)
    release = lv.mask(data, "least_loss_model(bits=1.0)", secret=SECRET)
    beta, root = used[-1]
    law = release.steps[0].law(data).groups[0]
    assert law.on_x == pytest.approx(beta, abs=1e-9)
    assert law.covariance == pytest.approx(root.T @ root, abs=1e-9)


def normal_file(n: int, seed: int) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    x = draws.multivariate_normal(np.zeros(3), 0.6 * np.ones((3, 3)) + 0.4 * np.eye(3), n)
    return pd.DataFrame(x, columns=list("abc"))


def test_the_covariance_of_the_release_is_that_of_the_file_and_the_error_is_the_least():
    """Noise with another shape tells as much and errs more: 6,000 records, beyond six standard errors."""
    frame = normal_file(6000, 2)
    data = lv.read(frame, confidential=list("abc"))
    best = lv.mask(data, "least_loss_model(bits=2)", secret=SECRET).to_pandas()[list("abc")]
    same = lv.mask(data, f"linear_model(similarity={np.sqrt(1 - 2 ** (-4 / 3))})", secret=SECRET).to_pandas()[list("abc")]
    assert np.abs(np.cov(best.T) - np.cov(frame.T)).max() < 6 * 1.5 / np.sqrt(6000)
    gain = ((same - frame) ** 2).sum(axis=1) - ((best - frame) ** 2).sum(axis=1)
    assert gain.mean() > 6 * gain.std() / np.sqrt(len(gain))


def test_constant_and_collinear_columns():
    frame = normal_file(300, 3).assign(d=5.0)
    frame["e"] = frame["a"] - 2 * frame["b"]
    data = lv.read(frame, confidential=list("abcde"))
    out = lv.mask(data, "least_loss_model(bits=1)", secret=SECRET).to_pandas()
    assert (out["d"] == 5).all()
    assert np.abs(out["e"] - (out["a"] - 2 * out["b"])).max() < 1e-6
    assert np.abs(out["a"] - frame["a"]).max() > 0.5


def test_the_forecast_is_what_the_attack_that_knows_the_law_links(monkeypatch):
    """On normal files, over 20 of them: within max(1 point, 3 standard errors)."""
    monkeypatch.setattr("larvatus.certificates.linear_frontier._BITS", (0.0, 2.0))
    shares, forecasts = [], []
    for seed in range(20):
        data = lv.read(normal_file(200, seed), confidential=list("abc"))
        release = lv.mask(data, "least_loss_model(bits=2)", secret=SECRET + bytes([seed]))
        shares.append(lv.risk(data, release, "posterior_match")[0].value)
        if seed < 2:
            forecasts.append(lv.linear_frontier(data).points[1].links)
    assert abs(np.mean(shares) - np.mean(forecasts)) <= max(0.01, 3 * np.std(shares, ddof=1) / np.sqrt(20))


def test_the_chosen_mask_meets_the_limit_and_can_be_run(monkeypatch):
    monkeypatch.setattr("larvatus.certificates.linear_frontier._BITS", (0.0, 0.5, 1.0, 2.0, 6.0, 12.0))
    frame = normal_file(300, 5)
    frame["g"] = np.where(np.arange(300) < 100, "u", "v")
    data = lv.read(frame, confidential=list("abc"), sub_groups=["g"])
    frontier = lv.linear_frontier(data, links=0.04, domains=1.0)
    assert 0.03 <= frontier.chosen.links <= 0.04
    assert [p.loss for p in frontier.points] == sorted([p.loss for p in frontier.points], reverse=True)
    assert [p.links for p in frontier.points] == sorted(p.links for p in frontier.points)
    assert all(p.loss <= p.same_loss + 1e-12 for p in frontier.points)
    release = lv.mask(data, frontier.step, secret=SECRET)
    assert release.steps[0].bits == frontier.chosen.bits
    assert lv.certify(data, release).normal_law == pytest.approx(frontier.chosen.links, abs=0.004)
    assert "least loss" in frontier.plot()._repr_svg_()


def test_the_step_has_all_digits_of_the_chosen_bits():
    """Ten bits or more were stated with two decimals: a mask with more bits than the one that meets the limit."""
    draws = np.random.default_rng(6)
    data = lv.read(pd.DataFrame(draws.normal(size=(4000, 3)), columns=list("abc")), confidential=list("abc"))
    frontier = lv.linear_frontier(data, links=0.6)
    assert frontier.chosen.bits > 10
    assert frontier.step == f"least_loss_model(bits={frontier.chosen.bits!r})"


def test_the_least_loss_for_its_bits_is_not_always_the_least_for_its_links():
    """The science page states this limit: one direction alone links as many of 100 candidates, and loses less."""
    m, candidates = np.array([1.9, 0.1]), np.array([100.0])
    chosen, other = least_loss_similarities(m, 1.014, 0.0), np.array([0.899, 0.0])
    links = link_probability(chosen, candidates)
    assert rivals(other[0], 1).link_probability(candidates)[0] < links.value[0] + 5 * links.standard_error[0]
    assert loss_of(other, m, 0.0) < 0.9 * loss_of(chosen, m, 0.0)


@pytest.mark.parametrize(("settings", "said"), [
    ({"links": 1.5}, "links: must be between 0 and 1"), ({"domains": -1}, "domains: must be 0"),
    ({"links": 0.001}, "S alone links"),
])
def test_what_cannot_be_met_is_refused(settings, said):
    with pytest.raises(StudyError, match=said):
        lv.linear_frontier(lv.read(normal_file(100, 1), confidential=list("abc")), **settings)


def test_missing_values_and_categories_are_refused():
    frame = normal_file(60, 1)
    frame.loc[3, "a"] = np.nan
    with pytest.raises(StudyError, match="missing values"):
        lv.linear_frontier(lv.read(frame, confidential=list("abc")))
    frame["k"] = np.where(np.arange(60) % 2, "x", "y")
    with pytest.raises(StudyError, match="k: is not numeric"):
        lv.linear_frontier(lv.read(frame, confidential=["b", "k"]))


def test_on_the_command_line(tmp_path, capsys):
    import json

    from larvatus.cli.main import main

    normal_file(150, 4).to_csv(tmp_path / "people.csv", index=False)
    drawn = tmp_path / "curve.svg"
    command = ["linear-frontier", str(tmp_path / "people.csv"), "--confidential", "a,b,c", "--links", "0.05"]
    assert main([*command, "--plot", str(drawn), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["step"].startswith("least_loss_model(bits=")
    assert said["chosen"]["links"] <= 0.05
    assert drawn.read_text(encoding="utf-8").startswith("<svg")
