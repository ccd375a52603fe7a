"""Hierarchies of names: marginality by hand, tables and files that mean the same, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.data.hierarchies.taxonomy import Taxonomy, read_tree, with_taxonomies
from larvatus.masks.categories.ordered_levels import level_scores
from larvatus.stats.estimates.marginality import marginality, semantic_distances

JOBS = {"manual": ["farmer", "builder"], "office": {"clerk": [], "manager": ["head", "director"]}}
CSV = "job,group,class\nfarmer,manual\nbuilder,manual\nclerk,office\nhead,manager,office\ndirector,manager,office\n"


def test_distances_by_hand():
    """farmer and builder share {manual, root} of four nodes, farmer and head the root of six, clerk and head two of five."""
    tree = Taxonomy.of("job", JOBS)
    farmer, builder, clerk, head = ([tree.ancestors(n)] for n in ("farmer", "builder", "clerk", "head"))
    assert semantic_distances(farmer, farmer)[0, 0] == 0
    assert semantic_distances(farmer, builder)[0, 0] == pytest.approx(np.log2(1 + 2 / 4), rel=1e-15)
    assert semantic_distances(farmer, head)[0, 0] == pytest.approx(np.log2(1 + 5 / 6), rel=1e-15)
    assert semantic_distances(clerk, head)[0, 0] == pytest.approx(np.log2(1 + 3 / 5), rel=1e-15)


def test_marginality_by_a_plain_sum_over_the_data():
    tree = Taxonomy.of("job", JOBS)
    data = ["farmer"] * 5 + ["builder"] + ["clerk"] * 2 + ["head", "director"]
    levels = ["builder", "clerk", "director", "farmer", "head"]
    sets = [tree.ancestors(v) for v in levels]
    counts = np.array([float(data.count(v)) for v in levels])

    def distance(a: str, b: str) -> float:
        one, other = tree.ancestors(a), tree.ancestors(b)
        return float(np.log2(1 + len(one ^ other) / len(one | other)))

    expected = [sum(distance(v, w) for w in data) for v in levels]
    found = marginality(sets, sets, counts)
    assert found == pytest.approx(expected, rel=1e-14)
    assert found[2] == found[4], "head and director lie alike, to the last bit"
    assert np.argmin(found) == levels.index("farmer"), "what is frequent is the centre"
    frame = pd.DataFrame({"job": data, "x": np.arange(10.0)})
    read = lv.read(frame, lv.Roles(confidential=("job",), taxonomies={"job": JOBS}))
    assert level_scores(read, "job", read) == pytest.approx(expected, rel=1e-14)


def test_a_file_and_nested_tables_mean_the_same(tmp_path):
    (tmp_path / "jobs.csv").write_text(CSV)
    assert Taxonomy.of("job", read_tree("job", tmp_path / "jobs.csv")) == Taxonomy.of("job", JOBS)
    roles = lv.Roles(confidential=("job",), taxonomies={"job": "jobs.csv"})
    assert Taxonomy.of("job", with_taxonomies(roles, tmp_path).taxonomies["job"]) == Taxonomy.of("job", JOBS)


@pytest.mark.parametrize(("tree", "said"), [
    ({"a": ["x"], "b": ["x"]}, "two places"), (["x"], "fewer than two"), ({"a": 3}, "contains a int"),
    ({"a": [["x"]]}, "other than categories"), ("no.csv", "cannot be read"),
])
def test_what_is_no_taxonomy_is_refused(tree, said, tmp_path):
    with pytest.raises(lv.LarvatusError, match=said):
        with_taxonomies(lv.Roles(confidential=("job",), taxonomies={"job": tree}), tmp_path)


def test_roles_are_checked():
    frame = pd.DataFrame({"job": ["farmer", "clerk"] * 5})
    for roles, said in (
        ({"taxonomies": {"trade": JOBS}}, "no column 'trade'"),
        ({"taxonomies": {"job": JOBS}, "ordered": {"job": ("farmer", "clerk")}}, "a stated order and a taxonomy"),
    ):
        with pytest.raises(lv.LarvatusError, match=said):
            lv.read(frame, lv.Roles(confidential=("job",), **roles))


def test_a_study_holds_a_taxonomy_in_itself_or_in_a_file_beside_it(tmp_path):
    (tmp_path / "jobs.csv").write_text(CSV)
    pd.DataFrame({"job": ["farmer", "clerk", "head"] * 9}).to_csv(tmp_path / "people.csv", index=False)
    head = 'source = "people.csv"\n[roles]\nconfidential = ["job"]\n'
    inside = '[roles.taxonomies.job]\nmanual = ["farmer", "builder"]\noffice = { clerk = [], manager = ["head", "director"] }\n'
    found = []
    for name, text in (("file.toml", head + 'taxonomies = { job = "jobs.csv" }\n'), ("inside.toml", head + inside)):
        (tmp_path / name).write_text(text)
        study = lv.Study.read(tmp_path / name)
        found.append(Taxonomy.of("job", study.roles.taxonomies["job"]))
        study.write(tmp_path / f"again {name}")
        assert lv.Study.read(tmp_path / f"again {name}").roles == study.roles
    assert found[0] == found[1]
    (tmp_path / "bad.toml").write_text(head + 'taxonomies = { job = "none.csv" }\n')
    with pytest.raises(lv.LarvatusError, match=r"'none.csv' for 'job' cannot be read"):
        lv.Study.read(tmp_path / "bad.toml")


def test_one_hierarchy_gives_one_release_however_it_is_written(tmp_path):
    (tmp_path / "jobs.csv").write_text(CSV)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"job": rng.choice(["farmer", "builder", "clerk", "head", "director"], 200)})
    tables = {"office": {"manager": {"director": {}, "head": {}}, "clerk": {}}, "manual": {"builder": {}, "farmer": {}}}
    releases = [
        lv.mask(lv.read(frame, confidential=["job"], taxonomies={"job": tree}), "rank_swap", secret=b"s" * 32).frame()
        for tree in (JOBS, tables, tmp_path / "jobs.csv", str(tmp_path / "jobs.csv"))
    ]
    assert (releases[0].job != frame.job).any()
    for other in releases[1:]:
        pd.testing.assert_frame_equal(releases[0], other)
    with pytest.raises(lv.LarvatusError, match="give roles, or taxonomies = …, not both"):
        lv.read(frame, lv.Roles(confidential=("job",)), taxonomies={"job": JOBS})


def test_a_taxonomy_by_option(tmp_path, capsys):
    (tmp_path / "jobs.csv").write_text(CSV)
    (tmp_path / "secret").write_bytes(b"s" * 32)
    (tmp_path / "secret").chmod(0o600)
    frame = pd.DataFrame({"job": ["farmer", "clerk", "head", "builder"] * 30, "x": np.arange(120.0)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    source, out = str(tmp_path / "people.csv"), str(tmp_path / "out.csv")
    roles = ["--confidential", "job,x", "--taxonomy", f"job={tmp_path / 'jobs.csv'}"]
    step = ["--method", "rank_swap", "--secret-file", str(tmp_path / "secret"), "--row-order", "keep", "-q"]
    assert main(["mask", source, "-o", out, *roles, *step]) == 0
    made = lv.mask(lv.read(frame, confidential=["job", "x"], taxonomies={"job": JOBS}), "rank_swap", secret=b"s" * 32).frame()
    assert pd.read_csv(out).job.tolist() == made.job.tolist()
    assert main(["risk", source, out, *roles, "--row-order", "keep", "--method", "uniqueness", "-q"]) == 0
    assert main(["utility", source, out, *roles, "--row-order", "keep", "--method", "moments", "-q"]) == 0
    capsys.readouterr()
    assert main(["mask", source, "-o", out, "--confidential", "job", "--taxonomy", "jobs.csv", *step]) != 0
    assert "write COLUMN=FILE.csv" in capsys.readouterr().err
