"""Set up a private environment in .venv and run one verb in it. Standard library only: `python3 bootstrap.py help`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

OLDEST, OLDEST_JAVA = (3, 11), 17
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LARVATUS = PYTHON.with_name("larvatus.exe" if os.name == "nt" else "larvatus")
STAMP = VENV / "larvatus-stamp.json"
UNFINISHED = ROOT / ".bootstrap" / "unfinished"
LOCK = ROOT / ".bootstrap" / "lock"
DEMO, LOOK, PEERS, MATRIX, DIST = ROOT / "demo", ROOT / "look", ROOT / ".peers", ROOT / ".matrix", ROOT / "dist"
MATRIX_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
BUILT = "numpy,scipy,numba,llvmlite,pyarrow,duckdb,pydantic-core"
OLDEST_VERSIONS = ("numpy==2.1.0", "scipy==1.14.0", "numba==0.61.0", "duckdb==1.2.0")
OLDEST_FOR = {"3.13": ("numpy==2.1.0", "scipy==1.14.1", "numba==0.61.0", "duckdb==1.2.0")}  # the first ones built for it
PEER_VERSIONS = {"anonymeter": "1.1.0", "sdmetrics": "0.32.0", "pycanon": "1.3.6"}

EXTRAS: dict[str, frozenset[str]] = {
    "desk": frozenset({"analysis", "desk", "files", "search"}),
    "pictures": frozenset({"dev"}),
    "demo": frozenset(),
    "look": frozenset({"dev"}),
    "gallery": frozenset({"analysis"}),
    "docs": frozenset(),
    "sbom": frozenset(),
    "dist": frozenset({"dist"}),
    "site": frozenset({"analysis", "boosting", "desk", "duckdb", "files", "search", "site"}),  # what docs/index.md installs
    "test": frozenset({"dev", "spark", "sail"}),
    "check": frozenset({"dev", "spark", "connect", "sail", "kubernetes", "stores"}),
    "bench": frozenset({"dev"}),
    "matrix": frozenset({"dev"}),
    "fuzz": frozenset({"dev"}),
    "env": frozenset({"dev", "spark", "sail"}),
}
MEMORY_FOR_FILES = 4 * 2**30  # bytes
WORKERS = (os.cpu_count() or 1) + 2  # a test that waits for a browser, Spark, a program or a signal leaves its core free
PYTEST = ("-m", "pytest", "-q", "-n", str(WORKERS), "--dist", "loadgroup", "--durations=10", "--durations-min=1.0")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)
WIDTHS = {"desktop": (1280, 4000), "phone": (390, 7000)}


def say(text: str) -> None:
    print(text, flush=True)


# --- the environment ---------------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """A digest that changes if the requirements change or the folder has moved."""
    digest = hashlib.sha256(str(ROOT).encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update(b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


def stamped() -> tuple[str, frozenset[str]]:
    """The fingerprint and extras of the last completed installation."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        return str(stamp["fingerprint"]), frozenset(stamp["extras"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", frozenset()


def needed(verb: str) -> frozenset[str]:
    """The extras of a verb; for Spark also a Java from the package index if the machine has none that is new enough."""
    extras = EXTRAS[verb]
    return extras | {"java"} if "spark" in extras and java_version() < OLDEST_JAVA else extras


