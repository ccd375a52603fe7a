"""Which releases have a differential privacy, what it covers, and that the mask does what it states."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import StudyError
from larvatus.data.certificate import Certificates
from larvatus.data.privacy.privacy_loss import PrivacyStatement, joint_statement
from larvatus.pipeline.budgets.privacy_statements import statement_of
from sample import SECRET

FALSE_ALARM = 1e-6
BOUNDS = "bounds={income = [0, 100], wealth = [-50, 50]}"
LAPLACE = f"additive_noise(noise='laplace', scale={{income = 20.0, wealth = 50.0}}, {BOUNDS})"
NORMAL = f"additive_noise(noise='normal', scale=100.0, {BOUNDS})"
MATRIX = "post_randomisation(invariant=false, matrix={job = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]})"


def people(n: int = 300) -> pd.DataFrame:
    draws = np.random.default_rng(4)
    return pd.DataFrame({"income": np.exp(draws.normal(3, 1, n)), "wealth": draws.normal(0, 30, n),
                         "job": draws.choice(list("abc"), n), "g": draws.choice(list("mn"), n)})


def numbers(frame: pd.DataFrame | None = None) -> lv.Microdata:
    return lv.read(people() if frame is None else frame, confidential=["income", "wealth"], sub_groups=["g"])


def of(data: lv.Microdata, *steps: str, **settings) -> PrivacyStatement:
    return statement_of(data, lv.mask(data, list(steps), secret=SECRET, **settings))


def test_losses_add_up_over_columns():
    found = of(numbers(), LAPLACE)
    assert [c.epsilon for c in found.columns] == pytest.approx([100 * math.sqrt(2) / 20, 100 * math.sqrt(2) / 50])
    assert found.epsilon == pytest.approx(7 * math.sqrt(2))
    normal = of(numbers(), NORMAL)
    assert normal.epsilon == math.inf
    assert normal.rho == pytest.approx(2 * 100**2 / (2 * 100**2))
    assert normal.epsilon_at(1e-6) < normal.rho + 2 * math.sqrt(normal.rho * math.log(1e6))


def test_categories_and_a_sequence_of_releases():
    data = lv.read(people(), confidential=["job"])
    one = of(data, MATRIX)
    assert one.epsilon == pytest.approx(math.log(3))
    twice = joint_statement([one, one])
    assert twice.epsilon == pytest.approx(2 * math.log(3))
    assert twice.rho == pytest.approx(math.log(3) ** 2)
    assert not joint_statement([one, PrivacyStatement(reason="none")])
    releases = [(data, lv.mask(data, MATRIX, secret=SECRET + bytes([k]))) for k in range(2)]
    assert lv.budget(releases, key=SECRET).privacy.epsilon == pytest.approx(2 * math.log(3))
    mixed = lv.read(people(), confidential=["income", "wealth", "job"])
    both = of(mixed, LAPLACE.replace("additive_noise(", "additive_noise(columns=['income', 'wealth'], "),
              MATRIX.replace("post_randomisation(", "post_randomisation(columns=['job'], "))
    assert both.epsilon == pytest.approx(7 * math.sqrt(2) + math.log(3))


def test_rounding_afterwards_changes_nothing():
    assert of(numbers(), LAPLACE, "rounding(base=1)").epsilon == of(numbers(), LAPLACE).epsilon


@pytest.mark.parametrize(("step", "reason"), [
    ("additive_noise", "a fraction of that of the column, so it depends on the data"),
    ("additive_noise(noise='laplace', scale=3.0)", "no bounds are stated for income"),
    ("additive_noise(noise='laplace', scale=3.0, bounds={income = [0, 100]})", "no bounds are stated for wealth"),
    (f"additive_noise(noise='laplace', {BOUNDS})", "depends on the data"),
    (f"additive_noise(noise='uniform', scale=3.0, {BOUNDS})", "uniform noise has no ε"),
    (f"additive_noise(noise='mixture', scale=3.0, {BOUNDS})", "mixture noise has no ε"),
    (LAPLACE.replace("noise=", "zeros='keep', noise="), "zeros are released as they are"),
    (LAPLACE.replace("noise=", "where='income > 3', noise="), "some records only"),
    ("data_shuffling", "not a mechanism with a known ε"),
    ("rank_swap", "not a mechanism with a known ε"),
    ("sufficiency_based(similarity=0.5)", "not a mechanism with a known ε"),
    ("correlated_noise", "not a mechanism with a known ε"),
])
def test_masks_without_one_say_so(step, reason):
    found = of(numbers(), step)
    assert not found
    assert reason in found.reason
    assert "none" in found.sentence()
    assert found.epsilon == math.inf


@pytest.mark.parametrize(("step", "reason"), [
    ("post_randomisation", "invariant = true"),
    ("post_randomisation(stay=0.5, invariant=false)", "no matrix is stated for job"),
    (MATRIX.replace("invariant=false", "invariant=true"), "invariant = true"),
    (MATRIX.replace("[0.6, 0.2, 0.2]", "[1.0, 0.0, 0.0]", 1).replace("[0.2, 0.6, 0.2]", "[0.0, 0.5, 0.5]", 1), "only for some"),
])
def test_randomised_response_needs_a_stated_matrix(step, reason):
    data = lv.read(people(), confidential=["job"])
    assert reason in of(data, step).reason


def test_few_records_have_no_statement_because_a_draw_without_change_is_refused():
    few = lv.read(people(20), confidential=["job"])
    assert "with 20 records" in of(few, MATRIX).reason


def test_rounding_that_may_give_every_value_back_leaves_no_statement():
    """Three values, which no release gives back: a neighbour is released as these values in 28 of 400 draws, so no ε holds."""
    noise = "additive_noise(noise='laplace', scale=900.0, bounds={a = [0, 5000]})"
    few, many = (lv.read(pd.DataFrame({"a": [1000.0, 2000, 3000] * k}), confidential=["a"]) for k in (1, 100))
    assert of(few, noise).epsilon == pytest.approx(5000 * math.sqrt(2) / 900)
    assert "too likely in a after rounding" in of(few, noise, "rounding(base=1000.0)").reason
    assert of(many, noise, "rounding(base=1000.0)").epsilon == of(few, noise).epsilon
    whole, fine = {"integers": ["a"]}, noise.replace("900.0", "0.5")
    stated = lv.certify(few, lv.mask(few, fine, constraints=whole, secret=SECRET)).privacy
    assert "too likely in a after rounding" in stated.reason
    assert lv.certify(many, lv.mask(many, fine, constraints=whole, secret=SECRET)).privacy.epsilon == of(many, fine).epsilon


def test_roundings_add_up():
    """Two roundings give a zero back if the noise is below the mean of both bases: 11 of 2,000 draws were refused."""
    noise = "additive_noise(noise='laplace', scale=0.4, bounds={a = [0, 2]})"
    data = lv.read(pd.DataFrame({"a": np.eye(1, 1000)[0] * 2}), confidential=["a"])
    assert of(data, noise, "rounding(base=2.0)").epsilon == pytest.approx(2 * math.sqrt(2) / 0.4)
    assert "too likely in a after rounding" in of(data, noise, "rounding(base=0.999)", "rounding(base=2.0)").reason


def test_codes_that_give_values_back_leave_no_statement():
    """Two values, and codes for all others: half of the noise gives each value back. 5 of 7,248 draws were refused."""
    noise = "additive_noise(noise='laplace', scale=68.0, bounds={a = [0, 10]})"
    a = [0.0, 10.0] * 6
    coded = lv.read(pd.DataFrame({"a": [*a, -9.0, 99.0]}), confidential=["a"], missing={"a": [(-1e6, -1.0), (11.0, 1e6)]})
    plain = lv.read(pd.DataFrame({"a": a}), confidential=["a"])
    one = lv.read(pd.DataFrame({"a": [*a, -99.0]}), confidential=["a"], missing={"a": [-99.0]})
    assert "too likely in a with its codes of missing values" in of(coded, noise, "rounding(base=10.0)").reason
    assert "with its codes" in of(one, noise, "rounding(base=10.0)").reason
    for found in (of(plain, noise, "rounding(base=10.0)"), of(one, noise)):
        assert found.epsilon == pytest.approx(10 * math.sqrt(2) / 68)


def test_persons_and_keys_that_are_masked_by_confidential_values_leave_no_statement():
    """A person's values are masked once if they are equal, and one by one if one of them differs."""
    frame = people().assign(k=np.arange(300) % 7 * 1.0, who=np.repeat([f"p{i}" for i in range(100)], 3))
    keyed = lv.read(frame, confidential=["income", "wealth"], key=["k"])
    noise = LAPLACE.replace("additive_noise(", "additive_noise(columns=['income', 'wealth'], ")
    assert of(keyed, "additive_noise(columns=['k'])", noise).epsilon == pytest.approx(7 * math.sqrt(2))
    by_income = ["additive_noise(columns=['k'], where='income > 30')", noise]
    assert "keys of some records only" in of(keyed, *by_income).reason
    assert "keys of some records only" in lv.certify(keyed, by_income).privacy.reason
    persons = lv.read(frame, confidential=["income", "wealth"], person="who")
    assert "records of a person" in of(persons, LAPLACE).reason


