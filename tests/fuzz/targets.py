"""What is fuzzed: for each kind of input a strategy, and a function that hands the input to the product.

A function may raise a LarvatusError. Anything else that comes out of it is a fault, and so is a case that takes too long.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
from hypothesis import strategies as st

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import finished_runs  # noqa: E402
import near_valid  # noqa: E402
from hostile_values import PLAIN_COLUMNS, WORDS, damaged, numbers, plain, sentences, tables, texts  # noqa: E402
from near_valid import damaged_member, edited, pairings, steps  # noqa: E402

import larvatus as lv  # noqa: E402
from larvatus.core.errors import LarvatusError  # noqa: E402
from larvatus.data.text_columns import MISSING  # noqa: E402

SECRET = b"sixteen bytes or more for tests"
LONGEST = 25  # seconds of processor time that one case may take


class TooLong(Exception):
    """A case that did not end in time."""


class Differs(AssertionError):
    """Releases or columns that should be equal; the message tells faults apart and names no value."""


@dataclass(frozen=True)
class Target:
    """A kind of input: how it is made, and what is done with it."""

    inputs: Any
    use: Callable[[Any], None]
    quick: bool = True


@contextmanager
def in_time(seconds: int = LONGEST) -> Iterator[None]:
    """Stop a case that takes too much processor time, or sixty times as long in all: other work does not count."""

    def stop(*_: Any) -> None:
        raise TooLong(f"not done after {seconds} s")

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, 60 * seconds)}
    before = {number: signal.signal(number, stop) for number in clocks}
    for clock, limit in clocks.values():
        signal.setitimer(clock, limit)
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])


def handle(target: Target, given: Any) -> str:
    """Use one input; "ok" or "refused". A fault is raised."""
    with in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.use(given)
        except LarvatusError as error:
            str(error).encode("utf-8")
            return "refused"
    return "ok"


@cache
def folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="larvatus-fuzz-")
    _FOLDERS.append(made)
    return Path(made.name)


_FOLDERS: list[Any] = []


def file_of(name: str, content: bytes) -> Path:
    path = folder() / name
    path.write_bytes(content)
    return path


# --- files and frames ----------------------------------------------------------------------------------------------------


@cache
def sample() -> pa.Table:
    n = 40
    return pa.table({
        "income": [float((i * 7919) % 1009) for i in range(n)], "age": [20 + i % 50 for i in range(n)],
        "region": ["north" if i % 3 else "south" for i in range(n)],
        "day": pa.array([18000 + i for i in range(n)], pa.date32()),
        "zero": [f"{i:04d}" for i in range(n)],
    })


Cells = dict[str, list[Any]]


def roles_of(table: pa.Table) -> dict[str, list[str]]:
    """The columns by role, from the metadata of a drawn table; the first column is masked."""
    drawn = json.loads((table.schema.metadata or {}).get(b"roles", b"{}"))
    found: dict[str, list[str]] = {"confidential": table.column_names[:1]}
    for name in table.column_names[1:]:
        role = drawn.get(name, "non_confidential")
        found.setdefault(role, []).append(name)
        if role == "nominal":
            found.setdefault("non_confidential", []).append(name)
    return found


@cache
def _engine(name: str) -> Any:
    """One engine for all cases: starting DuckDB takes longer than a case."""
    from larvatus.engines.duckdb import Duckdb

    return Duckdb() if name == "duckdb" else name


def release_of(source: Any, engine: str, roles: dict[str, list[str]]) -> Cells:
    table = lv.mask(lv.read(source, **roles, engine=_engine(engine)), "additive_noise", secret=SECRET).to_arrow()
    return {n: values(c) for n, c in zip(table.column_names, table.columns, strict=True)}


def values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column, or the integers that are stored if Python has no such day or time."""
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        return column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist()


def same_on_both(source: Any, roles: dict[str, list[str]]) -> Cells:
    """The release, which both engines give; an error if both refuse."""
    found: list[Cells | LarvatusError] = []
    for engine in ("memory", "duckdb"):
        try:
            found.append(release_of(source, engine, roles))
        except LarvatusError as error:
            found.append(error)
    memory, other = found
    if isinstance(memory, LarvatusError) != isinstance(other, LarvatusError):
        raise Differs(f"one engine refuses and the other does not: {[type(f).__name__ for f in found]}")
    if isinstance(memory, LarvatusError):
        raise memory
    off = [i for i, name in enumerate(memory) if repr(memory[name]) != repr(other[name])]
    if off or list(memory) != list(other):
        raise Differs(f"the engines give different releases: columns {off} of {len(memory)}")
    return memory