def java_version() -> int:
    """Major version of the Java that Spark would find; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    ok, said = quiet([f"{home}/bin/java" if home else "java", "-version"])
    found = re.search(r'version "(?:1\.)?([0-9]+)', said) if ok else None
    return int(found[1]) if found else 0


def ready(verb: str) -> None:
    """Install what the verb needs into .venv, unless it is there already."""
    with one_at_a_time():
        wanted = fingerprint()
        found, extras = stamped()
        asked = needed(verb)
        if found == wanted and asked <= extras and PYTHON.exists():
            return
        if UNFINISHED.exists() or not usable(PYTHON):
            create()
        extras |= asked
        STAMP.unlink(missing_ok=True)
        mark_unfinished()
        install(extras)
        temporary = STAMP.with_suffix(".tmp")
        temporary.write_text(json.dumps({"fingerprint": wanted, "extras": sorted(extras)}), encoding="utf-8")
        os.replace(temporary, STAMP)
        UNFINISHED.unlink()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let simultaneous calls take turns; the lock is released when the process ends, however it ends."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as file:
        with suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def mark_unfinished() -> None:
    UNFINISHED.parent.mkdir(exist_ok=True)
    UNFINISHED.touch()


def python_of(target: Path) -> Path:
    """The Python of a virtual environment."""
    return target / PYTHON.relative_to(VENV)


def usable(python: Path) -> bool:
    """Whether a virtual environment holds a working Python, new enough, with pip."""
    check = f"import sys, pip; sys.exit(sys.version_info < {OLDEST} or sys.prefix == sys.base_prefix)"
    return python.exists() and quiet([str(python), "-c", check])[0]


def create() -> None:
    """Create .venv in the first way that works on this machine."""
    say("creating .venv")
    mark_unfinished()
    if not created(VENV):
        sys.exit(f"A virtual environment could not be created. Install the missing tool with: {remedy()}")


def created(folder: Path) -> bool:
    """Create a virtual environment in a folder; return whether some way worked."""
    for way in ways(folder):
        shutil.rmtree(folder, ignore_errors=True)
        if all(quiet(command)[0] for command in way) and usable(python_of(folder)):
            return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def ways(folder: Path) -> Iterator[list[list[str]]]:
    """Commands that create a virtual environment with pip, best first; commands of missing tools simply fail."""
    here, target, python = sys.executable, str(folder), str(python_of(folder))
    yield [[here, "-m", "venv", target]]
    yield [[here, "-m", "virtualenv", target]]
    yield [["virtualenv", "-p", here, target]]
    yield [["uv", "venv", "--seed", "--python", here, target]]
    yield [[here, "-m", "venv", "--without-pip", target], [here, "-m", "pip", "--python", python, "install", "pip"]]


def remedy() -> str:
    if Path("/etc/debian_version").exists():
        return f"sudo apt install python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return f"{sys.executable} -m pip install --user virtualenv"


def install(extras: frozenset[str]) -> None:
    """Install the package (editable) and its requirements at the tested versions."""
    what = "." + (f"[{','.join(sorted(extras))}]" if extras else "")
    say(f"installing larvatus{what[1:]} into .venv (only if something changed; a minute or two the first time)")
    pip = [str(PYTHON), "-m", "pip", "install", "--no-compile", "--progress-bar", "off", "-c", "constraints.txt", "-e", what]
    ok, text = quiet(pip)
    if not ok:
        say(text.strip())
        sys.exit("The installation failed; see the output of pip above. Run the same command again to retry.")
    ok, packages = quiet([str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    if ok:
        compile_modules(packages.strip())
    compile_loops()


def compile_modules(packages: str) -> None:
    """Store the byte code of what was installed, on all cores, which pip does on one; tests of other packages are left out.

    A file that cannot be compiled is no failure: pip passes over it too.
    """
    how = ["-q", "-j", str(os.cpu_count() or 1), "-x", r"site-packages[/\\].*[/\\]tests?[/\\]"]
    quiet([str(PYTHON), "-W", "ignore", "-m", "compileall", *how, packages])


def compile_loops() -> None:
    """Compile loops of the package, on two cores; what is not compiled here is compiled when it is first needed."""
    say("compiling loops of larvatus (seconds, once)")
    command = [str(PYTHON), "-m", "larvatus.cli.compile_ahead"]
    parts = [subprocess.Popen([*command, str(part), "2"], cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for part in range(2)]
    for part in parts:
        part.wait()


def quiet(command: Sequence[str]) -> tuple[bool, str]:
    """Run a command silently; return whether it succeeded, and its output."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )
    except OSError as error:
        return False, f"{command[0]}: {error.strerror}\n"
    return done.returncode == 0, done.stdout


def environment(**more: str) -> dict[str, str]:
    """The environment variables of the caller, without those that would add packages of another Python.

    Byte code is always stored: otherwise each process of the tests compiles the package and each worker all tests again.
    """
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_USER", "PYTHONDONTWRITEBYTECODE"}
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    return {**kept, "PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", **more}


def run(arguments: Sequence[str], program: Path = PYTHON, **more: str) -> int:
    """Run a program of the environment (default: its Python) with visible output; return its exit code."""
    return subprocess.run([str(program), *arguments], cwd=ROOT, env=environment(**more)).returncode


# --- verbs -------------------------------------------------------------------------------------------------------------


def env(rest: Sequence[str]) -> int:
    """set up .venv with everything the tests need"""
    say(f"ready: {PYTHON.relative_to(ROOT)}")
    return 0


def desk(rest: Sequence[str]) -> int:
    """open the desk in the browser, for the files in a folder (default: desk/)"""
    folder = Path(rest[0] if rest else "desk").expanduser()
    folder.mkdir(exist_ok=True, parents=True)
    return run(["desk", str(folder.absolute()), *rest[1:]], LARVATUS)