def test_rules_copies_reverse_mapping_and_columns_left_out():
    data = numbers()
    assert "rules changed" in of(data, LAPLACE, constraints=["income >= 0"]).reason
    assert "reverse_map" in of(data, LAPLACE, "reverse_map").reason
    part = LAPLACE.replace("scale={income = 20.0, wealth = 50.0}", "columns=['income'], scale=20.0").replace(
        ", wealth = [-50, 50]", "")
    assert of(data, part, "data_shuffling(columns=['wealth'])").reason.startswith("data_shuffling")
    elsewhere = lv.mask(data, LAPLACE).frame()
    assert not lv.certify(data, elsewhere).privacy


def test_the_noise_is_what_is_stated_whatever_the_data():
    """One value of 10 million in a file of 4,000: the noise of the others has the stated law (false alarm 1e-6)."""
    frame = people(4000)
    frame.loc[0, "income"] = 1e7
    release = lv.mask(numbers(frame), LAPLACE, secret=SECRET).frame()
    clipped = frame[["income", "wealth"]].clip([0, -50], [100, 50], axis=1)
    for name, sd in (("income", 20.0), ("wealth", 50.0)):
        noise = (release[name] - clipped[name]).to_numpy()
        assert stats.kstest(noise, stats.laplace(scale=sd / math.sqrt(2)).cdf).pvalue > FALSE_ALARM
    assert release.loc[0, "income"] < 1000  # moved to the bound before the noise


