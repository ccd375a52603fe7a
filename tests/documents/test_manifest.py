"""Manifests: what the public one may tell, what the internal one keeps, and whether a file is the one described."""

from __future__ import annotations

import hashlib
import json
import stat

import numpy as np
import pytest

import larvatus as lv
from larvatus.core.errors import ReadError, StudyError, WriteError
from larvatus.documents.manifest import DecisionFacts, approved_release, paths_beside, write_beside
from larvatus.documents.verification import verify_files
from sample import ROLES, SECRET, people


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(people(300), **ROLES)


def written(data, folder, name: str, *steps: str, **more: object):
    release = lv.mask(data, *steps, secret=SECRET, name="a name with rate 0.37")
    release.write(folder / name)
    write_beside(release, data, folder / name, **more)
    return release, folder / f"{name.partition('.')[0]}.manifest.json", folder / f"{name.partition('.')[0]}.internal.json"


def test_the_public_manifest_tells_what_may_be_told_and_no_more(data, tmp_path):
    _, public, _ = written(data, tmp_path, "out.csv", "random_swap(rate=0.37)", "additive_noise(variance=0.25)")
    told = json.loads(public.read_text(encoding="utf-8"))
    assert (told["records"], told["columns"], told["masked_columns"], told["copies"]) == (300, 7, 3, 1)
    assert told["larvatus"] == lv.__version__
    assert [s["method"] for s in told["steps"]] == ["random_swap", "additive_noise"]
    assert told["steps"][1]["settings"]["variance"] == 0.25
    assert told["steps"][0]["sentence"]
    assert "0.37" not in public.read_text(encoding="utf-8")
    assert told["files"] == [{
        "copy": 1, "records": 300, "bytes": (tmp_path / "out.csv").stat().st_size,
        "sha256": hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest(),
    }]
    book = (tmp_path / "out.codebook.csv").read_bytes()
    assert told["codebook"] == {"bytes": len(book), "sha256": hashlib.sha256(book).hexdigest()}


def test_the_internal_one_has_the_rest_but_not_the_secret_and_is_the_owners_alone(data, tmp_path):
    decided = DecisionFacts("A. Keeper", "2026-01-02T03:04:05+00:00", "teaching", "random", None, {"candidates": 7})
    release, public, internal = written(data, tmp_path, "out.parquet", "random_swap(rate=0.37)", decided=decided)
    told = json.loads(internal.read_text(encoding="utf-8"))
    assert told["approved"] == {"by": "A. Keeper", "at": "2026-01-02T03:04:05+00:00"}
    assert told["all_settings"][0]["rate"] == 0.37
    assert told["selection"] == {"candidates": 7}
    assert [n["text"] for n in told["all_notes"]] == [str(n) for n in release.notes]
    assert told["roles"]["confidential"] == ["income", "wealth", "rooms"]
    assert json.loads(public.read_text(encoding="utf-8")).items() <= told.items()
    assert stat.S_IMODE(internal.stat().st_mode) == 0o600
    assert "Keeper" not in public.read_text(encoding="utf-8")
    for form in (SECRET, SECRET.hex().encode()):
        assert form not in internal.read_bytes() + public.read_bytes()


def test_no_hash_of_the_source(tmp_path):
    people(300).to_csv(tmp_path / "in.csv", index=False)
    read = lv.read(tmp_path / "in.csv", **ROLES)
    _, public, internal = written(read, tmp_path, "out.csv", "additive_noise")
    for kind in ("sha256", "md5", "sha1", "blake2b"):
        digest = hashlib.new(kind, (tmp_path / "in.csv").read_bytes()).hexdigest()
        assert digest not in public.read_text(encoding="utf-8") + internal.read_text(encoding="utf-8")


def test_a_list_of_record_ids_stays_out_of_both(data, tmp_path):
    step = {"method": "additive_noise", "where": [10, 31, 1900]}
    release = lv.mask(data, "random_swap", step, secret=SECRET)
    release.write(tmp_path / "out.csv")
    write_beside(release, data, tmp_path / "out.csv")
    told = json.loads((tmp_path / "out.manifest.json").read_text(encoding="utf-8"))
    assert [s["records"] for s in told["steps"]] == ["all", "some"]
    assert "1900" not in json.dumps(told["steps"])
    inside = json.loads((tmp_path / "out.internal.json").read_text(encoding="utf-8"))
    assert inside["all_settings"][1]["where"] == "3 record ids"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out"])
def test_the_file_itself_under_any_name_and_every_change_of_it(data, tmp_path, name):
    _, public, internal = written(data, tmp_path, name, "additive_noise")
    (tmp_path / name).rename(tmp_path / "renamed")
    for manifest in (public, internal):
        found = [(v["what"], v["same"]) for v in verify_files(manifest, [tmp_path / "renamed"])]
        assert found == [("copy", True), ("codebook", True)]
    file = tmp_path / "renamed" if (tmp_path / "renamed").is_file() else next((tmp_path / "renamed").iterdir())
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(bytes(raw))
    found, book = verify_files(public, [tmp_path / "renamed"])
    assert (found["same"], book["same"]) == (False, True)
    assert "different content" in found["why"]
    file.write_bytes(bytes(raw[:-1]))
    assert not verify_files(public, [tmp_path / "renamed"])[0]["same"]


def test_a_folder_with_one_part_more_or_less(data, tmp_path):
    _, public, _ = written(data, tmp_path, "out", "additive_noise")
    part = next((tmp_path / "out").iterdir())
    (tmp_path / "out" / "part-00001.parquet").write_bytes(part.read_bytes())
    assert "1 were added" in verify_files(public, [tmp_path / "out"])[0]["why"]
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert verify_files(public, [tmp_path / "out"])[0]["same"]
    part.unlink()
    assert "1 parts are missing" in verify_files(public, [tmp_path / "out"])[0]["why"]
    assert "a file instead of a folder" in verify_files(public, [public])[0]["why"]


