"""Many candidates: a run goes on after it was killed, makes only what is new, and loses nothing to one that fails."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import larvatus as lv
import larvatus.pipeline
from larvatus.core.errors import MaskError, StudyError, WriteError
from larvatus.core.files import lock
from larvatus.pipeline.candidates.cache import cache_in_output
from sample import SECRET, people

HEAD = """
source = "people.parquet"
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[measure]]
method = "correlation"
"""
GRID = """
[[release]]
name = "noise"
steps = [{ method = "additive_noise", grid.variance = [0.1, 0.2, 0.5, 1.0] }]
"""
MORE = """
[[release]]
name = "more"
steps = ["additive_noise(variance=2.0)"]
"""
ROUNDED = """
[[release]]
name = "rounded"
steps = [{ method = "rounding", base = 100 }]
reverse_mapped = "both"
"""


def study_of(folder: Path, text: str = HEAD + GRID) -> lv.Study:
    if not (folder / "people.parquet").exists():
        people(120).to_parquet(folder / "people.parquet")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return lv.Study.read(folder / "study.toml")


def contents(folder: Path) -> dict[str, bytes]:
    """What a person finds there; a report tells the time."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))
            if p.is_file() and ".larvatus-cache" not in p.parts and p.name != "report.html"}


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """The names of the releases that are made from here on."""
    names: list[str] = []
    mask = larvatus.pipeline.mask

    def counted(*args, name=None, **kwargs):
        names.append(name)
        return mask(*args, name=name, **kwargs)

    monkeypatch.setattr("larvatus.pipeline.compare_releases.mask", counted)
    return names


def stopped_after(folder: Path, candidates: int):
    """Progress that interrupts the work once so many candidates are finished."""
    def progress(doing: str, done: int, total: int) -> None:
        if len([p for p in (folder / ".larvatus-cache").glob("*") if not p.name.startswith(".")]) >= candidates:
            raise KeyboardInterrupt

    return progress


KILLED = """
import os, signal, sys
from pathlib import Path
import larvatus as lv
folder = Path(sys.argv[1])
def progress(doing, done, total):
    if len([p for p in (folder / "out" / ".larvatus-cache").glob("*") if not p.name.startswith(".")]) >= 2:
        os.kill(os.getpid(), signal.SIGKILL)
lv.run(lv.Study.read(folder / "study.toml"), folder / "out", secret=sys.argv[2].encode(),
       execution=lv.Execution(jobs=1, progress=progress))
"""


def test_a_run_that_was_killed_goes_on_to_the_same_result_to_the_bit(tmp_path, made):
    study = study_of(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), SECRET.decode()], check=False, timeout=200,
        env={**os.environ, "PYTHONPATH": str(Path(lv.__file__).parents[1])},
    )
    assert done.returncode == -signal.SIGKILL
    assert contents(tmp_path / "out") == {}
    resumed = lv.run(study, tmp_path / "out", secret=SECRET)
    assert made == ["noise variance=0.5", "noise variance=1.0"]
    whole = lv.run(study, tmp_path / "whole", secret=SECRET)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert resumed == whole
    assert len(contents(tmp_path / "out")) == 24  # scores, records of the run, and four releases, each with four files