def test_a_constant_column_gets_its_noise_too():
    frame = people().assign(income=50.0)
    release = lv.mask(numbers(frame), LAPLACE, secret=SECRET).frame()
    assert release["income"].std() > 10


def test_the_worst_ratio_of_released_counts_is_within_epsilon():
    """Empirical: P(released level | level) of 30,000 records, all pairs of levels; false alarm 1e-6 over 6 ratios."""
    n = 30_000
    codes = np.random.default_rng(1).integers(0, 3, n)
    data = lv.read(pd.DataFrame({"job": np.array(list("abc"))[codes]}), confidential=["job"])
    release = lv.mask(data, MATRIX, secret=SECRET).frame()["job"].to_numpy()
    epsilon = of(data, MATRIX).epsilon
    shares = np.array([[np.mean(release[codes == k] == level) for level in "abc"] for k in range(3)])
    error = stats.norm.isf(FALSE_ALARM / 6) * np.sqrt(0.25 / (n / 3.2)) / 0.2
    assert abs(np.log(shares.max(axis=0) / shares.min(axis=0)).max() - epsilon) < 2 * error


def test_streams_of_earlier_settings_are_unchanged():
    """New fields that are not used do not enter the keys of random streams."""
    from larvatus.data.method_parsing import all_of, canonical

    assert "scale" not in canonical(all_of(lv.Mask, ["additive_noise"]))
    assert "scale" in canonical(all_of(lv.Mask, ["additive_noise(scale=2.0)"]))


def test_bounds_and_scales_are_checked():
    with pytest.raises(StudyError, match="the first must be below the second"):
        lv.mask(numbers(), "additive_noise(scale=1.0, bounds={income = [3, 2]})")
    with pytest.raises(lv.LarvatusError, match="not a column of this step"):
        lv.mask(numbers(), "additive_noise(scale=1.0, bounds={incom = [0, 2]})")


def test_laws_are_stated_only_if_no_value_was_moved():
    """Certificates and attacks use the law; it is that of the noise if all values are inside the bounds."""
    data = numbers()
    moved = "additive_noise(scale=300.0, bounds={income = [0, 10]})"
    inside = "additive_noise(scale=300.0, bounds={income = [0, 10000]})"
    assert lv.certify(data, moved).single_target.proof == "equal released rows"
    found = lv.certify(data, inside).single_target
    plain = lv.certify(data, "additive_noise(scale=300.0)").single_target
    assert found.expected == plain.expected < 0.2


def test_it_is_shown(tmp_path, capsys):
    people().to_csv(tmp_path / "people.csv", index=False)
    roles = ["--confidential", "income,wealth", "--sub-groups", "g"]
    assert main(["certify", str(tmp_path / "people.csv"), *roles, "--step", LAPLACE]) == 0
    assert "Differential privacy: ε = 9.9 " in capsys.readouterr().out
    assert main(["certify", str(tmp_path / "people.csv"), *roles, "--step", "data_shuffling", "--json"]) == 0
    stored = json.loads(capsys.readouterr().out)
    assert "known ε" in Certificates.from_plain(stored).privacy.reason
    assert main(["mask", str(tmp_path / "people.csv"), *roles, "--step", LAPLACE, "-o", str(tmp_path / "out.csv")]) == 0
    public = json.loads((tmp_path / "out.manifest.json").read_text())["differential_privacy"]
    assert public["epsilon"] == pytest.approx(7 * math.sqrt(2))
    assert "one record" in public["neighbours"]
    assert any("floating-point" in said for said in public["not_covered"])
    assert any("unmasked columns" in said for said in public["not_covered"])
    assert PrivacyStatement.from_plain(public).epsilon == pytest.approx(public["epsilon"])
    assert main(["mask", str(tmp_path / "people.csv"), *roles, "--step", "additive_noise", "-o", str(tmp_path / "no.csv")]) == 0
    assert "differential_privacy" not in json.loads((tmp_path / "no.manifest.json").read_text())
    assert "depends on the data" in json.loads((tmp_path / "no.internal.json").read_text())["differential_privacy"]["reason"]
    capsys.readouterr()
    for method, said in (("additive_noise", "scale and bounds stated"), ("post_randomisation", "invariant = false"),
                         ("data_shuffling", "none, with any settings")):
        assert main(["describe", method]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "Differential privacy: " in out
        assert said in out
