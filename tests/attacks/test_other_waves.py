"""An intruder with releases of two waves: joined by person, with partial overlap and other values of S."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of
from larvatus.core.errors import PairingError, RolesError
from larvatus.data.pairings.persons import persons_of_records

X = ["a", "b", "c"]
ROLES = {"confidential": X, "non_confidential": ["age"], "person": "pid"}
N, COMMON = 400, 320


def waves() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two waves with 80 % of the persons in common, a year apart, the second in another order."""
    rng = np.random.default_rng(5)
    x = rng.multivariate_normal([5, 5, 5], [[1, 0.4, 0.2], [0.4, 1, 0.3], [0.2, 0.3, 1]], N)
    first = pd.DataFrame({"pid": np.arange(1000, 1000 + N), "age": rng.integers(20, 60, N), **dict(zip(X, x.T, strict=True))})
    stay = rng.permutation(N)[:COMMON]
    second = first.iloc[stay].assign(age=first.age.iloc[stay] + 1)
    second[X] += rng.normal(0, 0.1, (COMMON, 3))
    new = pd.DataFrame({"pid": np.arange(5000, 5080), "age": rng.integers(20, 60, 80)}).assign(
        **dict(zip(X, rng.normal(5, 1, (3, 80)), strict=True)))
    return first, pd.concat([second, new]).sample(frac=1, random_state=1).reset_index(drop=True)


FIRST, SECOND = waves()


def released(table: pd.DataFrame, secret: bytes, engine: str = "memory", **roles) -> tuple[lv.Microdata, lv.Release]:
    data = lv.read(table, **{**ROLES, **roles}, engine=engine_of(engine))
    return data, lv.mask(data, "additive_noise(variance=0.1)", secret=secret * 32, name=f"wave {secret.decode()}")


@pytest.fixture(scope="module")
def first() -> tuple[lv.Microdata, lv.Release]:
    return released(FIRST, b"1")


@pytest.fixture(scope="module")
def second() -> lv.Release:
    return released(SECOND, b"2")[1]


def figures(scores: lv.Scores) -> list:
    return [{**s.plain(), "notes": []} for s in scores]


@pytest.mark.slow
def test_no_attack_finds_less_with_a_second_wave(first, second):
    data, one = first
    alone, both = lv.risk(data, one), lv.risk(data, one, other_releases=[second])
    assert [s.method for s in alone] == [s.method for s in both]
    for a, b in zip(alone, both, strict=True):
        assert b.value >= a.value
        assert any(f"{COMMON} of {N} records have a partner" in n for n in b.notes)


@pytest.mark.parametrize("method", ["nearest_record", "optimal_assignment", "value_disclosure", "rank_disclosure"])
def test_a_second_wave_tells_more(first, second, method):
    data, one = first
    alone, both = lv.risk(data, one, [method])[0], lv.risk(data, one, [method], other_releases=[second])[0]
    assert both.value > alone.value
    assert any(f"{COMMON} of {N} records have a partner" in n for n in both.notes)


def test_records_without_a_partner_get_nothing_from_the_other_wave(first, second):
    """In the joined release they have their own released values again; the others have those of their partner."""
    from larvatus.attacks.linkage.joined_releases import joined_with
    from larvatus.data.microdata import collect
    from larvatus.data.pairings.other_waves import as_other_release

    data, one = first
    _, joined = joined_with(data, one, [as_other_release(data, second)])
    record, _, values = collect(joined.data, [*X, *(f"{n} in wave 2" for n in X)])
    place = {p: i for i, p in enumerate(SECOND.pid)}
    theirs = second.frame()
    for name in X:
        for r, own, other in zip(record, values[name], values[f"{name} in wave 2"], strict=True):
            at = place.get(FIRST.pid[r])
            assert other == (own if at is None else theirs[name][at])


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_are_joined_by_a_person_column_or_by_their_pairing_file(first, second, tmp_path, form, engine):
    data, one = first if engine == "memory" else released(FIRST, b"1", engine)
    wanted = lv.risk(data, one, ["nearest_record"], other_releases=[second])[0].value
    target, pairing = tmp_path / f"wave 2.{form}", tmp_path / f"pairing.{form}"
    second.write(target, pairing=pairing)
    found = lv.risk(data, one, ["nearest_record"], other_releases=[target], other_pairings=[pairing])[0]
    assert found.value == wanted
    table = second.frame().assign(pid=SECOND.pid)
    getattr(table, f"to_{form}")(tmp_path / f"with persons.{form}", index=False)
    assert lv.risk(data, one, ["nearest_record"], other_releases=[tmp_path / f"with persons.{form}"])[0].value == wanted


