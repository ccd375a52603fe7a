"""The worker: cancel, pause, kill and resume lose nothing that was finished; releases are those of `larvatus run`."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from desk.running_desk import RunningDesk, running_desk
from labelled_sample import read_spss, write_spss
from larvatus.desk.study_edits import with_release, with_role
from larvatus.desk.study_folder import StudyFolder
from larvatus.desk.work import jobs, process

LARVATUS = [sys.executable, "-m", "larvatus"]
QUICK = {"attack": [{"method": "nearest_record"}], "measure": [{"method": "moments"}, {"method": "correlation"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of which each test makes a study of its own."""
    made = tmp_path_factory.mktemp("work")
    (made / "people.csv").write_text("income,age,region\n" + "".join(
        f"{(i * 7919) % 1000 + i},{20 + i * 13 % 60},{'abc'[i % 3]}\n" for i in range(400)))
    return made


@pytest.fixture(scope="module")
def desk(folder: Path):
    """Its worker does the jobs of all tests, as it does those of a person; a killed worker is replaced."""
    with running_desk(folder) as running:
        running.enter()
        yield running


def ready_study(desk: RunningDesk, releases: int = 2) -> tuple[str, StudyFolder]:
    """A study with quick attacks and some releases."""
    place = desk.open("people.csv")
    study = desk.server.desk.study(place.rpartition("/")[2])
    plain = with_role(study.plain, "income", "confidential")
    for i in range(releases):
        plain = with_release(plain, f"noise {i + 1}", [{"method": "additive_noise", "variance": 0.1 * (i + 1)}])
    study.change({**plain, **QUICK}, "release")
    assert study.check().problems == ()
    return place, study


def test_the_study_file_gives_the_same_bytes_on_the_command_line(desk: RunningDesk, tmp_path: Path):
    place, study = ready_study(desk)
    assert desk.act(place, "run/start").status == 303
    desk.wait(place)
    assert desk.server.desk.worker.latest(study.id, "run").state == "done"
    subprocess.run([*LARVATUS, "run", str(study.path / "study.toml"), "-o", str(tmp_path / "again"), "--secret-file",
                    str(study.path / "secret.txt"), "--quiet"], check=True)
    files = sorted(p.name for p in (study.results() / "releases").iterdir())
    assert len([f for f in files if f.endswith(".csv") and "codebook" not in f]) == 2
    for name in files:
        if not name.endswith(".json"):  # manifests state when they were written
            assert (study.results() / "releases" / name).read_bytes() == (tmp_path / "again" / "releases" / name).read_bytes()


@pytest.mark.slow
def test_a_labelled_study_gives_the_same_bytes_on_the_command_line(desk: RunningDesk, folder: Path, tmp_path: Path):
    """With coarser keys, other types and labels, as clicks make them."""
    write_spss(folder / "survey.sav")
    place = desk.open("survey.sav")
    study = desk.server.desk.study(place.rpartition("/")[2])
    desk.act(place, "open/value_label", column="sex", code="1", label="Man")
    desk.act(place, "open/label", column="income", label="Income in a year")
    desk.act(place, "keys/all")
    desk.wait(place)
    desk.act(place, "masks/add", method="data_shuffling", name="shuffled")
    desk.act(place, "masks/coarser")
    study.change({**study.plain, **QUICK}, "release")
    assert len(study.plain["release"][0]["steps"]) > 1
    desk.act(place, "run/start")
    desk.wait(place)
    assert desk.server.desk.worker.latest(study.id, "run").state == "done"
    subprocess.run([*LARVATUS, "run", str(study.path / "study.toml"), "-o", str(tmp_path / "again"), "--secret-file",
                    str(study.path / "secret.txt"), "--quiet"], check=True)
    made = study.results() / "releases" / "shuffled.sav"
    assert made.read_bytes() == (tmp_path / "again" / "releases" / "shuffled.sav").read_bytes()
    _, about = read_spss(made)
    assert about.variable_value_labels["sex"][1.0] == "Man"
    assert about.column_names_to_labels["income"] == "Income in a year"


@pytest.mark.slow
def test_the_script_of_the_desk_gives_the_same_bytes(desk: RunningDesk):
    place, study = ready_study(desk, 1)
    desk.act(place, "run/start")
    desk.wait(place)
    (study.path / "study.py").write_text(desk.get(f"{place}/study.py").text)
    subprocess.run([sys.executable, "study.py"], cwd=study.path, check=True, stdout=subprocess.DEVNULL)
    file = Path("releases") / "noise-1.csv"
    assert (study.results() / file).read_bytes() == (study.path / "results-by-script" / file).read_bytes()


