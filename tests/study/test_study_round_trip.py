"""Any study writes back with the same meaning."""

from __future__ import annotations

import tomllib
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

import larvatus as lv
from drawn_examples import drawn
from larvatus.attacks import NearestRecord
from larvatus.core.errors import StudyError
from larvatus.masks import AdditiveNoise
from larvatus.measures import Correlation, Moments

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
SHARE = st.floats(1e-6, 1e6)


@st.composite
def studies(draw: st.DrawFn) -> lv.Study:
    names = draw(st.lists(NAME, min_size=6, max_size=8, unique=True))
    x, s, groups, weight, record, hidden, *more = names
    steps = st.builds(
        AdditiveNoise, variance=SHARE | st.lists(SHARE, min_size=1).map(tuple) | st.dictionaries(NAME, SHARE, min_size=1),
        noise=st.sampled_from(["normal", "uniform", "laplace", "mixture"]), zeros=st.sampled_from(["mask", "keep"]),
        positive=st.booleans(), scope=st.sampled_from(["sub_group", "file"]),
        where=st.none() | TEXT | st.lists(st.integers(0, 2**60), min_size=1).map(tuple),
    )
    level = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.integers(-9, 9) | st.floats(-9.5, 9.5)
    roles = lv.Roles(
        confidential=[x, *more], non_confidential=[s], weight=draw(st.sampled_from([None, weight])),
        record_id=draw(st.sampled_from([None, record])), identifiers=draw(st.sampled_from([[], [hidden]])),
        nominal=draw(st.sampled_from([[], [s]])), ordered=draw(st.dictionaries(NAME, st.lists(level).map(tuple), max_size=2)),
    )
    sub_groups = lv.SubGroups(
        columns=draw(st.sampled_from([[], [groups], [groups, s]])), smallest=draw(st.integers(1, 99)),
        small=draw(st.sampled_from(["refuse", "pool", "suppress"])),
    )
    releases = draw(st.lists(st.tuples(NAME, st.lists(steps, min_size=1, max_size=3)), unique_by=lambda r: r[0], max_size=3))
    return lv.Study(
        purpose=draw(TEXT), roles=roles, sub_groups=sub_groups, intruder=lv.Intruder(known=draw(st.sampled_from([[], [x, s]]))),
        release=[{"name": n, "steps": many} for n, many in releases],
        attack=draw(st.none() | st.lists(st.builds(NearestRecord, within=st.integers(1, 9) | st.just((1, 5))), max_size=2)),
        measure=draw(st.none() | st.lists(st.sampled_from([Moments(), Correlation()]), max_size=2)),
        analysis=draw(st.lists(st.sampled_from([
            lv.Analysis(mean=(x,), name="one"), lv.Analysis(quantile={x: (0.5, 0.9)}, level=0.1),
            lv.Analysis(correlation=((x, s),)), lv.Analysis(table=(s,), where="a > 1", weighted=False),
        ]), max_size=3)),
    )


@given(studies())
@drawn(150)
def test_toml_there_and_back(study):
    again = lv.Study.of(tomllib.loads(study.toml()))
    assert again == study
    assert again.toml() == study.toml()
    for one, other in zip(again.release, study.release, strict=True):
        assert [type(s) for s in one.steps] == [type(s) for s in other.steps]


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(["additive_noise", "nearest_record"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "steps", "method", "grid", "variance", "columns", "confidential", "mean", "quantile"]) | TEXT,
        inner, max_size=3),
    max_leaves=8,
), st.sampled_from([
    "purpose", "engine", "roles", "sub_groups", "intruder", "release", "attack", "measure", "analysis", "other",
]))
@drawn(300)
def test_whatever_stands_in_a_part_it_is_read_or_refused_by_name(value, part):
    study = lv.Study()
    with suppress(StudyError):
        study = lv.Study.of({"roles": {"confidential": ["x"]}, part: value})
    if study.roles.confidential:
        assert lv.Study.of(tomllib.loads(study.toml())) == study
