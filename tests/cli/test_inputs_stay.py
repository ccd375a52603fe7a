"""No output may be a file that is read, however it is reached; `--overwrite` does not change that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import ReadError, WriteError
from sample import SECRET, people

ROLES = ["--confidential", "income", "--sub-groups", "region"]
NOISE = ["--method", "additive_noise"]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder with a source, the same in parts, a secret, a link of each kind, and a study."""
    monkeypatch.chdir(tmp_path)
    frame = people(80)
    frame.to_csv("in.csv", index=False)
    Path("parts").mkdir()
    frame[:40].to_parquet("parts/part-00000.parquet")
    frame[40:].to_parquet("parts/part-00001.parquet")
    Path("secret.key").write_bytes(SECRET)
    Path("secret.key").chmod(0o600)
    Path("link.csv").symlink_to("in.csv")
    os.link("in.csv", "hard.csv")
    Path("parts_link").symlink_to("parts", target_is_directory=True)
    Path("study.toml").write_text(
        'source = "in.csv"\n[roles]\nconfidential = ["income"]\n[sub_groups]\ncolumns = ["region"]\n'
        '[[release]]\nname = "a"\nsteps = [{ method = "additive_noise" }]\n', encoding="utf-8")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(here: Path, capsys, *arguments: str) -> str:
    before = contents(here)
    assert main([*arguments, "--overwrite"]) == 2
    assert contents(here) == before
    said = capsys.readouterr().err
    assert "is read" in said
    assert "Choose another" in said
    return said


@pytest.mark.parametrize(("source", "output"), [
    ("in.csv", "in.csv"), ("in.csv", "./parts/../in.csv"), ("in.csv", "link.csv"), ("link.csv", "in.csv"),
    ("in.csv", "hard.csv"), ("hard.csv", "in.csv"), ("in.*", "in.csv"), ("*n.csv", "in.csv"), ("*.csv", "new.csv"),
    ("*.csv", "hard.csv"), ("parts", "parts/part-00000.parquet"), ("parts", "parts/new.parquet"), ("parts", "parts"),
    ("parts", "parts_link"), ("parts_link", "parts/part-00001.parquet"), ("parts/*.parquet", "parts/part-00001.parquet"),
    ("parts/*.parquet", "parts"), ("parts/part-00000.parquet", "parts"), ("parts", "parts/deeper"),
    ("**/*.parquet", "parts/new.parquet"), ("pa*/part-0000?.parquet", "parts_link/part-00007.parquet"),
])
def test_mask(here, capsys, source, output):
    refused(here, capsys, "mask", source, "-o", output, *NOISE, *ROLES)


@pytest.mark.parametrize("pairing", ["in.csv", "link.csv", "hard.csv"])
def test_pairing_files(here, capsys, pairing):
    refused(here, capsys, "mask", "in.csv", "-o", "out.csv", "--pairing", pairing, *NOISE, *ROLES)


def test_documents_beside_the_release(here, capsys):
    (here / "in.csv").rename(here / "out.codebook.csv")
    refused(here, capsys, "mask", "out.codebook.csv", "-o", "out.csv", *NOISE, *ROLES)


def test_the_secret_and_the_study(here, capsys):
    (here / "secret.key").rename(here / "secret.csv")
    refused(here, capsys, "mask", "in.csv", "-o", "secret.csv", "--secret-file", "secret.csv", *NOISE, *ROLES)
    (here / "study.toml").rename(here / "study.csv")
    refused(here, capsys, "mask", "in.csv", "-o", "study.csv", "--study", "study.csv")
    (here / "study.csv").rename(here / "out.manifest.json")
    refused(here, capsys, "mask", "in.csv", "-o", "out.csv", "--study", "out.manifest.json")


def test_a_list_of_records_and_a_taxonomy(here, capsys):
    (here / "ids.csv").write_text("larvatus_record\n1\n2\n3\n", encoding="utf-8")
    refused(here, capsys, "mask", "in.csv", "-o", "ids.csv", "--step", "additive_noise(where='@ids.csv')", *ROLES)
    regions = sorted(people(80)["region"].astype(str).unique())
    (here / "tree.csv").write_text("region,all\n" + "".join(f"{r},all\n" for r in regions), encoding="utf-8")
    refused(here, capsys, "mask", "in.csv", "-o", "tree.csv", "--taxonomy", "region=tree.csv", *NOISE, *ROLES)


@pytest.mark.parametrize(("source", "output"), [("in.csv", "in.csv"), ("in.csv", "link.csv"), ("parts", "parts/study.toml"),
                                                ("*.csv", "in.csv")])
def test_advise(here, capsys, source, output):
    refused(here, capsys, "advise", source, "-o", output, *ROLES)


@pytest.mark.parametrize("file", ["in.csv", "out.csv", "pairs.csv", "hard.csv", "study.toml"])
def test_at_risk(here, capsys, file):
    assert main(["mask", "in.csv", "-o", "out.csv", "--pairing", "pairs.csv", "-q", *NOISE, *ROLES]) == 0
    refused(here, capsys, "risk", "in.csv", "out.csv", "--pairing", "pairs.csv", "--at-risk", file, "--study", "study.toml",
            "--method", "nearest_record")


@pytest.mark.parametrize("name", ["scores.csv", "releases/a.parquet", "releases/a.csv", "releases/a.codebook.csv",
                                  ".larvatus-cache/in.csv", "releases/source.csv"])
