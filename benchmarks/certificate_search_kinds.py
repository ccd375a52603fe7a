"""The search of `certificate_search.py` in kinds of files and masks that it hardly draws.

    python benchmarks/certificate_search_kinds.py --seed 2 --minutes 12

PRAM alone (also with stay = 0 and with stated matrices), codes of missing values, two or three steps after a mask, keys that
are masked first, dates, small sub-groups that are pooled in two ways, weights that are not released. A third intruder of the
whole file has no model: it counts, over releases with known pairing, which row each record had in releases with the same rows.
"""

from __future__ import annotations

import argparse
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

import larvatus as lv
from certificate_search import (
    EQUAL_ROWS,
    KINDS,
    Learnt,
    NoBound,
    column,
    hash_of,
    law_free,
    lawful,
    shares,
    suspicious,
    with_settings,
)
from larvatus.certificates import certify
from larvatus.core.errors import LarvatusError
from larvatus.data.microdata import collect

LATER = ("rounding(base=1.0)", "rounding(base=0.25)", "reverse_map", "reverse_map(scope='file')", "top_coding(tail=0.4)",
         "top_coding(tail=0.45, replacement='mean')", "top_coding(tail=0.3, side='both', scope='sub_group')",
         "top_coding(bound=0.5)", "top_coding(tail=0.4, period='z')", "recoding(bins=2)",
         "recoding(cuts=[0.0], replacement='label')", "recoding(cuts=[-50.0, 0.0, 50.0], replacement='mid')")
OF_DATES = ("data_shuffling", "additive_noise(variance=1.0)", "correlated_noise(variance=1.0)", "linear_model",
            "multiple_imputation(copies=1)", "variance_preserving_noise(variance=1.0)")
OF_KEYS = ("rounding(base=5.0)", "top_coding(bound=3.0)")


@dataclass
class Case:
    frame: pd.DataFrame
    roles: lv.Roles
    groups: lv.SubGroups | None
    steps: list[str]
    constraints: dict

    def read(self) -> lv.Microdata:
        return lv.read(self.frame, roles=self.roles, **({} if self.groups is None else {"sub_groups": self.groups}))


def post_randomisation(draws: np.random.Generator, names: list[str], frame: pd.DataFrame) -> str:
    """PRAM that changes nearly all levels, so that few records need no second draw; or with a stated matrix."""
    more = ["" if draws.random() < 0.7 else str(draws.choice(["scope='file'", "where='z > 0'"]))]
    if draws.random() < 0.6:
        first = f"stay={draws.choice([0.0, 0.0, 0.05, 0.3])}, invariant={draws.choice(['true', 'false'])}"
    else:
        matrices = []
        for n in names:
            m = draws.dirichlet(np.ones(frame[n].nunique()), frame[n].nunique())
            if len(m) > 1:
                np.fill_diagonal(m, 0.0)
            m = np.round(m / m.sum(axis=1, keepdims=True), 6)
            m[np.arange(len(m)), m.argmax(axis=1)] += 1 - m.sum(axis=1)
            matrices.append(f"{n} = {m.tolist()}")
        first = f"invariant=false, matrix={{{', '.join(matrices)}}}"
    return with_settings(f"post_randomisation({first})", [f"columns={names}", *filter(None, more)])