def _csv_bytes() -> bytes:
    out = io.BytesIO()
    import pyarrow.csv as csv

    csv.write_csv(sample(), out)
    return out.getvalue()


SAMPLE_ROLES = {"confidential": ["income"], "non_confidential": ["age", "region", "day", "zero"]}


def use_file(suffix: str) -> Callable[[bytes | pa.Table], None]:
    """Mask a file with these bytes, or with this table."""

    def use(content: bytes | pa.Table) -> None:
        if isinstance(content, bytes):
            same_on_both(file_of(f"given{suffix}", content), SAMPLE_ROLES)
        else:
            use_table(content, _written(content, suffix))

    return use


def _written(table: pa.Table, suffix: str) -> Path:
    path = folder() / f"given{suffix}"
    if suffix == ".csv":
        csv.write_csv(table.cast(pa.schema([(f.name, _undivided(f.type)) for f in table.schema])), path)
    elif suffix == ".parquet":
        parquet.write_table(table, path, compression="none")
    else:
        feather.write_feather(table, path, compression="uncompressed")
    return path


def _undivided(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _parquet_bytes() -> bytes:
    out = io.BytesIO()
    parquet.write_table(sample(), out, compression="none")
    return out.getvalue()


def _arrow_bytes() -> bytes:
    out = io.BytesIO()
    feather.write_feather(sample(), out, compression="uncompressed")
    return out.getvalue()


PACKAGES = (".xlsx", ".ods")
LABELLED = (".dta", ".sav", ".xpt", ".por", *PACKAGES)


@cache
def _labelled_bytes(suffix: str) -> bytes:
    """The sample as a file of SPSS, Stata, SAS, Excel or OpenDocument, with labels where the format has them."""
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"income": np.arange(20.0) ** 2, "age": np.arange(20) + 18, "region": [1.0, 2.0] * 10,
                          "day": np.arange(20.0), "zero": ["a", "b"] * 10})
    path, labels = folder() / f"made{suffix}", {"income": "yearly income", "region": "where"}
    if suffix == ".dta":
        frame.to_stata(path, write_index=False, variable_labels=labels)
    elif suffix == ".sav":
        pyreadstat.write_sav(frame, path, column_labels=labels, variable_value_labels={"region": {1.0: "north", 2.0: "south"}},
                             missing_ranges={"age": [99]})
    elif suffix in (".xpt", ".por"):
        write = pyreadstat.write_xport if suffix == ".xpt" else pyreadstat.write_por
        write(frame, path, column_labels=labels)
    else:
        made = lv.mask(lv.read(frame, confidential=["income"], non_confidential=["age", "region", "day", "zero"]),
                       "additive_noise", secret=SECRET)
        made.write(path, overwrite=True)
    return path.read_bytes()


def use_labelled(given: bytes | tuple[str, bytes]) -> None:
    """A damaged file with its suffix; bytes alone are a file of Stata."""
    suffix, content = (".dta", given) if isinstance(given, bytes) else given
    use_file(suffix)(content)


def use_frame(table: pa.Table) -> None:
    use_table(table, table)


def use_table(table: pa.Table, source: Any) -> None:
    """Mask a table or the file that holds it: columns released as they are come out equal to the last bit."""
    roles = roles_of(table)
    found = same_on_both(source, roles)
    text_file = isinstance(source, Path) and source.suffix == ".csv"
    for name in table.column_names[1:]:
        categorical = any(name in roles.get(role, ()) for role in ("nominal", "sub_groups"))
        for was, now in zip(values(table.column(name)), found[name], strict=True):
            if name in roles.get("key", ()) and isinstance(was, Decimal):
                was = float(was)  # steps may change a key, so that it is a number
            elif categorical and isinstance(was, float):
                was += 0.0  # -0.0 and 0.0 are one category
            if (now is not None) if _missing(was) else not _same(was, now, text_file):
                raise Differs(f"{_kind(table, name)} is released as it is, but comes out changed")


def _kind(table: pa.Table, name: str) -> str:
    role = next(r for r, names in reversed(roles_of(table).items()) if name in names)
    return f"a column of type {table.schema.field(name).type} in role {role}"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _same(was: Any, now: Any, text_file: bool) -> bool:
    """In a CSV file every cell is a text: words for missing values may be missing, 1.50 is the number 1.5, and TRUE is true."""
    if repr(was) == repr(now) or not text_file:
        return repr(was) == repr(now)
    if str(was).strip() in MISSING:
        return now is None
    if isinstance(now, bool):
        return str(was).strip().lower() == str(now).lower()
    try:
        return float(was) == float(now)
    except (TypeError, ValueError):
        return str(was) == str(now)