def test_a_study_whose_source_is_where_the_run_writes(here, capsys, name):
    out = here / "out"
    (out / name).parent.mkdir(parents=True)
    text = (here / "study.toml").read_text(encoding="utf-8")
    if name.endswith("parquet"):
        people(80).to_parquet(out / name)
    else:
        (here / "in.csv").rename(out / name)
    (here / "study.toml").write_text(text.replace("in.csv", f"out/{name}"), encoding="utf-8")
    arguments = ["run", "study.toml", "-o", "out", "-q", "--format", "parquet" if name.endswith("parquet") else "csv"]
    if name == "releases/source.csv":  # the run writes no file of that name
        before = (out / name).read_bytes()
        assert main([*arguments, "--overwrite"]) == 0
        assert (out / name).read_bytes() == before
        return
    refused(here, capsys, *arguments)


def test_a_run_into_the_source_folder(here, capsys):
    text = (here / "study.toml").read_text(encoding="utf-8")
    (here / "study.toml").write_text(text.replace("in.csv", "parts"), encoding="utf-8")
    refused(here, capsys, "run", "study.toml", "-o", "parts/out")


@pytest.mark.parametrize("name", ["report.html", "scores.json", "releases/a.manifest.json", "internal/a.internal.json"])
def test_a_run_over_its_own_study_or_secret(here, capsys, name):
    (here / "out" / name).parent.mkdir(parents=True)
    (here / "secret.key").rename(here / "out" / name)
    refused(here, capsys, "run", "study.toml", "-o", "out", "--secret-file", f"out/{name}")
    (here / "study.toml").rename(here / "out" / name)
    text = (here / "out" / name).read_text(encoding="utf-8")
    depth = "../" * (name.count("/") + 1)
    (here / "out" / name).write_text(text.replace("in.csv", f"{depth}in.csv"), encoding="utf-8")
    refused(here, capsys, "run", f"out/{name}", "-o", "out")


def test_a_search_over_its_source(here, capsys):
    (here / "out" / "releases").mkdir(parents=True)
    people(80).to_parquet("out/releases/chosen.parquet")
    Path("study.toml").write_text(
        'source = "out/releases/chosen.parquet"\n[roles]\nconfidential = ["income"]\n[limits]\ntier = "secure"\n'
        '[[search]]\nsteps = [{ method = "additive_noise", range = { variance = [0.1, 1.0] } }]\n'
        "[goal]\ntrials = 2\n", encoding="utf-8")
    refused(here, capsys, "search", "study.toml", "-o", "out")


def test_the_table_of_publish_noise_and_the_report_of_reproduce(here, capsys):
    refused(here, capsys, "publish-noise", "study.toml", "-o", "in.csv")
    refused(here, capsys, "reproduce", "000/1", "--data", "parts", "-o", "parts/page.html")


def test_from_python(here):
    data = lv.read("in.csv", confidential="income", sub_groups="region")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    scores = lv.risk(data, release, ["nearest_record"])
    found = lv.compare(data, [release], attacks=["nearest_record"], measures=["moments"])
    study = lv.Study.read(here / "study.toml")
    before = contents(here)
    os.chdir(here / "parts")  # what was read is known by where it is, not by how it was named
    for write in (
        lambda p: release.write(p, overwrite=True), lambda p: release.write(here / "out.csv", pairing=p, overwrite=True),
        lambda p: scores.at_risk(1.0, p, overwrite=True), lambda p: found.report(p, overwrite=True),
        lambda p: study.write(p, overwrite=True),
    ):
        for path in ("../in.csv", here / "link.csv", here / "hard.csv"):
            with pytest.raises(WriteError, match="is read"):
                write(path)
    assert contents(here) == before


def test_a_folder_read_from_python(here):
    data = lv.read(here / "parts", confidential="income", engine="duckdb")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    before = contents(here)
    for path in ("parts", "parts/part-00000.parquet", "parts_link/new.csv"):
        with pytest.raises(WriteError, match="is read"):
            release.write(path, overwrite=True)
    assert contents(here) == before
    release.write("parts_out")
    assert sorted(p.name for p in (here / "parts_out").iterdir()) == ["part-00000.parquet"]


@pytest.mark.parametrize(("output", "said"), [
    (".", "is a folder"), ("/", "is a folder"), ("..", "is a folder"), ("parts/..", "is a folder"),
    ("pipe.csv", "is a device, a pipe"),
])
def test_an_output_that_is_no_file_of_its_own_is_refused(output, said, here, capsys):
    os.mkfifo("pipe.csv")
    before = sorted(here.rglob("*"))
    for more in ([], ["--overwrite"]):
        assert main(["mask", "in.csv", *ROLES, *NOISE, "-o", output, *more]) == 2
        assert said in capsys.readouterr().err
    assert sorted(here.rglob("*")) == before


def test_a_pairing_file_with_the_name_of_the_release_is_refused_by_that_name(here, capsys):
    assert main(["mask", "in.csv", *ROLES, *NOISE, "-o", "a.csv", "--pairing", "a.csv"]) == 2
    assert "pairing: a.csv is the released file itself" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["\ud800.csv", "a\0b.csv"])
def test_a_name_that_no_file_can_have(name, here, capsys):
    """Python code can give such names; no shell can."""
    data = lv.read("in.csv", confidential=["income"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    with pytest.raises(WriteError, match="no file name can have"):
        release.write(name)
    with pytest.raises(ReadError):
        lv.risk(data, name, ["exact_match"])
    assert main(["mask", "in.csv", "--confidential", "income", "--method", "additive_noise", "-o", name]) == 2
    assert "no word of a command can have" in capsys.readouterr().err
