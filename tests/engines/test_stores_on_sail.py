"""Sources, releases and temporary columns in a store that speaks S3, with tasks on Sail: a store of moto on this machine."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator

import pytest

import larvatus as lv
from larvatus.data.microdata import collect
from larvatus.engines.spark import Spark
from sample import ROLES, SECRET, people

moto = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'larvatus[stores]'")
pytest.importorskip("pysail", reason="pysail is not installed: pip install 'larvatus[sail]'")


@pytest.fixture
def bucket(monkeypatch) -> Iterator[str]:
    from pyarrow import fs

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        for name, value in (("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"), ("AWS_ACCESS_KEY_ID", "tester"),
                            ("AWS_SECRET_ACCESS_KEY", "of tests"), ("AWS_REGION", "us-east-1"),
                            ("AWS_EC2_METADATA_DISABLED", "true")):
            monkeypatch.setenv(name, value)
        store = fs.S3FileSystem(endpoint_override=f"127.0.0.1:{port}", scheme="http", allow_bucket_creation=True)
        name = f"work-{secrets.token_hex(4)}"  # all servers of a process have the same buckets
        store.create_dir(name)
        yield name
    finally:
        server.stop()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_source_in_a_store_gives_the_release_of_the_same_local_files(bucket, tmp_path, monkeypatch, suffix):
    """A folder of two files, which are copied to the folder for temporary files and do not stay there."""
    from pyarrow import fs

    monkeypatch.setenv("LARVATUS_TEMP", str(tmp_path / "temporary"))
    store, table = fs.FileSystem.from_uri(f"s3://{bucket}")[0], people(300, seed=5)
    (tmp_path / "people").mkdir()
    for i, part in enumerate((table.iloc[:100], table.iloc[100:])):
        local = tmp_path / "people" / f"part-{i}{suffix}"
        part.to_csv(local, index=False) if suffix == ".csv" else part.to_parquet(local, index=False)
        with store.open_output_stream(f"{bucket}/people/{local.name}") as remote:
            remote.write(local.read_bytes())
    found = []
    for source, engine in ((tmp_path / "people", "memory"), (f"s3://{bucket}/people", Spark(master="sail", rows=120))):
        data = lv.read(source, **{**ROLES, "record_id": None}, engine=engine)
        assert not list((tmp_path / "temporary").rglob("part-*"))
        release = lv.mask(data, "data_shuffling", secret=SECRET)
        found.append({n: collect(release.data, [n])[2][n].tobytes() for n in ROLES["confidential"]})
    assert found[0] == found[1]


def test_a_release_made_through_a_store_has_the_same_bits(bucket, tmp_path):
    """120 rows to a task, so that rows also wait in the store while they are exchanged."""
    from pyarrow import fs

    source = tmp_path / "people.parquet"
    people(500, seed=5).to_parquet(source)
    store = fs.FileSystem.from_uri(f"s3://{bucket}")[0]
    releases, scores = [], []
    for engine in ("memory", Spark(master="sail", rows=120, folder=f"s3://{bucket}/columns")):
        data = lv.read(source, **ROLES, engine=engine)
        release = lv.mask(data, "data_shuffling", secret=SECRET)
        releases.append({n: collect(release.data, [n])[2][n].tobytes() for n in ROLES["confidential"]})
        scores.append([s.value for s in lv.utility(data, release, ["moments", "marginal"])])
    assert releases[0] == releases[1]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    written = store.get_file_info(fs.FileSelector(f"{bucket}/columns", recursive=True))
    assert any(info.size for info in written)
    release.write(tmp_path / "released", overwrite=True)
    parts = {p.name: p.read_bytes() for p in (tmp_path / "released").glob("*.parquet")}
    assert parts
    release.write(f"s3://{bucket}/released")
    sent = store.get_file_info(fs.FileSelector(f"{bucket}/released"))
    assert {info.base_name: store.open_input_file(info.path).read() for info in sent} == parts