def pictures(rest: Sequence[str]) -> int:
    """take the pictures of the desk in docs/guides/desk/ again"""
    return run(["docs/build_desk_pictures.py", *rest], PYTHONPATH=str(ROOT / "tests"))


def demo(rest: Sequence[str]) -> int:
    """mask, attack, measure and compare the built-in data; replaces demo/, see demo/report.html"""
    return run(["demo", "-o", "demo/", "--overwrite", *rest], LARVATUS)


def test(rest: Sequence[str]) -> int:
    """style, types and all tests that are not marked slow"""
    return verdict(["-m", "not slow", *rest])


def check(rest: Sequence[str]) -> int:
    """the same with slow tests, and with new examples for tests that draw them"""
    return verdict(list(rest), LARVATUS_NEW_EXAMPLES="1")


def verdict(pytest: Sequence[str], **more: str) -> int:
    """Run all three checks, even if one fails; types are checked while tests run, which keeps both cores busy."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    codes = {"ruff": run(["-m", "ruff", "check"])}
    with in_memory() as scratch, subprocess.Popen([str(PYTHON), "-m", "mypy"], cwd=ROOT, env=environment(),
                                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as types:
        codes["pytest"] = run([*PYTEST, *pytest], **threads, **scratch, **more)
        print(types.communicate()[0], end="", flush=True)
    codes["mypy"] = types.returncode
    failed = [name for name, code in codes.items() if code]
    say("failed: " + ", ".join(failed) if failed else "all passed: " + ", ".join(codes))
    return 1 if failed else 0


@contextmanager
def in_memory() -> Iterator[dict[str, str]]:
    """Variables that put the temporary files of the tests into memory if there is room; a folder that the caller set stays.

    Tests create, sync and delete many thousands of small files. On a disk that takes a tenth of the processor time.
    """
    memory = Path("/dev/shm")
    try:
        found = os.statvfs(memory)
        fits = found.f_bavail * found.f_frsize >= MEMORY_FOR_FILES and not found.f_flag & os.ST_NOEXEC
    except (OSError, AttributeError):  # no such folder, or no such system
        fits = False
    if not fits or "TMPDIR" in os.environ:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="larvatus-tests-", dir=memory, ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


def bench(rest: Sequence[str]) -> int:
    """run the benchmarks behind the speed claims"""
    return run(["benchmarks/run.py", *rest])


def peers(rest: Sequence[str]) -> int:
    """install other tools in .peers/ for benchmarks/peers.py"""
    missing = []
    with one_at_a_time():
        for name in PEER_VERSIONS:
            if reason := install_peer(name):
                missing.append(name)
                say(f"{name} could not be installed: {reason}")
            else:
                say(f"ready: {name} {PEER_VERSIONS[name]}")
    say("Run the benchmark with: .venv/bin/python benchmarks/peers.py" + (
        f"\nIt runs without {', '.join(missing)}. To retry the installation, run the same command again." if missing else ""))
    return 1 if missing else 0


def install_peer(name: str) -> str:
    """Install one peer in an environment of its own; return the reason if that fails, and store it for the benchmark."""
    folder, note = PEERS / name, PEERS / f"{name}.txt"
    wanted = f"{name}=={PEER_VERSIONS[name]}"
    PEERS.mkdir(exist_ok=True)
    if usable(python_of(folder)) and note.exists() and note.read_text(encoding="utf-8") == wanted:
        return ""
    note.unlink(missing_ok=True)
    say(f"installing {wanted} into .peers/{name}")
    ok, text = created(folder), "no virtual environment could be created"
    if ok:
        pip = ["-m", "pip", "install", "--progress-bar", "off", "--retries", "1", wanted, "pandas", "pyarrow"]
        ok, text = quiet([str(python_of(folder)), *pip])
    if not ok:
        shutil.rmtree(folder, ignore_errors=True)
    note.write_text(wanted if ok else f"failed: {why(text)}", encoding="utf-8")
    return "" if ok else why(text)


def matrix(rest: Sequence[str]) -> int:
    """make the same releases with other Pythons, libraries, threads and processors, and compare them bit by bit"""
    found = []
    with one_at_a_time():
        MATRIX.mkdir(exist_ok=True)
        for version in MATRIX_PYTHONS:
            for label, pins in (("newest", ()), ("oldest", OLDEST_FOR.get(version, OLDEST_VERSIONS))):
                folder = MATRIX / f"{version}-{label}"
                if reason := install_for_matrix(version, folder, pins):
                    say(f"Python {version} with the {label} libraries is left out: {reason}")
                else:
                    found.append(str(python_of(folder)))
    return run(["tests/matrix/compare_setups.py", "--python", *found, *rest])


def install_for_matrix(version: str, folder: Path, pins: Sequence[str]) -> str:
    """Install larvatus for one Python of this machine in an environment of its own; return the reason if that fails."""
    python = next((p for p in pythons(version) if quiet([p, "-c", "import venv"])[0]), None)
    if python is None:
        return "this machine has no such Python"
    note, wanted = folder / "installed.txt", "\n".join((fingerprint(), *pins))
    if note.exists() and note.read_text(encoding="utf-8") == wanted:
        return ""
    say(f"installing larvatus into .matrix/{folder.name}")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(python_of(folder)), "-m", "pip", "install", "--progress-bar", "off", "--only-binary", BUILT, "-e", ".[duckdb]"]
    for command in ([python, "-m", "venv", str(folder)], [*pip, *pins]):
        ok, text = quiet(command)
        if not ok:
            shutil.rmtree(folder, ignore_errors=True)
            return why(text)
    note.write_text(wanted, encoding="utf-8")
    return ""


def pythons(version: str) -> Iterator[str]:
    """Paths of a Python of this version: on the search path, or installed by pyenv."""
    if named := shutil.which(f"python{version}"):
        yield named
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(p / "bin" / "python") for p in sorted(versions.glob(f"{version}.*"), reverse=True))


def fuzz(rest: Sequence[str]) -> int:
    """feed damaged and hostile input to every reader for as long as told: make fuzz SECONDS=600"""
    return run(["tests/fuzz/campaign.py", *rest])


def why(text: str) -> str:
    """The first error in the output of pip, without addresses; else its last line.

    Without a network pip only reports that it found no version, so that case is looked for.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("connection broken by" in line for line in lines):
        return "the package index could not be reached"
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return re.sub(r"\S+://\S+", "…", (errors or lines or ["no output"])[0 if errors else -1].removeprefix("ERROR: "))