def make(seed: int) -> Case:
    draws = np.random.default_rng(seed)
    n = int(draws.choice([3, 4, 5, 6, 7, 8, 9, 12]))
    kind = str(draws.choice(["pram", "date", "codes", "sequence", "key", "pool", "rounded"]))
    frame = pd.DataFrame({"z": draws.choice([0.0, 1.0, 2.0], n) if draws.random() < 0.4 else np.ones(n)})
    numbers, categories, roles, steps = list[str](), list[str](), {"non_confidential": ("z",)}, list[str]()
    if kind == "pram" or draws.random() < 0.2:
        for name in "kl"[: draws.integers(1, 3)]:
            frame[name] = draws.choice(list("xyzw")[: draws.integers(2, 5)], n)
            frame.loc[draws.random(n) < draws.choice([0, 0.2]), name] = None
            categories.append(name)
        steps.append(post_randomisation(draws, categories, frame))
    if kind != "pram" or draws.random() < 0.3:
        numbers = list("ab")[: draws.integers(1, 3)]
        for name in numbers:
            frame[name] = column(draws, n)
            if kind == "codes":
                x = np.round(frame[name]) if draws.random() < 0.5 else frame[name]
                frame[name] = np.where(draws.random(n) < 0.25, -9.0, x)
                roles.setdefault("missing", {})[name] = (-9.0,) if draws.random() < 0.5 else ((-9.5, -0.5),)
        step = (lawful if draws.random() < 0.6 else law_free)(draws, numbers)
        steps.append(with_settings(step, [f"columns={numbers}"]))
        if kind in ("codes", "sequence", "rounded"):
            steps += [with_settings(str(s), [f"columns={numbers}"]) for s in draws.choice(LATER, draws.integers(1, 3))]
    if kind == "date":
        frame["t"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(draws.choice([0, 1, 2, 10, 300], n), unit="D")
        steps.append(with_settings(str(draws.choice(OF_DATES)), ["columns=['t']"]))
    if kind == "key":
        frame["q"] = draws.choice([0.0, 1.0, 2.0, 7.0], n)
        roles["key"] = ("q",)
        steps.append(with_settings(str(draws.choice(OF_KEYS)), ["columns=['q']"]))
    if draws.random() < 0.15:
        frame["w"] = draws.choice([1.0, 2.0, 7.0], n)
        roles |= {"weight": "w", "release_weight": bool(draws.random() < 0.5)}
    groups = None
    if kind == "pool" or draws.random() < 0.15:
        frame["g"] = draws.choice(list("pqrs"), n, p=[0.5, 0.3, 0.1, 0.1])
        groups = lv.SubGroups(columns=("g",), small=str(draws.choice(["pool", "pool_all"])))
    whole = draws.random() < 0.5
    constraints = {} if kind != "rounded" else {"integers": numbers[:1]} if whole else {"decimals": {numbers[0]: 1}}
    roles["confidential"] = (*categories, *numbers, *(["t"] if kind == "date" else []))
    return Case(frame, lv.Roles(**roles), groups, steps, constraints)


def released(data: lv.Microdata, case: Case, count: int, first: int) -> tuple[np.ndarray, lv.Release]:
    """Releases × records × values (over copies), and the last release."""
    out = []
    for k in range(first, first + count):
        made = lv.mask(data, case.steps, secret=b"a search in rare kinds" + k.to_bytes(6, "big"),
                       **({"constraints": case.constraints} if case.constraints else {}))
        parts = []
        for copy in made.copies:
            values = collect(copy, list(case.roles.confidential))[2]
            for name in case.roles.confidential:
                kind, v = copy.table.columns[name], np.asarray(values[name], dtype=float)
                parts.append(np.array([*map(hash_of, kind.levels), np.nan])[v.astype(int)] if kind.kind == "nominal" else v)
        out.append(np.stack(parts, axis=1))
    return np.array(out), made


def cells_of(case: Case, made: lv.Release) -> list[np.ndarray]:
    """Records with the same released S, the same missing values and the same codes."""
    rest = [n for n in made.data.released if n not in case.roles.confidential]
    values = collect(made.data, rest)[2]
    keys = pd.DataFrame({f"s {n}": np.asarray(values[n], dtype=float) for n in rest})
    for name in case.roles.confidential:
        keys[f"missing {name}"] = case.frame[name].isna().to_numpy()
        for low, high in (c if isinstance(c, tuple) else (c, c) for c in case.roles.missing.get(name, ())):
            inside = case.frame[name].between(low, high)
            keys[f"code {name}"] = np.where(inside, case.frame[name], 0.5)
    code = keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup().to_numpy()
    return [np.flatnonzero(code == c) for c in np.unique(code)]


def row_key(row: np.ndarray) -> tuple[float, ...]:
    return tuple(np.where(np.isnan(row), 9e99, np.round(row, 7)).tolist())


def counted(train: np.ndarray, test: np.ndarray, cells: list[np.ndarray]) -> np.ndarray:
    """Links per release of whoever takes the row that each record had most often in releases with the same rows."""
    def seen(y: np.ndarray) -> tuple[tuple, list[tuple]]:
        keys = [row_key(r) for r in y]
        return tuple(tuple(sorted(keys[i] for i in c)) for c in cells), keys

    table: dict[tuple, list[Counter]] = {}
    for y in train:
        rows, keys = seen(y)
        for count, key in zip(table.setdefault(rows, [Counter() for _ in keys]), keys, strict=True):
            count[key] += 1
    hits = np.zeros(len(test))
    for j, y in enumerate(test):
        rows, keys = seen(y)
        for c in cells:
            there = Counter(keys[i] for i in c)
            for i in c:
                known = table[rows][i] if rows in table else Counter()
                guess = max(there, key=lambda k, known=known, there=there: (known[k] / there[k], k))
                hits[j] += (keys[i] == guess) / there[guess]
    return hits / test.shape[1]


def examine(case: Case, train: int, test: int, first: int) -> list[tuple]:
    data = case.read()
    _, made = released(data, case, 1, 10**9)
    found = lv.certify(data, made)
    if all(c.expected >= 1 for c in found):
        raise NoBound("; ".join(found.refusals))
    cells = cells_of(case, made)
    y, z = released(data, case, train, first)[0], released(data, case, test, first + 10**6)[0]
    got = {**shares(Learnt(y).log_density(z), cells), "posterior counted": counted(y, z, cells)}
    place = np.zeros(z.shape[1])
    for c, rows in enumerate(cells):
        place[rows] = c
    distinct = np.array([len({(p, *row_key(r)) for p, r in zip(place, one, strict=True)}) for one in z]) / z.shape[1]
    out = []
    for name, share in got.items():
        bound = found.of(KINDS[name.partition(" ")[0]])
        share = share - distinct + bound.expected if bound.proof == EQUAL_ROWS else share
        above = int((share > bound.upper + 1e-9).sum()) if bound.upper_proof != EQUAL_ROWS else 0
        error = max(float(share.std(ddof=1)), 0.5 / z.shape[1] / np.sqrt(test)) / np.sqrt(test)
        out.append((name, bound.expected, bound.upper, float(share.mean()), error, float(share.max()), above, bound.proof))
    return out


def search(files: int, seed: int, minutes: float) -> None:
    began, counts, per_mask = time.time(), Counter(), Counter()
    for i in range(files):
        if time.time() - began > 60 * minutes:
            break
        case = make(seed * 10**6 + i)
        try:
            rows = examine(case, 150, 60, 0)
        except NoBound:
            counts["no bound below one"] += 1
            continue
        except LarvatusError:
            counts["refused"] += 1
            continue
        counts["searched"] += 1
        per_mask[" + ".join(s.partition("(")[0] for s in case.steps)] += 1
        rows = examine(case, 600, 250, 10**6) if suspicious(rows, 1.5) else rows
        if suspicious(rows, 2.5):
            counts["repeated"] += 1
            for r in suspicious(examine(case, 2000, 2000, 10**7), 4.0):
                counts["violations"] += 1
                print(f"VIOLATION file {i} of seed {seed}: {case}", *r, sep="\n    ", flush=True)
    print(", ".join(f"{k} {v}" for k, v in counts.items()), f"{time.time() - began:.0f} s")
    for k, v in per_mask.most_common(20):
        print(f"  {k}: {v} files")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--files", type=int, default=2000)
    asked.add_argument("--minutes", type=float, default=60.0)
    asked.add_argument("--seed", type=int, default=1)
    how = asked.parse_args()
    warnings.simplefilter("ignore")
    certify._forecast = lambda *_: None  # type: ignore[assignment]
    thread = threading.Thread(target=search, args=(how.files, how.seed, how.minutes))  # a mask then starts no thread of its own
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
