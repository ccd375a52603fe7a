"""A search for files and masks in which an intruder exceeds a certificate: random small files, masks at random, many secrets.

    python benchmarks/certificate_search.py --files 2000 --seed 1     about a second a file; prints what was searched and found
    python benchmarks/certificate_search.py --secrets 2000 --seed 1   fewer files, with all secrets at once
    python benchmarks/certificate_search.py --only 1234 --seed 1      one file again, with more releases

Intruders know the mask as a whole program: they run it on the true file with secrets of their own, and learn from these
releases the distribution of the released row of each record (exact values that recur, and a normal density for the rest). Laws
of the certificates are not used. With the learnt densities the intruder of the whole file takes the exact posterior of the
pairing in each cell of records with the same S, by enumeration, and the intruder of one record the density or its ratio to the
mean of the others. For noise and post-randomisation alone a second pair of intruders has the exact law, written here. Each file
has 40 secrets; files with a mean above the expected figure are repeated with 250 and then 2,000 fresh ones. A violation is a
mean that is still 4 standard errors above, or more than one release in 2,000 above its limit (false alarm 1e-4 each).
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import larvatus as lv
from larvatus.certificates import certify
from larvatus.core.errors import LarvatusError
from larvatus.data.microdata import collect

MOST = 6  # records of a cell whose pairing is enumerated
TRAIN, TEST, MORE, AGAIN_TRAIN, AGAIN_TEST = 40, 40, (150, 250), 600, 2000
EQUAL_ROWS = "equal released rows"


@dataclass
class Case:
    frame: pd.DataFrame
    confidential: list[str]
    categories: list[str]
    given: list[str]
    group: bool
    weight: bool
    small: str
    steps: list[str]
    constraints: dict = field(default_factory=dict)

    def read(self) -> lv.Microdata:
        roles: dict = {"confidential": [*self.confidential, *self.categories], "non_confidential": self.given}
        if self.group:
            roles["sub_groups"] = lv.SubGroups(columns=("g",), small=self.small)
        if self.weight:
            roles["weight"] = "w"
        return lv.read(self.frame, **roles)


NOISE = ("normal", "uniform", "laplace", "mixture")


def column(draws: np.random.Generator, n: int) -> np.ndarray:
    kind = draws.choice(["normal", "skewed", "ties", "binary", "zeros", "giant", "constant", "missing", "near", "offset"],
                        p=[0.18, 0.1, 0.15, 0.07, 0.1, 0.12, 0.04, 0.12, 0.05, 0.07])
    x = draws.normal(size=n)
    if kind == "skewed":
        x = np.exp(1.5 * x)
    elif kind == "ties":
        x = np.round(x)
    elif kind == "binary":
        x = (x > 0).astype(float)
    elif kind == "zeros":
        x = np.where(draws.random(n) < 0.4, 0.0, np.exp(x))
    elif kind == "giant":
        x[draws.integers(n)] = 10.0 ** draws.integers(2, 11) * draws.choice([-1, 1])
    elif kind == "constant":
        x[:] = 3.0
    elif kind == "missing":
        x[draws.random(n) < 0.3] = np.nan
    elif kind == "near":
        x = 5 + 1e-5 * x
        x[0] = 6
    elif kind == "offset":
        x = 1e6 + x
    return x


def law_free(draws: np.random.Generator, columns: list[str]) -> str:
    """A step that forgets the pairing."""
    return str(draws.choice(["data_shuffling", "copula_perturbation", "latin_hypercube", "multiple_imputation(copies=2)",
                             "multiple_imputation(copies=1)", "normal_model(moments='exact')", "normal_model(moments='random')",
                             "random_orthogonal", "linear_model"]))


def lawful(draws: np.random.Generator, columns: list[str]) -> str:
    v = float(draws.choice([0.05, 0.25, 1.0, 4.0, 25.0]))
    zeros = draws.choice(["mask", "keep"], p=[0.7, 0.3])
    beta = float(draws.choice([0.1, 0.5, 0.9]))
    return str(draws.choice([
        f"additive_noise(variance={v}, noise='{draws.choice(NOISE)}', zeros='{zeros}')", f"correlated_noise(variance={v})",
        f"variance_preserving_noise(variance={v}, zeros='{zeros}')",
        f"variance_preserving_noise(variance={v}, correlated=false, noise='{draws.choice(NOISE)}')",
        f"linear_model(similarity={beta})", f"least_loss_model(bits={draws.choice([0.2, 1.0, 3.0])})",
        f"bias_and_noise(bias_sd={draws.choice([0.1, 0.5, 1.0])}, noise_ratio={draws.choice([0.1, 0.5, 1.0])})",
        f"bias_and_noise(bias='lognormal', bias_sd={draws.choice([0.1, 0.5, 1.0])}, noise_ratio=0.0)",
        f"bias_and_noise(bias_sd=0.0, noise_ratio={v}, noise='{draws.choice(NOISE)}')",
    ]))


def other(draws: np.random.Generator, columns: list[str]) -> str:
    return str(draws.choice(["rank_swap", "random_swap", "microaggregation(k=2)", "microaggregation(k=3)",
                             "sufficiency_based(similarity=0.5)", "rounding(base=1.0)", "top_coding(tail=0.3)"]))


def make(seed: int) -> Case:
    draws = np.random.default_rng(seed)
    many = draws.random() < 0.15
    few = draws.choice([2, 3, 4, 5, 6, 7, 8], p=[0.04, 0.08, 0.14, 0.3, 0.34, 0.05, 0.05])
    n = int(draws.integers(24, 73)) if many else int(few)
    p = int(draws.integers(1, 4))
    frame = pd.DataFrame({name: column(draws, n) for name in list("abc")[:p]})
    if p > 1 and draws.random() < 0.1:
        frame["b"] = 2 * frame["a"] + draws.choice([0.0, 1e-6]) * frame["b"]
    if draws.random() < 0.15:
        frame.iloc[draws.integers(n)] = frame.iloc[draws.integers(n)]
    given = []
    if draws.random() < 0.35 or many:
        frame["s"] = draws.choice([0.0, 1.0, 5.0], n)
        given.append("s")
    if draws.random() < 0.2:
        frame["t"] = draws.choice(["u", "v", "w"], n, p=[0.6, 0.3, 0.1])
        given.append("t")
    group = bool(draws.random() < 0.4 or many)
    if group:
        frame["g"] = draws.integers(0, max(2, n // 5 if many else 2), n)
    weight = bool(draws.random() < 0.15)
    if weight:
        frame["w"] = draws.choice([1.0, 2.0, 7.0], n)
    columns = list("abc")[:p]
    categories = []
    if draws.random() < 0.2:
        frame["k"] = draws.choice(["x", "y", "z"], n)
        frame.loc[draws.random(n) < 0.15, "k"] = None
        categories.append("k")
    family = draws.choice(["law", "free", "other"], p=[0.58, 0.34, 0.08])
    pick = {"law": lawful, "free": law_free, "other": other}[str(family)]
    step = pick(draws, columns)
    extra = []
    if draws.random() < 0.15:
        extra.append(str(draws.choice(["scope='file'", "where='a > 0'", "where='a < 1'"])))
    steps = []
    if p > 1 and draws.random() < 0.2:
        cut = int(draws.integers(1, p))
        second = (lawful if draws.random() < 0.6 else law_free)(draws, columns)
        steps = [with_settings(step, [f"columns={columns[:cut]}", *extra]), with_settings(second, [f"columns={columns[cut:]}"])]
    else:
        steps = [with_settings(step, ([f"columns={columns}"] if categories else []) + extra)]
    if categories:
        steps.append(f"post_randomisation(stay={draws.choice([0.2, 0.5, 0.8])}, invariant={draws.choice(['true', 'false'])}, "
                     "columns=['k'])")
    after = draws.random()
    if after < 0.1:
        steps.append(f"rounding(base={draws.choice([0.5, 1.0, 3.0])}, columns={columns})")
    elif after < 0.2:
        steps.append(f"reverse_map(columns={columns})")
    elif after < 0.25:
        steps.append(f"top_coding(tail=0.3, columns={columns})")
    constraints: dict = {}
    if draws.random() < 0.08:
        constraints = {"integers": columns[:1]}
    return Case(frame, columns, categories, given, group, weight, str(draws.choice(["refuse", "pool", "suppress"])), steps,
                constraints)


def with_settings(step: str, more: list[str]) -> str:
    if not more:
        return step
    return f"{step[:-1]}, {', '.join(more)})" if step.endswith(")") else f"{step}({', '.join(more)})"


def released(data: lv.Microdata, case: Case, count: int, first: int) -> tuple[np.ndarray, list]:
    """Releases × records × values (over copies), in record order, and the releases."""
    out, last = [], []
    names = [*case.confidential, *case.categories]
    for k in range(count):
        secret = b"a search for violations" + (first + k).to_bytes(6, "big")
        made = lv.mask(data, case.steps, secret=secret, **({"constraints": case.constraints} if case.constraints else {}))
        parts = []
        for copy in made.copies:
            record, _, values = collect(copy, names)
            if len(record) != len(case.frame):
                raise LarvatusError("records were removed")
            kinds = [copy.table.columns[n] for n in names]
            for n, kind in zip(names, kinds, strict=True):
                v = np.asarray(values[n], dtype=float)
                if kind.kind == "nominal":  # codes of texts may differ between releases
                    texts = np.array([hash_of(x) for x in kind.levels] + [np.nan])
                    v = texts[v.astype(int)]
                parts.append(v)
        out.append(np.stack(parts, axis=1))
        last = [made]
    return np.array(out), last


def hash_of(level: object) -> float:
    return float(sum(ord(c) * 131**i for i, c in enumerate(str(level))) % 99991)


def cells_of(case: Case) -> list[np.ndarray]:
    names = [*case.confidential, *case.categories]
    keys = pd.DataFrame({**{n: case.frame[n].isna() for n in names}, **{f"s_{n}": case.frame[n] for n in case.given}})
    if case.group:
        keys["g"] = case.frame["g"]
    if case.weight:
        keys["w"] = case.frame["w"]
    if not len(keys.columns):
        return [np.arange(len(case.frame))]
    code = keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup().to_numpy()
    return [np.flatnonzero(code == c) for c in np.unique(code)]


class Learnt:
    """log density of released rows under each record, from releases with known pairing."""

    def __init__(self, y: np.ndarray) -> None:
        count, n, d = y.shape
        self.discrete, self.tables = [], {}
        for k in range(d):
            values = np.round(y[:, :, k], 12)
            there = values[~np.isnan(values)]
            self.discrete.append(len(np.unique(there)) <= max(4 * n, 12) if there.size else True)
        self.smooth = [k for k in range(d) if not self.discrete[k] and not np.isnan(y[:, :, k]).all(axis=0).any()
                       and not np.isnan(y[:, :, k]).any()]
        self.alone = [k for k in range(d) if not self.discrete[k] and k not in self.smooth]
        for k in range(d):
            if self.discrete[k]:
                tables = [Counter(np.round(y[:, i, k], 9).tolist()) for i in range(n)]
                self.tables[k] = tables
        self.count, self.n = count, n
        if self.smooth:
            z = y[:, :, self.smooth]
            self.mean = z.mean(axis=0)
            own = np.array([np.atleast_2d(np.cov(z[:, i].T)) for i in range(n)])
            pooled = own.mean(axis=0)
            weight = min(1.0, count / (count + 60.0)) if count < 200 else 1.0
            ratio = np.array([np.diag(o) for o in own])
            even = (ratio.max(axis=0) < 4 * np.maximum(ratio.min(axis=0), 1e-300)).all()
            self.cov = np.array([pooled if even else weight * o + (1 - weight) * np.diag(np.diag(o)) for o in own])
        if self.alone:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.mean1 = {k: np.nanmean(y[:, :, k], axis=0) for k in self.alone}
                self.sd1 = {k: np.nanstd(y[:, :, k], axis=0) for k in self.alone}

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Releases × records × rows."""
        count, n, _ = y.shape
        out = np.zeros((count, n, n))
        for k, tables in self.tables.items():
            values = np.round(y[:, :, k], 9)
            kinds = len({v for t in tables for v in t}) + 1
            for i, table in enumerate(tables):
                known = {v: np.log((c + 0.5) / (self.count + 0.5 * kinds)) for v, c in table.items()}
                none = np.log(0.5 / (self.count + 0.5 * kinds))
                flat = [known.get(v, none) for v in values.ravel().tolist()]
                out[:, i] += np.reshape(flat, values.shape)
        if self.smooth:
            z = y[:, :, self.smooth]
            for i in range(n):
                c = self.cov[i]
                sd = np.sqrt(np.maximum(np.diag(c), 0))
                floor = np.where(sd > 0, sd, 1e-9 * (np.abs(self.mean[i]) + 1e-9))
                corr = c / np.outer(floor, floor)
                np.fill_diagonal(corr, 1.0)
                values, vectors = np.linalg.eigh(corr)
                values = np.maximum(values, 1e-8)
                t = ((z - self.mean[i]) / floor) @ vectors / np.sqrt(values)
                out[:, i] += -0.5 * (t**2).sum(axis=2) - 0.5 * np.log(values).sum() - np.log(floor).sum()
        for k in self.alone:
            for i in range(n):
                sd = self.sd1[k][i] if self.sd1[k][i] > 0 else 1e-9
                with np.errstate(invalid="ignore"):
                    part = -0.5 * ((y[:, :, k] - self.mean1[k][i]) / sd) ** 2 - np.log(sd)
                out[:, i] += np.where(np.isnan(part), 0.0, part)
        return out