def docs(rest: Sequence[str]) -> int:
    """regenerate docs/reference/ from the methods' docstrings and fields"""
    return run(["docs/build_reference.py", *rest])


def site(rest: Sequence[str]) -> int:
    """build the site in site/ from docs/, without a network"""
    return run(["docs/site/build.py", *rest])


def look(rest: Sequence[str]) -> int:
    """screenshots and PDFs of reports of all sizes, and of the demo report, in look/"""
    browser = installed_browser()
    if browser is None:
        say("No Chromium is installed, so no screenshots can be made. Install it, for example: sudo apt install chromium")
        return 1
    report = DEMO / "report.html"
    if not report.exists() and (code := demo(())):
        return code
    LOOK.mkdir(exist_ok=True)
    if code := run(["tests/reporting/shapes.py", str(LOOK)], PYTHONPATH=str(ROOT / "tests")):
        return code
    pages = {"demo": report, **{page.stem: page for page in sorted(LOOK.glob("*.html"))}}
    drawn = [picture(browser, page, f"{name}-{width}", *size) for name, page in pages.items() for width, size in WIDTHS.items()]
    return max([*drawn, *(printed(browser, page, name) for name, page in pages.items())])


def printed(browser: str, report: Path, name: str) -> int:
    """Print a report to PDF."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return drawn(browser, LOOK / f"{name}.pdf", [
            f"--user-data-dir={folder}/profile", "--no-pdf-header-footer", f"--print-to-pdf={LOOK / name}.pdf", report.as_uri(),
        ])


def picture(browser: str, report: Path, name: str, width: int, height: int) -> int:
    """Make one screenshot; the report is in a frame, because browsers refuse windows as narrow as a phone."""
    target = LOOK / f"{name}.png"
    frame = f'<body style="margin:0"><iframe src="{report.as_uri()}" width="{width}" height="{height}" style="border:0">'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        page.write_text(frame, encoding="utf-8")
        return drawn(browser, target, [
            f"--user-data-dir={folder}/profile", f"--window-size={max(width, 500)},{height}", f"--screenshot={target}",
            page.as_uri(),
        ])


def drawn(browser: str, target: Path, flags: Sequence[str]) -> int:
    """Let the browser write one file, and report success or failure."""
    target.unlink(missing_ok=True)
    ok, text = quiet([browser, *BROWSER_FLAGS, *flags])
    if not ok or not target.exists():
        say(text.strip())
        say(f"{Path(browser).name} did not write {target.name}; see its output above.")
        return 1
    say(f"picture: {target.relative_to(ROOT)}")
    return 0


def installed_browser() -> str | None:
    """The Chromium of this machine."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def gallery(rest: Sequence[str]) -> int:
    """regenerate the three reports in docs/gallery/, and the picture of the first screen"""
    browser, folder = installed_browser(), ROOT / "docs" / "gallery"
    if code := run(["docs/build_gallery.py", *rest]):
        return code
    if browser is None:
        say("No Chromium is installed, so docs/gallery/after.png was not made again.")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        return drawn(browser, folder / "after.png", [
            f"--user-data-dir={profile}/profile", "--window-size=1400,900", f"--screenshot={folder / 'after.png'}",
            (folder / "internal.html").as_uri(),
        ])


