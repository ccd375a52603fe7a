"""Trees for synthesis against an exhaustive search, scikit-learn and R's rpart; leaves, missing values, levels and pruning."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from larvatus.stats.trees.class_cuts import MOST_TRIED
from larvatus.stats.trees.tree import Predictor, Tree, fit_tree, tree_values

R = shutil.which("Rscript")


def leaf_of_rows(tree: Tree) -> np.ndarray:
    out = np.empty(len(tree.leaves.rows), dtype=int)
    out[tree.leaves.rows] = np.repeat(np.arange(len(tree.leaves.sizes)), tree.leaves.sizes)
    return out


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = {*zip(one.tolist(), other.tolist(), strict=True)}
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def numbers(n: int, seed: int, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(columns, n))


def impurity(target: np.ndarray, kind: str) -> float:
    if len(target) == 0:
        return 0.0
    if kind == "number":
        return float(((target - target.mean()) ** 2).sum())
    counts = np.bincount(target)
    return float(len(target) - (counts**2).sum() / len(target))


def fall(target: np.ndarray, left: np.ndarray, kind: str) -> float:
    return impurity(target, kind) - impurity(target[left], kind) - impurity(target[~left], kind)


@pytest.mark.parametrize("levels", [2, 5, MOST_TRIED])
@pytest.mark.parametrize("kind", ["number", "two classes", "classes"])
def test_one_division_by_levels_is_the_best_of_all(kind, levels):
    """Every set of levels is tried by hand. More than eight levels and three classes are not searched in full."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        g = rng.integers(0, levels, 80).astype(np.int32)
        target = rng.normal(size=80) if kind == "number" else rng.integers(0, 2 if kind == "two classes" else 4, 80)
        base = "number" if kind == "number" else "classes"
        tree = fit_tree([Predictor.of_levels(g, levels, True)], target, base, np.arange(80), 3, least=6, deepest=1)
        found = fall(target, leaf_of_rows(tree) == 0, base)
        divisions = (np.isin(g, np.flatnonzero(bits)) for bits in product([0, 1], repeat=levels))
        best = max(fall(target, left, base) for left in divisions if 3 <= left.sum() <= 77)
        assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("rounded", [False, True], ids=["sorted", "by level"])
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_one_cut_of_a_number_is_the_best_of_all(kind, rounded):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 90 if rounded else 300
        x = rng.normal(size=n).round(1 if rounded else 9)
        target = rng.normal(size=n) + x if kind == "number" else rng.integers(0, 3, n)
        tree = fit_tree([Predictor.of_numbers(x)], target, kind, np.arange(n), 4, least=8, deepest=1)
        sides = leaf_of_rows(tree) == 0
        best = max(fall(target, x <= cut, kind) for cut in np.unique(x) if 4 <= (x <= cut).sum() <= n - 4)
        assert fall(target, sides, kind) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", ["number", "classes"])
def test_the_leaves_are_those_of_scikit_learn(kind):
    sklearn = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    n, smallest = (1500, 5) if kind == "number" else (4000, 60)  # small counts of classes have equal gains, in any order
    x = numbers(n, 1)
    y = x[0] ** 2 + x[1] + 0.3 * np.random.default_rng(2).normal(size=n)
    target = y if kind == "number" else np.digitize(y, [-0.5, 0.5, 1.5])
    model = sklearn.DecisionTreeRegressor if kind == "number" else sklearn.DecisionTreeClassifier
    theirs = model(min_samples_leaf=smallest, min_samples_split=3 * smallest, max_depth=30, random_state=0).fit(x.T, target)
    tree = fit_tree([Predictor.of_numbers(v) for v in x], target, kind, np.arange(n), smallest)
    assert len(tree.leaves.sizes) > 20
    assert same_partition(tree.leaf_of(list(x), n), theirs.apply(x.T.astype(np.float32)))