def test_every_copy_is_known_by_its_own_hash(data, tmp_path):
    _, public, _ = written(data, tmp_path, "out.csv", "multiple_imputation(copies=3)")
    copies = [tmp_path / f"out-{i}.csv" for i in (3, 1, 2)]
    found = [(v["same"], v["copy"], v["of"]) for v in verify_files(public, copies)]
    assert found == [(True, 3, 3), (True, 1, 3), (True, 2, 3), (True, None, 1)]
    assert [v["copy"] for v in verify_files(public, [])] == [1, 2, 3, None]
    one, *others, _ = verify_files(public, copies[:1])
    assert (one["copy"], [(v["same"], v["copy"]) for v in others]) == (3, [(None, 1), (None, 2)])
    assert json.loads(public.read_text(encoding="utf-8"))["copies"] == 3


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_records_and_columns_are_counted_and_the_codebook_is_looked_at(data, tmp_path, name):
    release, public, _ = written(data, tmp_path, name, "additive_noise")
    frame = release.frame()
    shorter = frame.iloc[:-3, 1:]
    shorter.to_csv(tmp_path / "other.csv", index=False)
    why = verify_files(public, [tmp_path / "other.csv"])[0]["why"]
    assert "297 records instead of 300 and 6 columns instead of 7" in why
    told = json.loads(public.read_text(encoding="utf-8"))
    fewer = {"files": [{**told["files"][0], "records": 9}]}
    for change, said in (({"columns": 8}, "7 columns instead of 8"), (fewer, "300 records")):
        (tmp_path / "forged.json").write_text(json.dumps(told | change), encoding="utf-8")
        one = verify_files(tmp_path / "forged.json", [tmp_path / name])[0]
        assert not one["same"]
        assert f"its hash matches, but it has {said}" in one["why"]
    book = tmp_path / "out.codebook.csv"
    book.write_text(book.read_text(encoding="utf-8") + "x", encoding="utf-8")
    assert [v["same"] for v in verify_files(public, [])] == [True, False]
    book.unlink()
    assert [v["same"] for v in verify_files(public, [])] == [True, None]
    (tmp_path / name).unlink()
    with pytest.raises(ReadError, match="there is no released file next to"):
        verify_files(public, [])


HEAD = '{"format": "larvatus manifest 1"'


@pytest.mark.parametrize("text", [
    "", "[]", "{}", HEAD + "}", HEAD + ', "files": [3]}', HEAD + ', "files": [{"copy": 1, "parts": [{"name": 1}]}]}', "\x00",
])
def test_what_is_not_a_manifest(tmp_path, text):
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    with pytest.raises(ReadError, match="not the manifest"):
        verify_files(tmp_path / "m.json", [tmp_path / "m.json"])
    with pytest.raises(ReadError, match="cannot be read"):
        verify_files(tmp_path / "none.json", [tmp_path / "m.json"])


def test_nothing_is_overwritten_unasked(data, tmp_path):
    for path in paths_beside(tmp_path / "out.csv"):
        path.write_text("mine", encoding="utf-8")
        with pytest.raises(WriteError, match="exists already"):
            written(data, tmp_path, "out.csv", "additive_noise")
        assert path.read_text(encoding="utf-8") == "mine"
        (tmp_path / "out.csv").unlink()
        path.unlink()


def test_who_approved_which():
    assert approved_release("", None, ["a", "b"]) is None
    assert approved_release("me", None, ["a"]) == "a"
    assert approved_release("me", "b", ["a", "b"]) == "b"
    with pytest.raises(StudyError, match="--chosen, or with --public"):
        approved_release("me", None, ["a", "b"])


def test_a_run_writes_them_for_every_release(tmp_path):
    people(200).to_csv(tmp_path / "people.csv", index=False)
    study = lv.Study.of({
        "source": "people.csv", "roles": {"confidential": ["income", "wealth"], "non_confidential": ["age"]},
        "labels": {"age": "age in years"}, "attack": ["nearest_record"], "measure": ["moments"],
        "release": [{"name": n, "steps": [f"additive_noise(variance={v})"]} for n, v in (("a", 0.1), ("a.codebook", 0.2))],
    }, tmp_path)
    decision = lv.Decision(public="a", approved_by="A. Keeper")
    comparison = lv.run(study, tmp_path / "out", secret=SECRET, decision=decision, files=lv.OutputFiles(format="csv"))
    names = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file())
    manifests = [n for n in names if n.endswith("internal.json")]
    assert manifests == ["internal/a.codebook~2.internal.json", "internal/a.internal.json"]
    assert stat.S_IMODE((tmp_path / "out" / "internal").stat().st_mode) == 0o700
    assert verify_files(tmp_path / "out/releases/a.manifest.json", [tmp_path / "out/releases/a.csv"])[0]["same"]
    assert not verify_files(tmp_path / "out/releases/a.manifest.json", [tmp_path / "out/releases/a.codebook~2.csv"])[0]["same"]
    inside = [json.loads((tmp_path / "out" / n).read_text(encoding="utf-8"))["approved"] for n in manifests]
    assert [a and a["by"] for a in inside] == [None, "A. Keeper"]
    assert "age in years" in (tmp_path / "out" / "report_public.html").read_text(encoding="utf-8")
    assert np.array([len(c.codebook) for c in comparison.candidates]).tolist() == [3, 3]