def sbom(rest: Sequence[str]) -> int:
    """list what the package needs, with versions and licences, and write sbom.json (CycloneDX)"""
    return run(["bill_of_materials.py", "-o", "sbom.json", *rest])


def dist(rest: Sequence[str]) -> int:
    """build the wheel and the source package in dist/, check them, and try the wheel with every Python of the machine"""
    shutil.rmtree(DIST, ignore_errors=True)
    code = run(["-m", "build", "--outdir", str(DIST), *rest])
    made = sorted(str(p) for p in DIST.glob("*"))
    wheel = next((p for p in made if p.endswith(".whl")), None)
    code = code or run(["-m", "twine", "check", "--strict", *made]) or run(["-m", "check_wheel_contents", str(wheel)])
    failed = []
    for version in MATRIX_PYTHONS if code == 0 else ():
        python = next((p for p in pythons(version) if quiet([p, "-c", "import venv"])[0]), None)
        if python is None:
            say(f"Python {version}: this machine has none")
        elif reason := trial_of_wheel(python, str(wheel)):
            failed.append(version)
            say(f"Python {version}: {reason}")
        else:
            say(f"Python {version}: installed, and the first release was made")
    return code or (1 if failed else 0)


def trial_of_wheel(python: str, wheel: str) -> str:
    """Install the wheel in a new environment, mask a file with it outside the repository; return the reason if that fails."""
    with tempfile.TemporaryDirectory(prefix="larvatus-wheel-") as folder:
        own, people = Path(folder, "env"), Path(folder, "people.csv")
        rows = "".join(f"{20 + i % 50},{1000 + 37 * i % 911}\n" for i in range(200))
        people.write_text(f"age,income\n{rows}", encoding="utf-8")
        larvatus = str(python_of(own).with_name("larvatus.exe" if os.name == "nt" else "larvatus"))
        for command in (
            [python, "-m", "venv", str(own)],
            [str(python_of(own)), "-m", "pip", "install", "--progress-bar", "off", "--only-binary", BUILT, wheel],
            [larvatus, "mask", str(people), "-o", str(Path(folder, "released.csv")), "--confidential", "income",
             "--non-confidential", "age", "--method", "additive_noise", "--quiet"],
        ):
            ok, text = quiet(command)
            if not ok:
                return why(text)
    return ""


def clean(rest: Sequence[str]) -> int:
    """remove .venv, .peers, .matrix, caches, dist/, demo/ and look/; site/ stays, since it has earlier versions"""
    caches = (".bootstrap", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "build", "dist")
    for path in (VENV, PEERS, MATRIX, DEMO, LOOK, *(ROOT / name for name in caches)):
        shutil.rmtree(path, ignore_errors=True)
    for folder in ("src", "tests", "docs", "benchmarks", "examples"):
        for cache in list((ROOT / folder).rglob("__pycache__")):
            shutil.rmtree(cache, ignore_errors=True)
    return 0


VERBS = {
    verb.__name__: verb for verb in (
        desk, demo, test, check, bench, peers, matrix, fuzz, docs, site, look, gallery, pictures, sbom, dist, env, clean,
    )
}


def main(arguments: Sequence[str]) -> int:
    if sys.version_info < OLDEST:
        say(f"larvatus needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and {sys.executable} is {sys.version.split()[0]}. "
            "Choose a newer one, for example: make PYTHON=python3.12 test")
        return 2
    verb = arguments[0] if arguments else "help"
    if verb not in VERBS:
        say("python3 bootstrap.py VERB, where VERB is one of:")
        say("\n".join(f"  {name:<6}  {function.__doc__}" for name, function in VERBS.items()))
        return 0 if verb in {"help", "-h", "--help"} else 2
    if verb in EXTRAS:
        ready(verb)
    return VERBS[verb](arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