_ORDERS = {k: np.array(list(itertools.permutations(range(k)))) for k in range(1, MOST + 1)}


def posterior(log: np.ndarray) -> np.ndarray:
    """P(σ(t) = j), releases × k × k, by enumeration."""
    k = log.shape[1]
    orders = _ORDERS[k]
    total = log[:, np.arange(k)[None], orders].sum(axis=2)
    p = np.exp(total - total.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    out = np.zeros_like(log)
    for t in range(k):
        for j in range(k):
            out[:, t, j] = p[:, orders[:, t] == j].sum(axis=1)
    return out


def credit(score: np.ndarray) -> np.ndarray:
    """Links per release of the highest score; ties share."""
    best = score >= score.max(axis=2, keepdims=True) - 1e-9
    diagonal = np.einsum("rii->ri", best)
    return (diagonal / best.sum(axis=2)).sum(axis=1)


def shares(log: np.ndarray, cells: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Share of links per release: density and ratio (one record known), posterior (whole file)."""
    count, n, _ = log.shape
    hits = {"density": np.zeros(count), "ratio": np.zeros(count), "posterior": np.zeros(count)}
    for rows in cells:
        part = log[:, rows[:, None], rows[None]]
        part = np.maximum(part, part.max(axis=2, keepdims=True) - 700)
        scaled = np.exp(part - part.max(axis=1, keepdims=True))
        ratio = np.log(scaled + 1e-300) - np.log(scaled.sum(axis=1, keepdims=True) - scaled + 1e-300)
        hits["density"] += credit(part)
        hits["ratio"] += credit(ratio)
        hits["posterior"] += credit(posterior(part)) if len(rows) <= MOST else np.maximum(credit(part), 0)
    return {k: v / n for k, v in hits.items()}


KINDS = {"density": "single target", "ratio": "single target", "posterior": "whole file"}


def examine(case: Case, train: int, test: int, first: int) -> list[tuple]:
    """For each intruder its name, both bounds, mean, standard error, largest, number exceeded, and the proof."""
    data = case.read()
    made = released(data, case, 1, 10**9)[1][0]
    found = lv.certify(data, made)
    if all(c.expected >= 1 for c in found):
        raise NoBound("; ".join(found.refusals))
    y, _ = released(data, case, train, first)
    z, _ = released(data, case, test, first + 10**6)
    mine = shares(Learnt(y).log_density(z), cells_of(case))
    exact = exact_law(case, z)
    if exact is not None:
        mine |= {f"{name} by the law": got for name, got in shares(exact, cells_of(case)).items()}
    code = np.zeros(len(case.frame))
    for c, rows_of_cell in enumerate(cells_of(case)):
        code[rows_of_cell] = c
    out = []
    for name, got in mine.items():
        bound = found.of(KINDS[name.partition(" ")[0]])
        keyed = (np.column_stack([code, np.nan_to_num(one, nan=1e99)]) for one in z)
        rows = np.array([len(np.unique(k, axis=0)) for k in keyed]) / len(code)
        given = bound.proof == EQUAL_ROWS  # this bound is about one release: each has its own
        got = got - rows + bound.expected if given else got
        above = int((got > bound.upper + 1e-9).sum()) if bound.upper_proof != EQUAL_ROWS else 0
        error = max(float(got.std(ddof=1)), 0.5 / len(case.frame) / np.sqrt(test)) / np.sqrt(test)
        out.append((name, bound.expected, bound.upper, float(got.mean()), error, float(got.max()), above, bound.proof))
    return out


def exact_law(case: Case, z: np.ndarray) -> np.ndarray | None:
    """The log density of noise and levels alone, in the same form; None for other masks."""
    names = [*case.confidential, *case.categories]
    if case.constraints or z.shape[2] != len(names):
        return None
    group = case.frame["g"].to_numpy() if case.group else np.zeros(len(case.frame))
    out = np.zeros((len(z), len(case.frame), len(case.frame)))
    done: set[str] = set()
    for text in case.steps:
        name, settings = text.partition("(")[0], settings_of(text)
        if name not in _COLUMN_LAWS or settings.keys() & {"where", "scope", "invariant"} - {"invariant"}:
            return None
        if settings.get("invariant", False) or (name == "variance_preserving_noise" and settings.get("correlated", True)
                                                and len(names) > 1):
            return None
        for column in settings.get("columns", names):
            k, x = names.index(column), case.frame[column]
            if column in done or ((group != group[0]).any() and case.small != "refuse"):
                return None
            done.add(column)
            if name == "post_randomisation":
                codes = np.array([np.nan if v is None or v != v else hash_of(v) for v in x])
                out += levels_law(codes, z[:, :, k], group, settings["stay"])
            else:
                out += _COLUMN_LAWS[name](x.to_numpy(dtype=float), z[:, None, :, k], group, settings)
    return np.maximum(out, -1e4)


def settings_of(text: str) -> dict:
    inside = text.partition("(")[2].removesuffix(")")
    return dict(eval(f"dict({inside})", {"true": True, "false": False}))  # the texts are made above


def shape_law(shape: str, t: np.ndarray) -> np.ndarray:
    if shape == "uniform":
        return np.where(np.abs(t) <= np.sqrt(3) + 1e-6, -np.log(2 * np.sqrt(3)), -1e4)
    if shape == "laplace":
        return -np.sqrt(2) * np.abs(t) - 0.5 * np.log(2)
    if shape == "mixture":
        s = np.sqrt(1 / 2.5)
        return np.logaddexp(np.log(0.9 / s) - (t / s) ** 2 / 2, np.log(0.1 / (4 * s)) - (t / (4 * s)) ** 2 / 2)
    return -(t**2) / 2


def added_law(x: np.ndarray, y: np.ndarray, group: np.ndarray, settings: dict, shrink: bool = False) -> np.ndarray:
    keep = settings.get("zeros", "mask") == "keep"
    sd, mean = np.full(len(x), np.nan), np.zeros(len(x))
    for g in np.unique(group):
        used = x[(group == g) & ~np.isnan(x) & ~(keep & (x == 0))]
        sd[group == g] = used.std(ddof=1) if len(used) > 1 else 0.0
        mean[group == g] = used.mean() if len(used) else 0.0
    v = settings.get("variance", settings.get("noise_ratio", 0) ** 2)
    if "noise_ratio" in settings:
        sd = np.hypot(settings["noise_ratio"] * sd, settings["bias_sd"] * np.nan_to_num(x))
    else:
        sd = np.sqrt(v) * sd
    centre = np.where(sd > 0, mean + (x - mean) / np.sqrt(1 + v), x) if shrink else x
    sd = sd / np.sqrt(1 + v) if shrink else sd
    safe = np.where(sd > 0, sd, 1e-12 * (np.abs(np.nan_to_num(x)) + 1e-12))
    with np.errstate(invalid="ignore", over="ignore"):
        log = shape_law(settings.get("noise", "normal"), (y - centre[:, None]) / safe[:, None]) - np.log(safe)[:, None]
    log = np.where(np.isnan(x)[:, None] | np.isnan(y), 0.0, log)
    if keep:
        zero = (x == 0)[:, None]
        log = np.where(zero & (y == 0), 0.0, np.where(zero != (y == 0), -1e4, log))
    return np.asarray(log)


def shrunk_law(x: np.ndarray, y: np.ndarray, group: np.ndarray, settings: dict) -> np.ndarray:
    return added_law(x, y, group, settings, shrink=True)


def factor_law(x: np.ndarray, y: np.ndarray, group: np.ndarray, settings: dict) -> np.ndarray:
    if settings.get("bias", "normal") == "normal":
        return added_law(x, y, group, settings)
    sd = np.sqrt(np.log1p(settings["bias_sd"] ** 2))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        t = (np.log(y / x[:, None]) + sd**2 / 2) / sd
    same = ((x == 0)[:, None] & (y == 0)) | np.isnan(x)[:, None] | np.isnan(y)
    return np.where(same, 0.0, np.where(np.isfinite(t), -(t**2) / 2, -1e4))


def levels_law(x: np.ndarray, y: np.ndarray, group: np.ndarray, stay: float) -> np.ndarray:
    out = np.zeros((len(y), len(x), len(x)))
    for i, v in enumerate(x):
        there = {u for u in x[group == group[i]] if not np.isnan(u)}
        away = np.log((1 - stay) / (len(there) - 1)) if len(there) > 1 else -1e4
        own = np.where(y == v, np.log(stay) if len(there) > 1 else 0.0, away)
        out[:, i] = np.where(np.isnan(y) | np.isnan(v), 0.0, own)
    return out


_COLUMN_LAWS = {"additive_noise": added_law, "variance_preserving_noise": shrunk_law, "bias_and_noise": factor_law,
                "post_randomisation": None}


class NoBound(Exception):
    """No certificate is below one."""


def suspicious(rows: list[tuple], z: float) -> list[tuple]:
    return [r for r in rows if r[3] > r[1] + z * r[4] + 1e-9 or r[6] > (z >= 4)]


def search(files: int, seed: int, minutes: float, many: int) -> None:
    began, counts, violations, secrets = time.time(), Counter(), 0, Counter()
    per_mask: Counter = Counter()
    tight: list[float] = []
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))
    for i in range(files):
        if time.time() - began > 60 * minutes:
            break
        case = make(seed * 10**6 + i)
        key = " + ".join(s.partition("(")[0] for s in case.steps)
        try:
            rows = examine(case, max(TRAIN, many // 5), many, 0)
        except NoBound:
            counts["no bound below one"] += 1
            continue
        except LarvatusError as why:
            counts["refused"] += 1
            counts["why: " + str(why)[:50]] += 1
            continue
        counts["searched"] += 1
        per_mask[key] += 1
        secrets[key] += many
        tight.append(max(r[3] - r[1] for r in rows))
        whole = max(r[3] - r[1] for r in rows if r[0].startswith("posterior"))
        sums[rows[-1][7]] += np.array([1, whole, max(r[4] for r in rows) ** 2])
        if suspicious(rows, 1.5):
            rows = examine(case, *MORE, 10**6)
            secrets[key] += MORE[1]
        if suspicious(rows, 2.5):
            again = examine(case, AGAIN_TRAIN, AGAIN_TEST, 10**7)
            secrets[key] += AGAIN_TEST
            counts["repeated"] += 1
            worse = suspicious(again, 4.0)
            if worse:
                violations += 1
                print(f"VIOLATION file {i} of seed {seed}: {case.steps} n={len(case.frame)} {case.constraints}", flush=True)
                for r in worse:
                    print("   ", r[0], f"expected {r[1]:.4f} upper {r[2]:.4f} mean {r[3]:.4f} ± {r[4]:.4f} largest {r[5]:.4f} "
                          f"above {r[6]} [{r[7]}]", flush=True)
    said = ", ".join(f"{k} {v}" for k, v in counts.items() if not k.startswith("why"))
    print(f"{violations} violations; {said}; {time.time() - began:.0f} s")
    for k, v in sorted(per_mask.items(), key=lambda kv: -kv[1]):
        print(f"  {k}: {v} files, {secrets[k]} secrets")
    if tight:
        print("mean minus bound, quantiles:", np.round(np.quantile(tight, [0.05, 0.5, 0.9, 0.99, 1]), 3))
    for k, (count, total, variance) in sums.items():
        z = total / max(variance, 1e-12) ** 0.5
        print(f"  {k}: {count:.0f} files, mean of share − bound {total / count:+.4f}, z {z:+.1f}")
    for k, v in counts.most_common(12):
        if k.startswith("why"):
            print("  ", v, k)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--files", type=int, default=2000)
    asked.add_argument("--minutes", type=float, default=60.0)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--secrets", type=int, default=TEST, help="of each file at first")
    asked.add_argument("--only", type=int, help="one file again, with all secrets of a repetition")
    how = asked.parse_args()
    warnings.simplefilter("ignore")
    if how.only is not None:
        case = make(how.seed * 10**6 + how.only)
        print(case.frame.to_string(), case.steps, case.small, case.given, case.group, case.weight, case.constraints)
        for r in examine(case, AGAIN_TRAIN, AGAIN_TEST, 10**8):
            print(*r)
        return
    certify._forecast = lambda *_: None  # type: ignore[assignment]
    given = how.files, how.seed, how.minutes, how.secrets
    thread = threading.Thread(target=search, args=given)  # a mask then starts no thread of its own
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