def test_approval_export_and_verification(desk: RunningDesk):
    place, study = ready_study(desk)
    desk.act(place, "run/start")
    desk.wait(place)
    own = {"release": "noise 2", "by": "A. Keeper", "reason": "It serves the course."}
    for empty in own:
        assert desk.act(place, "decide/approve", **{**own, empty: " "}, despite="1").status == 422, empty
    refused = desk.act(place, "decide/approve", **own)
    assert refused.status == 422, "a release that is not shown to be safe needs a tick"
    assert "tick that you approve it all the same" in refused.text
    assert desk.act(place, "decide/approve", despite="1", **own).status == 303
    desk.wait(place)
    page = desk.get(f"{place}/decide").text
    assert "A. Keeper" in page
    assert (study.results() / "report_public.html").is_file()
    desk.act(place, "decide/export", release="noise 2", name="shared", format=".csv")
    desk.wait(place)
    shared = study.path / "shared" / "shared.csv"
    assert shared.read_bytes() == next((study.results() / "releases").glob("noise-2.csv")).read_bytes()
    again = desk.act(place, "decide/export", release="noise 2", name="shared", format=".csv")
    assert again.status == 422
    assert "shared.csv exists already. Choose another name, or tick" in again.text
    assert desk.act(place, "decide/export", release="noise 2", name="shared", format=".csv", overwrite="1").status == 303
    desk.wait(place)
    where = desk.server.desk.root.relative(shared)
    desk.act(place, "decide/verify", path=where, release="noise 2")
    desk.wait(place)
    assert "is the file that was released" in desk.get(f"{place}/decide").text
    shared.write_bytes(shared.read_bytes().replace(b"a", b"b", 1))
    desk.act(place, "decide/verify", path=where, release="noise 2")
    desk.wait(place)
    assert "is not the file that was released" in desk.get(f"{place}/decide").text


@pytest.mark.slow
def test_an_approved_release_is_not_overwritten(desk: RunningDesk):
    place, study = ready_study(desk, 1)
    desk.act(place, "run/start")
    desk.wait(place)
    desk.act(place, "decide/approve", release="noise 1", by="A. Keeper", reason="It serves the course.", despite="1")
    desk.wait(place)
    before = {p: p.read_bytes() for p in study.results().rglob("*") if p.is_file()}
    study.change(with_release(study.plain, "more noise", [{"method": "additive_noise", "variance": 0.9}]), "release")
    desk.act(place, "run/start")
    desk.wait(place)
    assert study.results().name == "results-2"
    assert (study.results() / "releases").is_dir()
    assert {p: p.read_bytes() for p in before} == before




@pytest.mark.slow
def test_a_file_masked_elsewhere_is_scored_beside_the_releases(desk: RunningDesk, folder: Path):
    """Also without a run; a file in another order is refused, unless an unmasked column confirms the order."""
    place, _ = ready_study(desk, 1)
    rows = (folder / "people.csv").read_text().splitlines()
    other = [rows[0], *(f"{int(r.split(',')[0]) + i % 7},{r.split(',', 1)[1]}" for i, r in enumerate(rows[1:]))]
    (folder / "elsewhere.csv").write_text("\n".join(other) + "\n")
    (folder / "shuffled.csv").write_text("\n".join([other[0], *reversed(other[1:])]) + "\n")
    desk.act(place, "compare/elsewhere", path="elsewhere.csv", row_order="keep")
    desk.wait(place)
    page = desk.get(f"{place}/compare").text
    assert "elsewhere.csv</h3>" in page
    desk.act(place, "run/start")
    desk.wait(place)
    page = desk.get(f"{place}/compare").text
    assert "elsewhere.csv</h3>" in page
    assert "noise 1</h3>" in page
    assert "elsewhere.csv" not in desk.get(f"{place}/decide").text.partition("<fieldset>")[2].partition("</fieldset>")[0]
    desk.act(place, "compare/elsewhere", path="shuffled.csv")
    desk.wait(place)
    assert "shuffled.csv</h3>" not in desk.get(f"{place}/compare").text
    desk.act(place, "compare/drop", name="elsewhere.csv")
    assert "elsewhere.csv</h3>" not in desk.get(f"{place}/compare").text


@pytest.mark.slow
def test_a_search_under_limits_adds_a_release(desk: RunningDesk):
    place, study = ready_study(desk, 1)
    asked = {"vary": "additive_noise.variance", "low": "0.5", "high": "4", "trials": "2"}
    assert desk.act(place, "compare/search", **asked).status == 422, "a search needs limits"
    desk.act(place, "compare/above", above="90")
    assert desk.act(place, "compare/search", **{**asked, "low": "9"}).status == 422
    assert desk.act(place, "compare/search", **asked).status == 303
    desk.wait(place, 200)
    job = desk.server.desk.worker.latest(study.id, "search")
    assert job.state == "done", job.error
    assert desk.act(place, "compare/add_found").headers["location"].endswith("/run")
    step = study.plain["release"][-1]["steps"][0]
    assert step["method"] == "additive_noise"
    assert 0.5 <= step["variance"] <= 4