# --- texts ---------------------------------------------------------------------------------------------------------------


@cache
def people() -> Path:
    """The source that studies and command lines name, and records of the same kind that it does not have."""
    held = sample().slice(0, 30)
    csv.write_csv(pa.concat_tables([held.set_column(0, "income", pa.array([i * 17.0 + part for i in range(30)]))
                                    for part in (0.25, 0.75)]), folder() / "held.csv")
    return file_of("people.csv", _csv_bytes())


def use_study(given: Any) -> None:
    from larvatus.study.study import Study

    people()
    if isinstance(given, str):
        path = folder() / "study.toml"
        path.write_bytes(given.encode("utf-8", "surrogatepass"))
        study = Study.read(path)
    else:
        study = Study.of(given, folder())
    study.toml()


@cache
def _data() -> lv.Microdata:
    return lv.read(sample().rename_columns(["a", "b", "region", "day", "zero"]), confidential=["a", "b"],
                   non_confidential=["region", "day"])


def use_condition(text: str) -> None:
    from larvatus.data.conditions import condition

    found = condition(text, _data().table.columns)
    for _, block in _data().table.blocks(found.columns):
        found.holds(block)


def use_constraint(text: str) -> None:
    lv.mask(_data(), "additive_noise", secret=SECRET, constraints={"rules": [text]})


def use_formula(text: str) -> None:
    from larvatus.measures.analyses.formulas import formula

    formula(text)


def use_step(text: str) -> None:
    from larvatus.data.contracts import Mask
    from larvatus.data.method_parsing import all_of

    lv.mask(_data(), *all_of(Mask, [text]), secret=SECRET)


def use_taxonomy(given: Any) -> None:
    roles = {"confidential": ["a"], "non_confidential": ["region"]}
    table = sample().rename_columns(["a", "b", "region", "day", "zero"])
    if isinstance(given, bytes):
        given = str(file_of("taxonomy.csv", given))
    data = lv.read(table, **roles, taxonomies={"region": given})
    lv.mask(data, "additive_noise", secret=SECRET)


@cache
def _original() -> lv.Microdata:
    return lv.read(sample(), confidential=["income"], non_confidential=["age"])


@cache
def _released() -> Path:
    here = folder() / "released"
    here.mkdir(exist_ok=True)
    release = lv.mask(_original(), "additive_noise", secret=SECRET)
    release.write(here / "out.csv", pairing=here / "pairing.parquet", overwrite=True)
    release.write(here / "paired.parquet", pairing=here / "records.parquet", overwrite=True)
    from larvatus.documents.manifest import write_beside

    write_beside(release, _original(), here / "out.csv", overwrite=True)
    return here


@cache
def _manifest() -> bytes:
    return (_released() / "out.manifest.json").read_bytes()


@cache
def _pairing() -> bytes:
    return (_released() / "records.parquet").read_bytes()


def _json(value: Any) -> bytes:
    return json.dumps(value, default=str).encode("utf-8", "replace")


def use_manifest(content: bytes) -> None:
    from larvatus.documents.verification import verify_files

    path = _released() / "given.manifest.json"
    path.write_bytes(content)
    verify_files(path, [_released() / "out.csv"])


def use_run(given: tuple[str, bytes]) -> None:
    people()
    finished_runs.use(folder(), *given)


def _run_inputs() -> Any:
    people()
    return finished_runs.inputs(folder())


def use_pairing(content: bytes) -> None:
    path = file_of("pairing.parquet", content)
    from larvatus.data.pairing import as_release

    as_release(_original(), _released() / "paired.parquet", pairing=path)


def _raised_by(arguments: list[str]) -> None:
    """Repeat a command so that an unexpected error comes out itself: its place tells faults apart."""
    from larvatus.cli.main import main

    here = os.getcwd()
    os.environ["LARVATUS_DEBUG"] = "1"
    os.chdir(folder())
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            main(arguments)
    finally:
        os.chdir(here)
        del os.environ["LARVATUS_DEBUG"]


def use_command(arguments: list[str]) -> None:
    from larvatus.cli.main import UNEXPECTED, main

    people()
    _released()
    here = os.getcwd()
    os.chdir(folder())
    said = io.StringIO()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            try:
                code = main(arguments)
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 2
    finally:
        os.chdir(here)
    if code == UNEXPECTED:
        _raised_by(arguments)
        raise AssertionError(said.getvalue().strip())
    if code:
        raise LarvatusError(f"exit code {code}")