def test_rows_end_in_the_leaf_that_they_were_grown_in_whatever_is_missing():
    rng = np.random.default_rng(3)
    x, g, order = rng.normal(size=800), rng.integers(-1, 12, 800).astype(np.int32), rng.integers(-1, 5, 800).astype(np.int32)
    x[rng.random(800) < 0.2] = np.nan
    target = np.where(np.isnan(x), 3.0, np.nan_to_num(x)) + g % 3 + order + rng.normal(size=800)
    predictors = [Predictor.of_numbers(x), Predictor.of_levels(g, 12, True), Predictor.of_levels(order, 5, False)]
    for kind, wanted in (("number", target), ("classes", np.digitize(target, [0, 2, 4, 6]))):
        tree = fit_tree(predictors, wanted, kind, np.arange(800), 5)
        assert tree.leaves.sizes.min() >= 5
        assert len(tree.leaves.sizes) > 20
        assert (tree.leaf_of([tree_values(c) for c in (x, g, order)], 800) == leaf_of_rows(tree)).all()


def test_missing_numbers_are_parted_from_the_others_where_that_is_best():
    x = np.array([np.nan] * 20 + list(range(20)) * 2, dtype=float)
    tree = fit_tree([Predictor.of_numbers(x)], np.isnan(x).astype(float), "number", np.arange(60), 5)
    assert sorted(tree.leaves.sizes.tolist()) == [20, 40]
    assert len(set(tree.leaf_of([np.array([np.nan, -1e300])], 2).tolist())) == 2


def test_a_level_that_a_node_never_saw_goes_to_the_larger_side():
    g = np.array([0] * 10 + [1] * 30, dtype=np.int32)
    tree = fit_tree([Predictor.of_levels(g, 3, True)], (g == 0).astype(float), "number", np.arange(40), 5)
    leaf = tree.leaf_of([tree_values(np.array([0, 1, 2, -1], dtype=np.int32))], 4)
    assert leaf[0] != leaf[1] == leaf[2] == leaf[3]


def test_pruning_leaves_the_branches_that_are_worth_their_price():
    """The cheapest of all subtrees, found by trying each, at several prices."""
    x = numbers(60, 4, 2)
    y = x[0] + 0.5 * np.random.default_rng(4).normal(size=60)
    predictors = [Predictor.of_numbers(v) for v in x]
    whole = impurity(y, "number")
    for complexity in (0.0, 0.01, 0.05, 0.3, 1.0):
        tree = fit_tree(predictors, y, "number", np.arange(60), 8, complexity, least=16)
        leaf = leaf_of_rows(tree)
        cost = sum(impurity(y[leaf == k], "number") for k in range(leaf.max() + 1)) + complexity * whole * leaf.max()
        assert cost == pytest.approx(_cheapest(x, y, np.arange(60), complexity * whole), rel=1e-9)


def _cheapest(x: np.ndarray, y: np.ndarray, rows: np.ndarray, price: float) -> float:
    alone = impurity(y[rows], "number")
    tree = fit_tree([Predictor.of_numbers(v) for v in x], y, "number", rows, 8, least=16, deepest=1)
    parts = [tree.leaves.rows[a:b] for a, b in zip(tree.leaves.starts, tree.leaves.starts[1:], strict=False)]
    if len(parts) == 1:
        return alone
    return min(alone, price + sum(_cheapest(x, y, part, price) for part in parts))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_numbers_of_any_magnitude_are_divided_alike(size):
    x = numbers(400, 5)
    y = x[0] + numbers(400, 6, 1)[0]
    trees = [fit_tree([Predictor.of_numbers(v) for v in x], t, "number", np.arange(400), 5) for t in (y, y * size)]
    assert same_partition(*map(leaf_of_rows, trees))


def test_a_constant_target_and_a_file_without_predictors_make_one_leaf():
    x = numbers(50, 7, 1)[0]
    for predictors, target in (([Predictor.of_numbers(x)], np.ones(50)), ([], x)):
        tree = fit_tree(predictors, target, "number", np.arange(50), 5)
        assert tree.leaves.sizes.tolist() == [50]
        assert not tree.leaf_of([x] * len(predictors), 50).any()