def test_limits_are_judged_at_once(desk: RunningDesk):
    place, study = ready_study(desk, 1)
    desk.act(place, "run/start")
    desk.wait(place)
    desk.act(place, "compare/above", above="0")
    assert "0 of 1 releases pass" in desk.get(f"{place}/compare").text
    desk.act(place, "compare/above", above="100")
    assert "1 of 1 releases pass" in desk.get(f"{place}/compare").text
    assert study.plain["limits"] == {"every_attack": {"above_baseline": 1.0}}
    assert "The study was changed after" not in desk.get(f"{place}/compare").text, "limits need no new run"
    for most, passing in (("0", 0), ("100", 1)):
        desk.act(place, "compare/loss", loss=most)
        assert f"{passing} of 1 releases pass" in desk.get(f"{place}/compare").text
    assert study.plain["limits"]["mean_loss"] == 1.0
    assert "beyond the limit on the mean loss" in desk.get(f"{place}/compare").text
    desk.act(place, "compare/no_limits")
    assert "limits" not in study.plain


def test_certificates_and_the_budget_are_shown_beside_the_attacks(desk: RunningDesk, folder: Path):
    place, study = ready_study(desk, 1)
    desk.act(place, "run/start")
    desk.wait(place)
    assert "What no intruder can do" not in desk.get(f"{place}/compare").text
    desk.act(place, "run/certify", certify="yes")
    assert study.plain["certify"] is True
    assert "The study was changed after" in desk.get(f"{place}/compare").text, "certificates need a new run"
    key = folder / "keeper.key"
    key.write_bytes(b"a key that nobody else knows")
    key.chmod(0o600)
    study.change({**study.plain, "budget": {"key_file": "../keeper.key"}}, "certify")
    desk.act(place, "run/start")
    desk.wait(place)
    page = desk.get(f"{place}/compare").text
    assert "What no intruder can do" in page
    assert "What all releases tell together" in page
    assert "no intruder who knows one person" in page, "the map says it, too"
    assert "Differential privacy: none" in page
    assert "the released rows are in random order" in page, "the bounds are shown with their assumptions"
    desk.act(place, "run/certify")
    assert "certify" not in study.plain


def test_several_values_make_several_releases(desk: RunningDesk):
    place, study = ready_study(desk, 1)
    answer = desk.act(place, "masks/set", release="0", step="0", **{"setting.variance": "0.1; 0.2; 0.4"})
    assert answer.status == 303
    assert [r["steps"][0]["variance"] for r in study.plain["release"]] == [0.1, 0.2, 0.4]
    assert len({r["name"] for r in study.plain["release"]}) == 3
    assert desk.act(place, "masks/set", release="0", step="0", **{"setting.variance": "0.1; -1"}).status == 422
    assert len(study.plain["release"]) == 3


def wait_for(what, seconds: float = 30.0):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def start_long_run(desk: RunningDesk, releases: int = 6) -> tuple[str, StudyFolder]:
    """A run that takes a while: all attacks on several releases."""
    place, study = ready_study(desk, releases)
    plain = {n: v for n, v in study.plain.items() if n not in QUICK}
    study.change(plain, "release")
    desk.act(place, "run/start")
    wait_for(lambda: (j := desk.server.desk.worker.latest(study.id, "run")) and j.done > 2, 60)
    return place, study


def test_cancel_ends_within_two_seconds_and_the_work_can_be_continued(desk: RunningDesk):
    place, study = start_long_run(desk)
    job = desk.server.desk.worker.latest(study.id, "run")
    began = time.monotonic()
    desk.post(f"{place}/job/cancel", {"job": "run"})
    wait_for(lambda: job.is_over, 10)
    assert time.monotonic() - began < 4, "two seconds, and as much again on a busy machine"
    assert job.state == "cancelled"
    page = desk.get(f"{place}/run").text
    assert "interrupted" in page
    assert "Continue the work" in page


@pytest.mark.slow
def test_a_run_continues_after_the_desk_was_closed(tmp_path: Path):
    """A release that was finished before is not made again."""
    (tmp_path / "people.csv").write_text("income,age,region\n" + "".join(
        f"{(i * 7919) % 1000 + i},{20 + i * 13 % 60},{'abc'[i % 3]}\n" for i in range(300)))
    with running_desk(tmp_path) as desk:
        desk.enter()
        _, study = start_long_run(desk, 3)
        job = desk.server.desk.worker.latest(study.id, "run")
        wait_for(lambda: any(done == total for _, done, total, _ in job.pieces), 240)
    with running_desk(tmp_path) as desk:
        desk.enter()
        again, = desk.server.desk.recent()
        place = f"/study/{again.id}"
        assert "Continue the work" in desk.get(f"{place}/run").text
        desk.act(place, "run/start")
        desk.wait(place, 240)
        job = desk.server.desk.worker.latest(again.id, "run")
        assert job.state == "done", job.error
        assert len(job.found["made"]) == 3
        assert len(job.found["reused"]) >= 1


