"""Files and folders in a store that speaks S3, and addresses file://: read as local files, with no key shown anywhere."""

from __future__ import annotations

import gzip
import io
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import larvatus as lv
from labelled_sample import write_spss
from larvatus.cli.main import main
from larvatus.core.errors import LarvatusError, ReadError, WriteError
from larvatus.pipeline.read_source import format_of_source
from s3_server import KEY, SECRET_KEY, s3_server
from sample import SECRET

ROLES = {"confidential": ["income"], "non_confidential": ["age"]}
PROBLEM = "s3://survey/people/?secret_key=abc"


def people(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame({"age": rng.integers(18, 90, n), "income": rng.lognormal(10, 1, n).round(2)})


def parquet_of(frame: pd.DataFrame) -> bytes:
    held = io.BytesIO()
    frame.to_parquet(held)
    return held.getvalue()


def zstd_of(content: bytes) -> bytes:
    held = pa.BufferOutputStream()
    with pa.CompressedOutputStream(held, "zstd") as packed:
        packed.write(content)
    return held.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> dict[str, bytes]:
    frame = people()
    labelled = write_spss(tmp_path_factory.mktemp("sav") / "in.sav").read_bytes()
    comma = frame.to_csv(index=False, sep=";", decimal=",").encode("latin-1")
    return {
        "people/region=1/a.parquet": parquet_of(frame.head(50)), "people/region=2/b.parquet": parquet_of(frame.tail(70)),
        "packed/part-1.csv.gz": gzip.compress(comma), "packed/part-2.csv.zst": zstd_of(comma),
        "people/_SUCCESS": b"", "csv/part-1.csv": comma, "csv/notes.md": b"none", "in.sav": labelled, "empty/x.md": b"x",
    }


@pytest.fixture
def store(objects, monkeypatch, tmp_path) -> Iterator[str]:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("LARVATUS_TEMP", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    with s3_server("survey", objects) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        yield endpoint


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_folder_in_a_store_is_read_as_a_local_one(store, engine, tmp_path):
    data = lv.read("s3://survey/people", confidential=["income"], non_confidential=["age", "region"], engine=engine)
    back = data.to_pandas()
    assert back["income"].tolist() == people()["income"].tolist()
    assert back["region"].tolist() == [1] * 50 + [2] * 70
    assert not list((tmp_path / "temporary").iterdir()) or engine == "duckdb"
    assert not list((tmp_path / "temporary").rglob("a.parquet"))


def test_files_patterns_labels_and_csv_formats(store):
    assert lv.read("s3://survey/people/region=1/a.parquet", **ROLES).rows == 50
    assert lv.read("s3://survey/people/*/b.parquet", **ROLES).rows == 70
    labelled = lv.read("s3://survey/in.sav", confidential=["income"], non_confidential=["sex"])
    assert labelled.labels["sex"].label_of(2) == "Female"
    stated = lv.read("s3://survey/csv/part-1.csv", decimal="comma", delimiter="semicolon", **ROLES)
    assert stated.to_pandas()["income"].tolist() == people()["income"].tolist()
    assert {g.name for g in lv.advise("s3://survey/people").guesses} == {"age", "income", "region"}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("name", ["part-1.csv.gz", "part-2.csv.zst"])
def test_compressed_files_in_a_store_are_copied_as_they_are(store, engine, name):
    data = lv.read(f"s3://survey/packed/{name}", decimal="comma", delimiter="semicolon", engine=engine, **ROLES)
    assert data.to_pandas()["income"].tolist() == people()["income"].tolist()


def test_releases_have_the_format_of_a_file_in_a_store():
    assert format_of_source("s3://survey/in.sav?region=x") == "sav"
    assert format_of_source("s3://survey/in.por") == "sav"
    assert format_of_source("s3://survey/csv/part-1.csv") == "csv"
    assert format_of_source("s3://survey/people") == "parquet"


def test_the_endpoint_can_be_stated_in_the_address(store, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert lv.read(f"s3://survey/people?endpoint={store}&region=eu-west-1", **ROLES).rows == 120


def test_a_study_from_advise_to_export(store, capfd):
    assert main(["advise", "s3://survey/people", "--confidential", "income", "--non-confidential", "age", "-o", "s.toml"]) == 0
    with Path("s.toml").open("a", encoding="utf-8") as file:
        file.write('\n[[attack]]\nmethod = "uniqueness"\n[[measure]]\nmethod = "moments"\n')
    assert main(["run", "s.toml", "-o", "out"]) == 0
    assert main(["export", "out", "--release", "shuffled", "-o", "final.csv"]) == 0
    assert len(pd.read_csv("final.csv")) == 120
    shown = "".join(capfd.readouterr()) + "".join(
        p.read_text(encoding="utf-8", errors="replace") for p in Path().rglob("*") if p.is_file())
    assert SECRET_KEY not in shown
    assert KEY not in shown


@pytest.mark.parametrize(("address", "said"), [
    ("s3://survey/nobody", "no such file or folder"), ("s3://elsewhere/people", "no such file or folder|refuses access"),
    ("s3://survey/people/*.csv", "no file in the store matches"), ("s3://survey/empty", "no CSV or Parquet"),
    ("s3://key:hidden@survey/people", "contains a key"), (PROBLEM, "region and endpoint"),
    ("s3://survey/people?endpoint=http://a:hidden@b", "contains a key or a password"), ("s3:///people", "name of a bucket"),
    ("gs://survey/people", "cannot be read. Copy them"), ("https://example.org/x.csv", "cannot be read. Copy them"),
])
def test_bad_addresses_give_one_error_without_the_address(store, address, said):
    with pytest.raises(ReadError, match=said) as caught:
        lv.read(address, **ROLES)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_wrong_keys_and_a_store_that_does_not_answer(store, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    with pytest.raises(ReadError, match="refuses access") as caught:
        lv.read("s3://survey/people", **ROLES)
    assert "somebody" not in str(caught.value)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(ReadError, match=r"cannot be read\. Check the endpoint"):
            lv.read("s3://survey/people", **ROLES)


def made(copies: int = 1) -> lv.Release:
    return lv.mask(lv.read(people(), **ROLES), "rank_swap", secret=SECRET) if copies == 1 else lv.mask(
        lv.read(people(), **ROLES), f"multiple_imputation(copies={copies})", secret=SECRET)


@pytest.fixture
def target(store, monkeypatch) -> Iterator[dict[str, bytes]]:
    """What is in a bucket that releases are written to."""
    held: dict[str, bytes] = {}
    with s3_server("out", held) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        yield held


@pytest.mark.parametrize(("name", "copies"), [("r.csv", 1), ("r.csv.gz", 1), ("r.parquet", 2), ("parts", 1)])
def test_a_release_in_a_store_has_the_bytes_of_a_local_one(target, tmp_path, name, copies):
    """Its pairing file stays on this machine, and nothing stays in the folder for temporary files."""
    (tmp_path / "local").mkdir()
    made(copies).write(tmp_path / "local" / name, pairing=tmp_path / "one.parquet")
    made(copies).write(f"s3://out/year/{name}", pairing=tmp_path / "other.parquet")
    local = {f"year/{p.relative_to(tmp_path / 'local')}": p.read_bytes()
             for p in (tmp_path / "local").rglob("*") if p.is_file()}
    assert target == local
    assert len(target) == copies
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()
    assert not [p for p in (tmp_path / "temporary").rglob("*") if p.is_file()]


def test_nothing_in_a_store_is_replaced(target):
    target |= {"r.csv": b"earlier", "parts/part-00000.parquet": b"earlier"}
    before = dict(target)
    for name in ("r.csv", "parts"):
        with pytest.raises(WriteError, match="nothing in a store is replaced"):
            made().write(f"s3://out/{name}", pairing="pairs.parquet", overwrite=True)
    assert target == before
    assert not Path("pairs.parquet").exists()


@pytest.mark.parametrize("fault", ["second copy", "pairing file"])
def test_a_release_that_cannot_be_completed_is_deleted_in_the_store(target, monkeypatch, fault):
    """Whether the store refuses the second copy, or the pairing file cannot be moved to its place at the end."""
    from larvatus.core.safe_files import file_sets, store_access

    send, seen = store_access.StoreTarget._send, []

    def sent(place: object, file: Path, to: str) -> None:
        if fault == "second copy" and target:
            raise OSError("AWS said hidden")
        send(place, file, to)
        seen.append(dict(target))
        if fault == "pairing file" and len(seen) == 2:
            monkeypatch.setattr(file_sets, "write_journal", full)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_access.StoreTarget, "_send", sent)
    with pytest.raises(LarvatusError) as caught:
        made(2).write("s3://out/r.parquet", pairing="pairs.parquet")
    assert "hidden" not in str(caught.value)
    assert [len(held) for held in seen] == ([1] if fault == "second copy" else [1, 2])
    assert not any(target.values())
    assert not Path("pairs.parquet").exists()


def test_addresses_that_name_no_place_for_a_release(target, monkeypatch):
    for address, why in (("s3://out", "a bucket and a name"), ("s3://key:secret@out/r.csv", "contains a key"),
                         ("s3://other/r.csv", "no such bucket")):
        with pytest.raises(LarvatusError, match=why) as caught:
            made().write(address)
        assert "secret" not in str(caught.value)
    with pytest.raises(WriteError, match="not to an address"):
        made().write("s3://out/r.csv", pairing="s3://out/pairs.parquet")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    with pytest.raises(WriteError, match="refuses access"):
        made().write("s3://out/r.csv")
    assert target == {}


def test_commands_write_to_this_machine_only(store):
    people().to_csv("in.csv", index=False)
    assert main(["mask", "in.csv", "--confidential", "income", "--method", "rank_swap", "-o", "s3://survey/out.csv"]) != 0
    assert not Path("s3:").exists()


def test_addresses_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("in.csv", index=False)
    address = (tmp_path / "in.csv").as_uri()
    assert lv.read(address, **ROLES).rows == 120
    assert main(["advise", address, "--confidential", "income", "-o", "s.toml", "-q"]) == 0
    assert lv.Study.read("s.toml").source_path() == tmp_path / "in.csv"
    with pytest.raises(LarvatusError, match="three slashes"):
        lv.read("file://in.csv", **ROLES)
    with pytest.raises(WriteError, match=r"in\.csv is read"):
        lv.mask(lv.read(address, **ROLES), "rank_swap", secret=SECRET).write("in.csv", overwrite=True)