STUDIES = (
    'source = "people.csv"\n[roles]\nconfidential = ["income"]\n[[release]]\nname = "one"\nsteps = ["additive_noise"]\n',
    'source = "people.csv"\n[roles]\nconfidential = ["age"]\n[[release]]\n[[release.steps]]\nmethod = "rank_swap"\n'
    "grid.window = [0.1, 0.2]\n",
    'source = "people.csv"\nengine = "spark"\nmaster = "sail"\ncertify = true\n[holdout]\nfile = "held.csv"\n[roles]\n'
    'confidential = ["income", "age"]\nnon_confidential = ["region"]\n[[release]]\nname = "trees"\nsteps = [{ method = '
    '"sequential_trees", smallest_leaf = 7, order = ["age", "income"], smoothing = "density", missing = "keep", copies = 2 }]\n'
    '[[release]]\nname = "made elsewhere"\nfile = "released/out.csv"\npaired = false\n',
)
PARTS = ("source", "roles", "sub_groups", "release", "attacks", "measures", "limits", "constraints", "jobs", "intruder",
         "search", "title", "purpose", "domain", "analysis", "labels", "goal", "csv", "holdout", "engine", "master", "certify")
study_texts = st.one_of(
    st.sampled_from(STUDIES).flatmap(lambda s: damaged(s.encode())).map(lambda b: b.decode("utf-8", "replace")),
    st.integers(1, 6000).map(lambda n: "a = " + "[" * n + "]" * n), st.integers(1, 6000).map(lambda n: f"[{'a.' * n}b]\nc = 1"),
    st.integers(1, 6000).map(lambda n: "a = " + "{b = " * n + "1" + "}" * n), texts, numbers.map(lambda v: f"jobs = {v}"),
    st.dictionaries(st.sampled_from(PARTS), plain, max_size=4), st.sampled_from(STUDIES).map(tomllib.loads).flatmap(edited),
    steps().map(lambda step: {**tomllib.loads(STUDIES[0]), "release": [{"name": "one", "steps": [step]}]}),
)
MASK_NAMES = ("additive_noise", "rank_swap", "rounding", "top_coding", "microaggregation", "sufficiency_based", "recoding",
              "random_swap", "sampling", "post_randomisation", "random_blanking", "reverse_map", "nothing")
FIELDS = ("variance", "rate", "window", "base", "share", "k", "columns", "where", "scope", "within", "similarity", "bound",
          "stay")
step_texts = st.one_of(
    st.tuples(st.sampled_from(MASK_NAMES), st.sampled_from(FIELDS), st.one_of(numbers.map(str), plain.map(repr), texts))
    .map(lambda t: f"{t[0]}({t[1]}={t[2]})"), st.sampled_from(MASK_NAMES), sentences,
)
_TERMS = ("a", "b", "0", "1", "2 * b", "a + b", "a - b", "1e9", "-1", "region", "day", "nothing")
_COMPARISONS = ("=", "==", "<=", ">=", "<", ">", "!=")
comparisons = st.tuples(st.sampled_from(_TERMS), st.sampled_from(_COMPARISONS), st.sampled_from(_TERMS)).map(" ".join)
rule_texts = st.one_of(
    comparisons, st.tuples(comparisons, comparisons).map(lambda t: f"if {t[0]} then {t[1]}"),
    st.tuples(comparisons, st.sampled_from(("where it held", "where a > 3", "tolerance 1"))).map(" ".join), sentences,
)
formula_texts = st.lists(
    st.sampled_from(["a", "b", "region", "log(a)", "C(b)", "poly(b, 2)", "I(b ** 2)", "0", "1", "+", "-", "*", ":", "(", ")"]),
    max_size=9,
).map(lambda words: "a ~ " + " ".join(words))
COMMANDS = ("mask", "risk", "utility", "check", "verify", "advise", "keys", "run", "search", "list", "describe", "export",
            "approve", "publish-noise", "certify", "nothing")
LONG = ("demo", "desk")  # a run takes seconds or does not end: the last option is always wrong
OPTIONS = ("--help", "--json", "--quiet", "--confidential", "--non-confidential", "--step", "-o", "--output", "--method",
           "--engine", "--sub-groups", "--jobs", "--secret-file", "--seed", "--seeds", "--=", "-", "--", "given.csv",
           "nothing.csv", "study.toml", "income", "people.csv", "age", "--overwrite", "out.csv", "additive_noise", "released",
           "--holdout", "--not-paired", "--pairing", "--study", "--master", "sail", "sail://", "sc://", "held.csv",
           "sequential_trees(order=fewest_levels)", "additive_noise(variance=0.5)", "released/out.csv",
           "released/pairing.parquet")
