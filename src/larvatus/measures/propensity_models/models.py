"""The models of the propensity measure, with their U_p for the file, for sub-groups, for single columns, and by chance.

    U_p = (1/N) Σ (p_i − c)².  Expected by chance for a logistic regression with k terms:  N · U_p ≈ k c (1 − c)².
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.data.score import Row
from larvatus.data.verbs import as_one_group, reduce_groups
from larvatus.measures.binning.bins import round_edges
from larvatus.measures.propensity_models.files import TwoFiles
from larvatus.measures.propensity_models.identities import broken, identities
from larvatus.measures.propensity_models.logistic import SCORE, Model, fit_all, with_propensity
from larvatus.measures.propensity_models.trees import CodedFiles, encode_files, tree_null, tree_of
from larvatus.stats.models.design_terms import Interactions, Recipe, recipe_of
from larvatus.stats.models.logistic import LogisticFit

GroupNumbers = Sequence[tuple[str, int, int]]
_MOST_TERMS, RECORDS_PER_TERM = 200, 10
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
BINS, _SHOWN, _FOLDS, _ROUNDS = 30, 15, 5, 50
PAIRED = "; a ratio below 1 is normal, because released records resemble their own originals"


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The results of one model; `expected` is N·U_p by chance."""

    model: str
    value: float
    rows: int
    expected: float | None
    terms: int
    apart: bool = False
    by_group: Mapping[str, float] = field(default_factory=dict)
    group_figures: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    by_variable: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sampled: bool = False

    @property
    def ratio(self) -> float | None:
        """N·U_p over its expected value by chance; infinite if that is 0."""
        if self.expected:
            return self.value * self.rows / self.expected
        return float("inf") if self.expected == 0 and self.value > 0 else None