@pytest.mark.slow
def test_pause_stops_the_work_and_continue_resumes_it(desk: RunningDesk):
    place, study = start_long_run(desk)
    worker = desk.server.desk.worker
    job = worker.latest(study.id, "run")
    desk.post(f"{place}/job/pause", {"job": "run"})
    time.sleep(0.5)
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(worker._process.pid)], capture_output=True, text=True).stdout
    children = found.split()
    states = [Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split()[0] for p in children]
    assert states == ["T"]
    assert job.state == "paused"
    desk.post(f"{place}/job/continue", {"job": "run"})
    assert job.state == "running"
    desk.post(f"{place}/job/pause", {"job": "run"})
    desk.post(f"{place}/job/cancel", {"job": "run"})
    wait_for(lambda: job.is_over, 10)
    assert job.state == "cancelled", "a paused job can be cancelled"


@pytest.mark.slow
def test_a_killed_worker_is_reported_and_replaced(desk: RunningDesk):
    place, study = start_long_run(desk)
    worker = desk.server.desk.worker
    job = worker.latest(study.id, "run")
    os.kill(worker._process.pid, signal.SIGKILL)
    wait_for(lambda: job.is_over, 20)
    assert job.state == "failed"
    assert "ended from outside" in desk.get(f"{place}/run").text
    study.change({**study.plain, **QUICK}, "release")
    desk.act(place, "run/start")
    desk.wait(place)
    assert worker.latest(study.id, "run").state == "done"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
@pytest.mark.parametrize("number", [
    signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
])
def test_the_command_ends_with_its_terminal(tmp_path: Path, number: signal.Signals):
    """With its worker, and without a private file; also if it is killed, which the supervisor cannot notice."""
    home = tmp_path / "temporary"
    home.mkdir()
    (tmp_path / "data").mkdir()
    made = subprocess.Popen([*LARVATUS, "desk", str(tmp_path / "data"), "--no-browser"], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "LARVATUS_TEMP": str(home), "PYTHONUNBUFFERED": "1"}, start_new_session=True)
    try:
        lines = [made.stdout.readline() for _ in range(3)]
        assert "file://" in lines[2]
        assert list(home.iterdir())
        workers = wait_for(lambda: [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()
                                    and (_session(p) == made.pid or _is_worker_of(p, made.pid))])
        assert workers
        os.kill(made.pid, number)
        made.wait(15)
        wait_for(lambda: not any(_alive(p) for p in workers), 15)
        if number != signal.SIGKILL:
            assert not list(home.iterdir())
        else:
            wait_for(lambda: not list(home.iterdir()), 15)
    finally:
        if made.poll() is None:
            made.kill()
        made.stdout.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_a_closed_terminal_window_ends_the_desk(tmp_path: Path):
    """A real terminal, whose window is closed."""
    import fcntl
    import pty
    import termios

    window, inside = pty.openpty()
    home = tmp_path / "temporary"
    home.mkdir()
    made = subprocess.Popen([*LARVATUS, "desk", str(tmp_path), "--no-browser"], stdin=inside, stdout=inside, stderr=inside,
                            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                            env={**os.environ, "LARVATUS_TEMP": str(home)})
    os.close(inside)
    try:
        said = b""
        while b"Press Enter" not in said:
            said += os.read(window, 4096)
        processes = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _session(p) == made.pid]
        os.close(window)
        made.wait(30)
        wait_for(lambda: not any(_alive(p) for p in processes), 15)
        wait_for(lambda: not list(home.iterdir()), 15)
    finally:
        if made.poll() is None:
            made.kill()


def test_what_the_worker_imports_for_a_job_is_there():
    """A module of another name would be passed over, and each job would import it again."""
    assert process._MODULES.keys() <= jobs.JOBS.keys()
    for name in {name for names in process._MODULES.values() for name in names}:
        assert importlib.util.find_spec(name) is not None, name


def _session(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, ValueError):
        return -1


def _is_worker_of(process: Path, parent: int) -> bool:
    try:
        return b"desk.work.process" in (process / "cmdline").read_bytes() and _session(
            Path("/proc") / (process / "stat").read_text().rpartition(")")[2].split()[1]) == parent
    except OSError:
        return False


def _alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