_COLUMNS = ("--confidential", "income", "--non-confidential", "age")
_COMPLETE = (
    ("mask", "people.csv", "--confidential", "income", "--method", "additive_noise", "-o", "out.csv", "--overwrite"),
    ("risk", "people.csv", "released/out.csv", *_COLUMNS, "--pairing", "released/pairing.parquet", "--method", "exact_match"),
    ("utility", "people.csv", "released/out.csv", *_COLUMNS, "--method", "moments"),
    ("verify", "released/out.manifest.json", "released/out.csv"), ("keys", "people.csv", "--key", "region,age"),
    ("describe", "additive_noise"), ("list", "--json"),
    ("certify", "people.csv", *_COLUMNS, "--step", "additive_noise(variance=0.5)"),
    ("certify", "people.csv", "released/out.csv", *_COLUMNS, "--pairing", "released/pairing.parquet"),
    ("risk", "people.csv", "released/out.csv", *_COLUMNS, "--not-paired", "--holdout", "held.csv", "--method",
     "closest_record"),
    ("mask", "people.csv", *_COLUMNS, "--step", "sequential_trees(copies=2)", "-o", "out.csv", "--overwrite"),
    ("mask", "--master", "sail://", "people.csv", *_COLUMNS, "--engine", "spark", "--method", "rounding", "-o", "out.csv"),
)
_words = st.lists(st.one_of(st.sampled_from(OPTIONS), texts.filter(lambda t: "\x00" not in t)), max_size=5)
command_lines = st.one_of(
    st.tuples(st.sampled_from(COMMANDS), _words).map(lambda t: [t[0], *t[1]]),
    st.tuples(st.sampled_from(LONG), _words).map(lambda t: [t[0], *t[1], "--nothing"]),
    _words.map(lambda words: ["reproduce", *words, "--stored-only", "--cache-dir", "nothing"]),  # it computes nothing
    st.tuples(st.sampled_from(_COMPLETE), st.integers(1, 12), _words).map(lambda t: [*t[0][: t[1]], *t[2]]),
)

TARGETS: dict[str, Target] = {
    "conditions": Target(st.one_of(sentences, near_valid.conditions), use_condition),
    "rules": Target(st.one_of(rule_texts, near_valid.rules), use_constraint),
    "formulas": Target(st.one_of(sentences, formula_texts, near_valid.formulas), use_formula),
    "steps": Target(st.one_of(step_texts, steps()), use_step),
    "studies": Target(study_texts, use_study),
    "taxonomies": Target(
        st.one_of(plain, st.binary(max_size=60), damaged(b"leaf,middle,root\nnorth,n,all\nsouth,s,all\n")), use_taxonomy,
    ),
    "manifests": Target(st.one_of(
        st.deferred(lambda: damaged(_manifest())), st.deferred(lambda: edited(json.loads(_manifest())).map(_json)),
        plain.map(_json),
    ), use_manifest),
    "finished runs": Target(st.deferred(_run_inputs), use_run, quick=False),
    "pairing files": Target(
        st.deferred(lambda: st.one_of(damaged(_pairing()), pairings(_pairing()))), use_pairing, quick=False,
    ),
    "CSV": Target(st.one_of(st.deferred(lambda: damaged(_csv_bytes())), st.binary(max_size=80), tables(PLAIN_COLUMNS)),
                  use_file(".csv"), quick=False),
    "Parquet": Target(st.one_of(st.deferred(lambda: damaged(_parquet_bytes())), tables()), use_file(".parquet"), quick=False),
    "Arrow": Target(st.one_of(st.deferred(lambda: damaged(_arrow_bytes())), tables()), use_file(".arrow"), quick=False),
    "labelled files": Target(
        st.one_of(st.sampled_from(LABELLED).flatmap(lambda s: st.tuples(st.just(s), damaged(_labelled_bytes(s)))),
                  st.sampled_from(PACKAGES).flatmap(lambda s: st.tuples(st.just(s), damaged_member(_labelled_bytes(s))))),
        use_labelled, quick=False,
    ),
    "frames": Target(tables(), use_frame, quick=False),
    "command lines": Target(command_lines, use_command, quick=False),
}
__all__ = ["TARGETS", "WORDS", "Differs", "Target", "TooLong", "handle"]