def by_logit(files: TwoFiles, groups: GroupNumbers, degree: int, interactions: Interactions, model: str) -> ModelResult:
    """Logistic regressions: for the file, for each sub-group that is large enough, and for each masked column alone."""
    name = "logit" if model == "both" else model
    paper = model in ("model_i", "model_ii")
    atoms = [a for v in files.variables for a in v.atoms()]
    masked = sum(a.masked for a in atoms)
    most = max(masked, min(_MOST_TERMS, min(files.rows) // RECORDS_PER_TERM))
    recipe = recipe_of(atoms, degree, "first" if paper else interactions, most, model == "model_ii")
    if not recipe.terms:
        return _nothing(name, files, groups)
    own = [v.name for v in files.variables if v.masked]
    chosen = _group_models(files, groups, recipe) if len(groups) > 1 else {}
    models = [
        Model(_design_rows(recipe, range(len(recipe.terms))), None, files.share),
        *(Model(_design_rows(recipe, [j for j, t in enumerate(recipe.terms) if t.variables == {v}]), None, files.share)
          for v in own),
        *chosen.values(),
    ]
    whole, *others = fit_all(files, recipe, models)
    alone, inside = others[: len(own)], dict(zip(chosen, others[len(own):], strict=True))
    value, total = _mean_departure(whole), sum(files.rows)
    by_group = {g: _mean_departure(f) for g, f in inside.items()} if len(groups) > 1 else {g[0]: value for g in groups}
    expected = whole.terms * files.share * (1 - files.share) ** 2
    notes = [*_ratio_note(name, value * total, expected), *_fit_notes(name, whole, recipe)]
    if len(groups) > len(by_group):
        notes.append(f"{name}: {len(groups) - len(by_group)} of {len(groups)} sub-groups have fewer than {RECORDS_PER_TERM} "
                     "records for each masked column and have no model of their own")
    figures = {g: _figures(f, m.share) for (g, f), m in zip(inside.items(), chosen.values(), strict=True)}
    return ModelResult(
        name, value, total, expected, whole.terms, whole.apart, by_group, figures,
        {v: _mean_departure(f) for v, f in zip(own, alone, strict=True)},
        {**_score_tables(files, recipe, whole), "terms": _term_rows(recipe, whole)}, tuple(notes),
    )


def _nothing(name: str, files: TwoFiles, groups: GroupNumbers) -> ModelResult:
    """The result if no masked column varies: U_p is 0."""
    return ModelResult(
        name, 0.0, sum(files.rows), 0.0, 0, by_group={g[0]: 0.0 for g in groups},
        by_variable={v.name: 0.0 for v in files.variables if v.masked}, notes=(f"{name}: no masked column varies",),
    )


def _design_rows(recipe: Recipe, terms: Sequence[int]) -> NDArray[np.int64]:
    return recipe.first + np.array([0, *(1 + j for j in terms)], dtype=np.int64)


def _mean_departure(fit: LogisticFit) -> float:
    """U_p = (1/N) Σ (p_i − c)²."""
    return fit.departure / fit.rows


def _group_models(files: TwoFiles, groups: GroupNumbers, recipe: Recipe) -> dict[str, Model]:
    """For each sub-group, as many tiers of terms as it has ten records per term for; no model if not even the first."""
    tiers = [[j for j, t in enumerate(recipe.terms) if t.tier <= tier and not t.grouped] for tier in (1, 2, 3)]
    out = {}
    for name, a, b in groups:
        sizes = files.sides[0].groups.sizes[a], files.sides[1].groups.sizes[b]
        fitting = [t for t in tiers if t and len(t) * RECORDS_PER_TERM <= min(sizes)]
        if fitting:
            out[name] = Model(_design_rows(recipe, fitting[-1]), (a, b), sizes[1] / sum(sizes))
    return out


def _figures(fit: LogisticFit, share: float) -> dict[str, float | None]:
    expected = fit.terms * share * (1 - share) ** 2
    return {"ratio": fit.departure / expected if expected else None, "terms": fit.terms}


def _ratio_note(name: str, found: float, expected: float | None) -> list[str]:
    """N·U_p and its ratio to the value expected by chance."""
    if not expected:
        chance = "" if expected is None else "; resamples of the original give no split, so any split is more than chance"
        return [f"{name}: N·U_p = {found:.3g}{chance}"] if found else []
    ratio = found / expected
    return [f"{name}: N·U_p = {found:.3g}, {ratio:.3g} times the value for a resample of the original "
            f"({expected:.3g}){PAIRED if ratio < 1 else ''}"]


def _fit_notes(name: str, fit: LogisticFit, recipe: Recipe) -> list[str]:
    out = []
    if fit.complete:
        out.append(f"{name}: the two files are completely separated, and U_p has its largest possible value")
    elif fit.apart:
        out.append(f"{name}: some records are classified with certainty (the fit is separated)")
    if not fit.converged:
        out.append(f"{name}: the fit did not converge in {fit.steps} steps; U_p is that of the last step")
    if fit.terms < len(recipe.terms):
        out.append(f"{name}: {len(recipe.terms) - fit.terms} of {len(recipe.terms)} terms are constant or combinations of "
                   "others and are left out")
    if recipe.left_out:
        out.append(f"{name}: {recipe.left_out} products are left out: at most {_MOST_TERMS} terms, and at most one for every "
                   f"{RECORDS_PER_TERM} records, are fitted. Use fewer columns to include them")
    return out


def _term_rows(recipe: Recipe, fit: LogisticFit) -> list[Row]:
    """The terms with the largest shares of the variance of the scores, and their shift in standard deviations."""
    beta = fit.coefficient[1:]
    sd = np.sqrt(np.maximum(np.diag(fit.scatter), 0.0))[1:]
    part = np.abs(beta * (fit.scatter[1:, 1:] @ beta))  # without the absolute value, opposing terms would have shares above 1
    total = float(part.sum())
    if total <= 0:
        return []
    share = part / total
    order = sorted(fit.kept.tolist(), key=lambda j: (-round(abs(float(share[j - 1])), 6), recipe.terms[j - 1].name))
    return [
        {"term": recipe.terms[j - 1].name, "share": float(share[j - 1]), "coefficient": float(beta[j - 1] * sd[j - 1]),
         "shift": float(fit.shift[j] / sd[j - 1])}
        for j in order[:_SHOWN]
    ]


def _score_tables(files: TwoFiles, recipe: Recipe, fit: LogisticFit) -> dict[str, list[Row]]:
    """Percentiles and binned counts of the scores in both files."""
    both = [as_one_group(data) for data in with_propensity(files, recipe, fit)]
    wanted = [0.005, *(p / 100 for p in PERCENTILES), 0.995]
    found = [data.table.quantiles(SCORE, wanted)[0] for data in both]
    edges = _edges(found)
    counts = [
        reduce_groups(data, [SCORE], lambda g, b: np.bincount(np.searchsorted(edges, b[SCORE]), minlength=len(edges) + 1),
                      np.add)[0]
        for data in both
    ]
    return _tables([f[1:-1] for f in found], edges, counts)


def _edges(found: Sequence[Floats]) -> Floats:
    low, high = min(f[0] for f in found), max(f[-1] for f in found)
    return np.unique(round_edges(np.linspace(low, high, BINS - 1), high - low)) if high - low > 1e-9 else np.zeros(0)


def _tables(percentiles: Sequence[Floats], edges: Floats, counts: Sequence[NDArray[np.int64]]) -> dict[str, list[Row]]:
    lows, highs = [None, *edges.tolist()], [*edges.tolist(), None]
    return {
        "percentiles": [
            {"percentile": p, "original": float(a), "released": float(b)}
            for p, a, b in zip(PERCENTILES, *percentiles, strict=True)
        ],
        "scores": [
            {"low": low, "high": high, "original": int(a), "released": int(b)}
            for low, high, a, b in zip(lows, highs, *counts, strict=True)
        ],
    }


def _tables_of(score: Floats, released: NDArray[np.int64]) -> dict[str, list[Row]]:
    """The same tables from scores in memory."""
    sides = [score[released == side] for side in (0, 1)]
    found = [np.quantile(s, [0.005, *(p / 100 for p in PERCENTILES), 0.995]) for s in sides]
    edges = _edges(found)
    counts = [np.bincount(np.searchsorted(edges, s), minlength=len(edges) + 1) for s in sides]
    return _tables([f[1:-1] for f in found], edges, counts)


def by_tree(
    files: TwoFiles, groups: GroupNumbers, smallest: int, complexity: float, sample: int, resamples: int, random: RecordRandom
) -> ModelResult:
    """Classification trees: for the file, each sub-group, each masked column alone, and resamples of the original."""
    data = _sampled(files, sample, random)
    every = [True] * len(data.variables)
    tree = tree_of(data, smallest, complexity, every)
    n = sum(data.rows)
    alone = {
        v.name: tree_of(data, smallest, complexity, [w.name == v.name for w in data.variables]).departure / n
        for v in files.variables if v.masked
    }
    inside = [not v.grouped for v in data.variables]
    by_group = {}
    for name, a, b in groups if len(groups) > 1 else []:
        rows = np.flatnonzero(data.group == np.where(data.released == 1, b, a))
        found = data.released[rows]
        by_group[name] = tree_of(data, smallest, complexity, inside, rows).departure / len(rows) if np.ptp(found) else 0.0
    null = tree_null(data, smallest, complexity, resamples, random)
    expected = float(null.mean()) * n if len(null) else None
    value = tree.departure / n
    total = float(tree.gain.sum())
    gain: dict[str, float] = {}
    for v, g in zip(data.variables, tree.gain.tolist(), strict=True):
        gain[v.name] = gain.get(v.name, 0.0) + (g / total if total else 0.0)
    terms: list[Row] = [
        {"term": v, "share": g} for v, g in sorted(gain.items(), key=lambda item: (-item[1], item[0])) if g > 0
    ]
    notes = [] if expected is None else _ratio_note("cart", value * n, expected)
    return ModelResult(
        "cart", value, n, expected, tree.leaves - 1, bool(_pure(tree.share)),
        by_group if len(groups) > 1 else {g[0]: value for g in groups}, {}, alone,
        {**_tables_of(tree.share, data.released), "terms": terms}, (*notes, *_sample_notes("cart", files, data)), data.sampled,
    )


def by_identities(files: TwoFiles, groups: GroupNumbers) -> ModelResult | None:
    """U_p of the identities of the original that released records break; None if none is broken."""
    known = identities(files)
    counts = broken(files.sides[1], known) if known else np.zeros((1, 1), dtype=np.int64)
    total = counts.sum(axis=0)
    if not total[0]:
        return None
    rows = files.rows
    by_group = {
        name: _departure(files.sides[0].groups.sizes[a], files.sides[1].groups.sizes[b], int(counts[b, 0]))
        for name, a, b in groups
    }
    notes = [
        f"identity: in every record of the original {i.name} is determined by {' and '.join(i.others)}; this does not hold in "
        f"{_share_text(k / rows[1])} released records, which can be recognised with certainty"
        for i, k in zip(known, total[1:].tolist(), strict=True) if k
    ]
    terms: list[Row] = [
        {"term": f"{i.name} given {', '.join(i.others)}", "share": float(k / rows[1])}
        for i, k in zip(known, total[1:].tolist(), strict=True) if k
    ]
    value = _departure(*rows, int(total[0]))
    return ModelResult("identity", value, sum(rows), 0.0, len(terms), True, by_group, tables={"terms": terms},
                       notes=tuple(notes))


def _departure(mine: int, theirs: int, broken: int) -> float:
    """U_p of the model that classifies by whether a record breaks an identity, which no original record does."""
    n, c = mine + theirs, theirs / max(mine + theirs, 1)
    others = n - broken
    p = (theirs - broken) / others if others else c
    return (broken * (1 - c) ** 2 + others * (p - c) ** 2) / n if n else 0.0


def _share_text(share: float) -> str:
    return "all" if share == 1 else f"{100 * share:.3g} % of"


def _pure(share: Floats) -> bool:
    return bool(((share == 0) | (share == 1)).any())


def _sampled(files: TwoFiles, sample: int, random: RecordRandom) -> CodedFiles:
    data = encode_files(files, sample, random)
    if min(data.rows) == 0:
        raise UtilityError(f"a sample of {sample} of {max(files.rows):,} records leaves one file empty. "
                           "Increase sample.", subject="propensity.sample")
    return data


def _sample_notes(name: str, files: TwoFiles, data: CodedFiles) -> list[str]:
    if not data.sampled:
        return []
    return [f"{name}: fitted on {data.rows[0]:,} of {files.rows[0]:,} original and {data.rows[1]:,} of {files.rows[1]:,} "
            "released records"]


def by_boosting(files: TwoFiles, sample: int, resamples: int, random: RecordRandom) -> ModelResult:
    """Boosted trees with five-fold cross-fitting; both copies of a record are in the same fold."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise UtilityError('propensity: model = "boosting" needs scikit-learn, which is not installed. Install it '
                           '(pip install larvatus[boosting]), or use model = "both".') from error
    from threadpoolctl import threadpool_limits

    data = _sampled(files, sample, random)
    n = sum(data.rows)

    def scores(x: Floats, label: NDArray[np.int64], record: NDArray[np.int64]) -> Floats:
        fold = (random.uniform(record, purpose="fold")[0] * _FOLDS).astype(np.int64)
        out = np.full(len(label), float(label.mean()))
        for f in range(_FOLDS):
            fit, here = fold != f, fold == f
            if here.any() and len(np.unique(label[fit])) > 1:
                model = HistGradientBoostingClassifier(max_iter=_ROUNDS, early_stopping=False, random_state=0)
                out[here] = model.fit(x[fit], label[fit]).predict_proba(x[here])[:, 1]
        return out

    x = np.ascontiguousarray(data.codes.T, dtype=np.float64)
    share = data.rows[1] / n
    null = []
    with threadpool_limits(1, user_api="openmp"):  # on a busy machine, waiting threads cost more than they gain
        found = scores(x, data.released, data.record)
        for u in random.uniform(np.arange(data.rows[1]), max(resamples, 1), purpose="resample")[:resamples]:
            rows = np.concatenate([np.arange(data.rows[0]), (u * data.rows[0]).astype(np.int64)])
            again = scores(x[rows], data.released, data.record[rows])
            null.append(float(((again - share) ** 2).sum()))
    expected = float(np.mean(null)) if null else None
    value = float(((found - share) ** 2).mean())
    return ModelResult(
        "boosting", value, n, expected, 0, tables=_tables_of(found, data.released),
        notes=(*_ratio_note("boosting", value * n, expected), *_sample_notes("boosting", files, data)), sampled=data.sampled,
    )