def test_an_interrupted_run_without_a_secret_goes_on_with_another(tmp_path, made):
    study = study_of(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lv.run(study, tmp_path / "out", execution=lv.Execution(progress=stopped_after(tmp_path / "out", 3)))
    first = {p.name: p.read_bytes() for p in (tmp_path / "out" / ".larvatus-cache").rglob("releases/*.parquet")}
    assert (len(first), len(made)) == (3, 3)
    lv.run(study, tmp_path / "out")
    assert made[3:] == ["noise variance=1.0"]
    after = {p.name: p.read_bytes() for p in (tmp_path / "out" / "releases").glob("*.parquet")}
    assert first.items() <= after.items()
    assert len(after) == 4


def test_one_more_candidate_is_the_only_one_made(tmp_path, made):
    lv.run(study_of(tmp_path), tmp_path / "out", secret=SECRET)
    made.clear()
    more = lv.run(study_of(tmp_path, HEAD + GRID + MORE), tmp_path / "out", secret=SECRET)
    assert made == ["more"]
    assert more.reused == tuple(f"noise variance={v}" for v in (0.1, 0.2, 0.5, 1.0))
    assert more == lv.run(study_of(tmp_path, HEAD + GRID + MORE), tmp_path / "whole", secret=SECRET)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("change", ["attack", "data", "secret", "release", "file"])
def test_what_has_changed_is_made_again(tmp_path, made, change):
    lv.run(study_of(tmp_path), tmp_path / "out", secret=SECRET)
    made.clear()
    text, secret = HEAD + GRID, SECRET
    if change == "attack":
        text = text.replace('"nearest_record"', '"nearest_record"\nwithin = [1, 2]')
    elif change == "data":
        people(121).to_parquet(tmp_path / "people.parquet")
    elif change == "secret":
        secret = SECRET[::-1]
    elif change == "release":
        text = text.replace("0.1, 0.2", "0.11, 0.2")
    else:
        (tmp_path / "out" / "releases" / "noise-variance=0.1.parquet").write_bytes(b"other")
    why = "was changed after an earlier run wrote it" if change == "file" else "whose releases differ"
    with pytest.raises(WriteError, match=f"exists already.* {why}"):
        lv.run(study_of(tmp_path, text), tmp_path / "out", secret=secret)
    assert made == []
    found = lv.run(study_of(tmp_path, text), tmp_path / "out", secret=secret, overwrite=True)
    assert len(made) == (1 if change in ("release", "file") else 4)
    assert found == lv.run(study_of(tmp_path, text), tmp_path / "whole", secret=secret)


def test_without_a_secret_what_was_made_with_one_is_gone_on_from(tmp_path, made):
    lv.run(study_of(tmp_path), tmp_path / "out", secret=SECRET)
    before = {n: raw for n, raw in contents(tmp_path / "out").items() if n.startswith("releases/")}
    made.clear()
    found = lv.run(study_of(tmp_path, HEAD + GRID + MORE), tmp_path / "out")
    assert made == ["more"]
    assert len(found.reused) == 4
    assert before.items() <= contents(tmp_path / "out").items()
    with pytest.raises(WriteError, match="the secret, the data, the settings"):
        lv.run(study_of(tmp_path, HEAD + GRID + MORE), tmp_path / "out", secret=SECRET)


def test_the_count_of_what_was_there_is_of_all_that_is_planned(tmp_path, capsys):
    from larvatus.cli.main import main

    study_of(tmp_path, HEAD + GRID + ROUNDED)
    command = ["run", str(tmp_path / "study.toml"), "-o", str(tmp_path / "out")]
    assert main(command) == 5  # one release is not made
    assert main(command) == 5
    assert "5 of 6 releases were already finished" in " ".join(capsys.readouterr().err.split())


def test_two_at_a_time_give_the_same(tmp_path):
    study = study_of(tmp_path, HEAD + GRID + ROUNDED)
    one, two = (lv.run(study, tmp_path / str(n), secret=SECRET, execution=lv.Execution(jobs=n)) for n in (1, 2))
    assert one == two
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert [n.name for n in two.not_made] == ["rounded, reverse-mapped"]


def test_a_candidate_that_fails_is_listed_and_the_others_are_there(tmp_path):
    found = lv.run(study_of(tmp_path, HEAD + ROUNDED + GRID), tmp_path / "out", secret=SECRET)
    assert [c.name for c in found.candidates] == ["rounded", *(f"noise variance={v}" for v in (0.1, 0.2, 0.5, 1.0))]
    assert [n.name for n in found.not_made] == ["rounded, reverse-mapped"]
    assert "preserves the order of values" in found.not_made[0].reason
    row = next(r for r in found.tidy() if r["level"] == "not made")
    assert (row["release"], row["of"]) == ("rounded, reverse-mapped", found.not_made[0].reason)
    assert found.plain()["not_made"][0]["reason"] == found.not_made[0].reason
    assert found.meets("secure")[-1]["which"].startswith("not made: ")
    assert len(list((tmp_path / "out" / "releases").glob("*.parquet"))) == 5


def test_an_error_that_nobody_foresaw_loses_nothing_and_quotes_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("LARVATUS_DEBUG", raising=False)
    mask = larvatus.pipeline.mask

    def broken(*args, name=None, **kwargs):
        if name == "more":
            raise ZeroDivisionError("value 12345.678")
        return mask(*args, name=name, **kwargs)

    monkeypatch.setattr("larvatus.pipeline.compare_releases.mask", broken)
    found = lv.run(study_of(tmp_path, HEAD + GRID + MORE), secret=SECRET)
    assert len(found.candidates) == 4
    assert "ZeroDivisionError" in found.not_made[0].reason
    assert "12345" not in found.not_made[0].reason


def test_where_all_fail_the_first_error_is_raised_and_nothing_is_left(tmp_path):
    text = HEAD + ROUNDED.replace('"both"', "true")
    with pytest.raises(MaskError, match="preserves the order of values"):
        lv.run(study_of(tmp_path, text), tmp_path / "out", secret=SECRET)
    assert not (tmp_path / "out").exists()


def test_what_is_kept_is_for_the_owner_and_holds_no_secret_and_no_release(tmp_path):
    study = study_of(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lv.run(
            study, tmp_path / "out", secret=SECRET,
            execution=lv.Execution(progress=stopped_after(tmp_path / "out", 2)),
        )
    kept = tmp_path / "out" / ".larvatus-cache"
    for _ in range(2):
        assert kept.stat().st_mode & 0o777 == 0o700
        for file in (p for p in kept.rglob("*") if p.is_file()):
            assert SECRET not in file.read_bytes()
            assert SECRET.hex().encode() not in file.read_bytes()
        lv.run(study, tmp_path / "out", secret=SECRET)
    assert sorted({p.name for p in kept.rglob("*") if p.is_file()}) == [".salt", "candidate.json", "written.json"]
    assert (tmp_path / "out" / "internal" / "pairings").stat().st_mode & 0o777 == 0o700
    assert len(list((tmp_path / "out" / "internal" / "pairings").iterdir())) == 4


def test_a_cache_of_an_earlier_version_keeps_its_name(tmp_path):
    assert cache_in_output(tmp_path).name == ".larvatus-cache"
    (tmp_path / ".kept").mkdir()
    assert cache_in_output(tmp_path).name == ".kept"
    (tmp_path / ".larvatus-cache").mkdir()
    assert cache_in_output(tmp_path).name == ".larvatus-cache"


def test_one_run_at_a_time_in_a_folder(tmp_path):
    study = study_of(tmp_path)
    (tmp_path / "out" / ".larvatus-cache").mkdir(parents=True)
    with lock(tmp_path / "out" / ".larvatus-cache"), pytest.raises(WriteError, match="in use by another run"):
        lv.run(study, tmp_path / "out", secret=SECRET)


def test_everything_anew_on_request(tmp_path, made):
    study = study_of(tmp_path)
    lv.run(study, tmp_path / "out")
    before = contents(tmp_path / "out")
    made.clear()
    with pytest.raises(WriteError, match="exists already"):
        lv.run(study, tmp_path / "out", fresh=True)
    lv.run(study, tmp_path / "out")
    assert (made, contents(tmp_path / "out")) == ([], before)
    lv.run(study, tmp_path / "out", fresh=True, overwrite=True)
    assert len(made) == 4
    assert contents(tmp_path / "out") != before


def test_planned_releases_are_compared_made_here_and_kept(tmp_path, made):
    data = lv.read(people(120), confidential=["income", "wealth"], non_confidential=["age"])
    planned = {"name": "n", "steps": [{"method": "additive_noise", "grid": {"variance": [0.1, 1.0]}}], "reverse_mapped": "both"}
    made_before = lv.mask(data, "additive_noise(variance=3)", secret=SECRET, name="mine")
    asked = {"attacks": ["nearest_record"], "measures": ["moments"], "secret": SECRET,
             "execution": lv.Execution(cache_dir=tmp_path / "keep")}
    found = lv.compare(data, [planned, made_before], **asked)
    assert [c.name for c in found.candidates] == [
        "n variance=0.1", "n variance=0.1, reverse-mapped", "n variance=1.0", "n variance=1.0, reverse-mapped", "mine",
    ]
    made.clear()
    assert lv.compare(data, [planned, made_before], **asked) == found
    assert made == []
    with pytest.raises(StudyError, match="jobs: 1 or 2"):
        lv.compare(data, [planned], execution=lv.Execution(jobs=3))


def test_releases_are_let_go_and_nothing_per_record_is_held(monkeypatch, quick_collection):
    data = lv.read(people(120), confidential=["income", "wealth"], non_confidential=["age"])
    alive: list[int] = []
    mask, release = larvatus.pipeline.mask, lv.Release  # the package looks a name up again at each use

    def counted(*args, **kwargs):
        gc.collect()
        alive.append(sum(type(o) is release for o in gc.get_objects()))
        return mask(*args, **kwargs)

    monkeypatch.setattr("larvatus.pipeline.compare_releases.mask", counted)
    planned = {"name": "n", "steps": [{"method": "additive_noise", "grid": {"variance": [0.1 * i for i in range(1, 6)]}}]}
    found = lv.compare(data, [planned], ["nearest_record"], ["moments"], secret=SECRET, execution=lv.Execution(jobs=1))
    assert len(alive) == 5
    assert max(alive) == alive[0]
    assert all(s.by_record is None and s.records is None for c in found.candidates for s in c.scores)


def test_the_same_comparison_on_disk(tmp_path):
    study_of(tmp_path)
    tables = []
    for engine in ("memory", "duckdb"):
        data = lv.read(tmp_path / "people.parquet", confidential=["income", "wealth"], non_confidential=["age"], engine=engine)
        planned = {"name": "n", "steps": [{"method": "additive_noise", "grid": {"variance": [0.1, 1.0]}}, "reverse_map"]}
        made = lv.compare(
            data, [planned, {"name": "s", "steps": ["data_shuffling"]}], ["nearest_record"], ["moments", "correlation"],
            limits={"nearest_record": {"above_chance": 0.1}}, secret=SECRET,
            scoring=lv.Scoring(combine={"both": {"worst": ["moments", "correlation"]}}),
            execution=lv.Execution(cache_dir=tmp_path / engine),
        )
        tables.append((made.wide(), made.meets().column("meets"), [c.name for c in made.candidates]))
    (memory, *rest), (disk, *other) = tables
    assert rest == other
    for one, two in zip(memory, disk, strict=True):
        assert one == pytest.approx(two, abs=1e-9)


def test_progress_tells_the_place_and_the_time_left(tmp_path):
    said: list[str] = []
    lv.run(study_of(tmp_path), secret=SECRET, execution=lv.Execution(progress=lambda doing, done, total: said.append(doing)))
    assert said[0].startswith("release 1 of 4; noise variance=0.1: masking")
    assert any(re.match(r"release 4 of 4, (about \d+ s|a few seconds) left; noise variance=1\.0: attacking", s) for s in said)


def test_a_helper_that_is_ended_from_outside_gives_its_work_back(tmp_path, monkeypatch):
    from larvatus.pipeline.candidates import unit_runner

    ended: list[object] = []

    class Ended(unit_runner.Worker):
        def call(self, function, argument, progress):
            ended.append(argument)
            self.stop()
            return super().call(function, argument, progress)

    monkeypatch.setattr(unit_runner, "Worker", Ended)
    study = study_of(tmp_path)
    one, two = (lv.run(study, secret=SECRET, execution=lv.Execution(jobs=n)).plain() for n in (1, 2))
    assert two == one
    assert len(ended) == 1


def test_a_helper_starts_where_it_pays(tmp_path, monkeypatch):
    from larvatus.core.worker_process import WorkerGone
    from larvatus.pipeline.candidates import parallel, unit_runner

    started: list[object] = []

    def refused(state: object, *_: object) -> None:
        started.append(state)
        raise WorkerGone

    monkeypatch.setattr(unit_runner, "Worker", refused)
    study = study_of(tmp_path)
    lv.run(study, secret=SECRET)
    assert started == []
    monkeypatch.setattr(unit_runner, "WORTH", 0.0)
    lv.run(study, secret=SECRET)
    assert len(started) == 1
    started.clear()
    monkeypatch.setattr(parallel, "usable_memory", lambda: 10_000)
    lv.run(study, secret=SECRET)
    assert started == []