MANY_CLASSES = """
import resource
from pathlib import Path
import numpy as np
from larvatus.stats.trees.tree import Predictor, fit_tree
rng = np.random.default_rng(9)
x = rng.normal(size=60_000)
g = rng.integers(0, 40, len(x)).astype(np.int32)
target = np.argsort(np.argsort(x)) * 1500 // len(x)
columns = [Predictor.of_numbers(x), Predictor.of_levels(g, 40, True)]
fit_tree(columns, target, "classes", np.arange(300), 5)  # loads what was compiled
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 200_000_000,) * 2)
tree = fit_tree(columns, target, "classes", np.arange(len(x)), 5)
print(len(tree.leaves.sizes), tree.leaves.sizes.min())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process is read from /proc")
def test_many_classes_and_many_different_numbers_need_little_memory():
    """60,000 numbers and 1,500 classes: a table of both would take 720 MB, and there are 200."""
    done = subprocess.run([sys.executable, "-c", MANY_CLASSES], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    leaves, smallest = map(int, done.stdout.split())
    assert leaves > 20
    assert smallest >= 5


CODE = """
library(rpart)
d <- read.csv("data.csv", stringsAsFactors = TRUE)
for (name in c("y", "two", "four")) {
  method <- if (name == "y") "anova" else "class"
  control <- rpart.control(minbucket = if (name == "y") 5 else 60, cp = -1, xval = 0, maxcompete = 0, maxsurrogate = 0,
                           usesurrogate = 0)
  fit <- rpart(as.formula(paste(name, "~ a + b + g")), data = d, method = method, control = control)
  write.table(fit$where, paste0(name, ".txt"), row.names = FALSE, col.names = FALSE)
}
"""


@pytest.mark.slow
@pytest.mark.skipif(R is None, reason="no R is installed: apt-get install r-base-core r-cran-rpart")
def test_the_leaves_are_those_of_rpart(tmp_path):
    """cp = −1 grows the whole tree: rpart prunes classes by the share of wrong predictions, and not by the Gini index.

    Leaves of classes are large, because small counts have equal gains.
    """
    n, rng = 6000, np.random.default_rng(8)
    a, b, g = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 6, n).astype(np.int32)
    y = a**2 + b * (g % 2) + g / 3 + 0.3 * rng.normal(size=n)
    targets = {"y": y, "two": (y > 1).astype(np.int32), "four": np.digitize(y, [0.3, 1.2, 2.1]).astype(np.int32)}
    lines = zip(a, b, y, g, targets["two"], targets["four"], strict=True)
    text = "\n".join(f"{a!r},{b!r},{y!r},g{g},t{t},f{f}" for a, b, y, g, t, f in (
        (float(a), float(b), float(y), g, t, f) for a, b, y, g, t, f in lines))
    (tmp_path / "data.csv").write_text(f"a,b,y,g,two,four\n{text}\n", encoding="utf-8")
    (tmp_path / "code.R").write_text(CODE, encoding="utf-8")
    line = [str(R), "--vanilla", "code.R"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    if "there is no package called" in done.stderr:
        pytest.skip("R has no package rpart: apt-get install r-cran-rpart")
    assert done.returncode == 0, done.stderr
    predictors = [Predictor.of_numbers(a), Predictor.of_numbers(b), Predictor.of_levels(g, 6, True)]
    for name, target in targets.items():
        theirs = np.loadtxt(tmp_path / f"{name}.txt").astype(int)
        kind, smallest = ("number", 5) if name == "y" else ("classes", 60)
        ours = leaf_of_rows(fit_tree(predictors, target, kind, np.arange(n), smallest))
        assert same_partition(ours, theirs), name
        assert len(set(ours.tolist())) > (500 if name == "y" else 30)