def test_a_pairing_file_with_persons_still_pairs_its_own_release(first, tmp_path):
    data, one = first
    one.write(tmp_path / "one.csv", pairing=tmp_path / "pairing.csv")
    read = lv.risk(data, tmp_path / "one.csv", ["nearest_record"], pairing=tmp_path / "pairing.csv")[0]
    assert read.value == lv.risk(data, replace(one, steps=()), ["nearest_record"])[0].value


@pytest.mark.parametrize("as_file", [False, True])
def test_another_release_of_the_same_records_gives_the_figures_it_gave_without_persons(as_file):
    """The records are the same, so joining by person changes nothing, to the last bit."""
    found = []
    for person in (None, "pid"):
        data, one = released(FIRST, b"1", person=person)
        other = lv.mask(data, "additive_noise(variance=0.1)", secret=b"3" * 32, name="again")
        table = other.frame() if person is None else other.frame().assign(pid=FIRST.pid)
        given = table if as_file else other
        found.append(figures(lv.risk(data, one, ["nearest_record", "optimal_assignment", "value_disclosure"],
                                     other_releases=[given])))
    assert found[0] == found[1]


def test_declaring_persons_and_households_changes_no_released_value():
    table = FIRST.assign(home=FIRST.pid // 3)
    plain = released(table, b"1", person=None)[1].frame()
    assert released(table, b"1", household="home")[1].frame().equals(plain)
    assert list(plain.columns) == ["age", *X]


def test_a_person_may_have_several_records(second):
    table = pd.concat([FIRST, FIRST.iloc[:50]]).reset_index(drop=True)
    data, one = released(table, b"1")
    score = lv.risk(data, one, ["nearest_record"], other_releases=[second])[0]
    both = int(FIRST.pid.isin(SECOND.pid).sum() + FIRST.pid.iloc[:50].isin(SECOND.pid).sum())
    assert any(f"{both} of {len(table)} records have a partner" in n for n in score.notes)


def test_persons_are_compared_as_text():
    table = FIRST.assign(pid=FIRST.pid.astype(float).where(FIRST.pid != 1000))
    numbers = persons_of_records(lv.read(table, **ROLES))
    texts = persons_of_records(lv.read(FIRST.assign(pid=FIRST.pid.astype(str)), **ROLES))
    assert numbers.person[0] is None
    assert numbers.person[1:] == texts.person[1:]


def test_a_wave_without_persons_is_refused_with_the_way_out(second):
    ways = {None: r"declare the column that identifies persons \(roles.person\)", "pid": "with the column 'pid'"}
    for person, way in ways.items():
        data, one = released(FIRST, b"1", person=person)
        with pytest.raises(PairingError, match=way):
            lv.risk(data, one, ["nearest_record"], other_releases=[second.frame()])


def test_waves_without_a_common_person_are_refused(first):
    data, one = first
    _, other = released(SECOND.assign(pid=SECOND.pid + 100_000), b"2")
    with pytest.raises(PairingError, match="has no person of this file"):
        lv.risk(data, one, ["nearest_record"], other_releases=[other])


@pytest.mark.parametrize("role", ["person", "household"])
def test_what_is_checked_about_the_roles(role):
    with pytest.raises(RolesError, match=f"{role}: no column 'nobody'"):
        lv.read(FIRST, confidential=X, **{role: "nobody"})
    with pytest.raises(RolesError, match=f"'age' is both {role} and non_confidential"):
        lv.read(FIRST, confidential=X, non_confidential="age", **{role: "age"})
    with pytest.raises(RolesError, match=f"'a' is both {role} and confidential"):
        lv.read(FIRST, confidential=X, **{role: "a"})
    with pytest.raises(RolesError, match="'pid' is both person and household"):
        lv.read(FIRST, confidential=X, person="pid", household="pid")


def test_persons_in_a_study_and_on_the_command_line(tmp_path, capsys, second):
    from larvatus.cli.main import main

    FIRST.to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "study.toml").write_text(
        'source = "one.csv"\n[roles]\nconfidential = ["a", "b", "c"]\nnon_confidential = ["age"]\nperson = "pid"\n'
    )
    assert lv.Study.read(tmp_path / "study.toml").roles.person == "pid"
    second.write(tmp_path / "two.csv", pairing=tmp_path / "two.pairing.csv")
    released(FIRST, b"1")[1].write(tmp_path / "masked.csv", pairing=tmp_path / "masked.pairing.csv")
    for roles in (["--study", str(tmp_path / "study.toml")],
                  ["--confidential", "a,b,c", "--non-confidential", "age", "--person", "pid"]):
        files = [str(tmp_path / name) for name in ("one.csv", "masked.csv")]
        more = ["--pairing", str(tmp_path / "masked.pairing.csv"), "--other-release", str(tmp_path / "two.csv"),
                "--other-pairing", str(tmp_path / "two.pairing.csv")]
        assert main(["risk", *files, *roles, "--method", "nearest_record", *more, "--json"]) == 0
        assert f"{COMMON} of {N} records have a partner" in capsys.readouterr().out
