"""Code for users of a release, in Python and R. Column names are quoted by the rules of each language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

COPIES_PYTHON = '''\
import pandas as pd
from larvatus import analysis

copies = [pd.read_parquet(f"release-{{i}}.parquet") for i in range(1, {copies} + 1)]
estimates = [c[{column!r}].mean() for c in copies]
variances = [c[{column!r}].var() / len(c) for c in copies]
found = analysis.combine(estimates, variances, rule="partially_synthetic")
print(found.estimate, found.interval(0.95))
'''
COPIES_R = '''\
copies <- lapply(1:{copies}, function(i) read.csv(sprintf("release-%d.csv", i), check.names = FALSE))
q <- sapply(copies, function(d) mean(d[[{quoted}]]))
u <- sapply(copies, function(d) var(d[[{quoted}]]) / nrow(d))
m <- length(copies)
b <- var(q)
total <- mean(u) + b / m
df <- (m - 1) * (1 + mean(u) / (b / m))^2
mean(q) + c(-1, 1) * qt(0.975, df) * sqrt(total)
'''
PLAIN_PYTHON = '''\
import pandas as pd

release = pd.read_parquet("release.parquet")
print(release[{column!r}].mean())
'''
PLAIN_R = '''\
release <- read.csv("release.csv", check.names = FALSE)
mean(release[[{quoted}]])
'''


def noise_python(noise: Mapping[str, Any], columns: Sequence[str], groups: Sequence[str]) -> str:
    """The package's correction, with the published parameters filled in."""
    if noise["method"] == "additive_noise":
        made = f"analysis.additive({noise['variance']!r}, noise={noise['noise']!r})"
    elif noise["method"] == "correlated_noise":
        made = f"analysis.correlated({list(columns)!r}, {max(noise['variance'].values())!r}, noise={noise['noise']!r})"
    else:
        made = (
            f"analysis.multiplicative(\n    {noise['bias_sd']!r},\n    {noise['noise_ratio']!r},\n"
            f"    noise={noise['noise']!r}, bias={noise['bias']!r},\n)"
        )
    shown = f"found.regression({columns[0]!r}, on={list(columns[1:3])!r})" if len(columns) > 1 else "found.variances()"
    return (
        "import pandas as pd\nfrom larvatus import analysis\n\n"
        'release = pd.read_parquet("release.parquet")\n'
        f"noise = {made}\n"
        f"found = analysis.correct(release, noise, sub_groups={list(groups)!r})\n"
        f"print(found.variances(), {'found.correlations(), ' if len(columns) > 1 else ''}{shown}, sep=\"\\n\")\n"
    )


def noise_r(noise: Mapping[str, Any], columns: Sequence[str], groups: Sequence[str]) -> str:
    """The same moments from first principles: subtract the weighted noise covariances of the sub-groups."""
    names = _vector(columns)
    inside = f"interaction(release[{_vector(groups)}], drop = TRUE)" if groups else "factor(rep(1, nrow(release)))"
    head = (
        'release <- read.csv("release.csv", check.names = FALSE)\n'
        f"columns <- {names}\n"
        f"groups <- {inside}\n"
    )
    if noise["method"] == "additive_noise":
        head += f"v <- {_numbers(noise['variance'], columns)}\n"
        spread = "diag(diag(cov(z)) * v / (1 + v), length(v))"
    elif noise["method"] == "correlated_noise":
        head += f"v <- {max(noise['variance'].values())!r}\n"
        spread = "cov(z) * v / (1 + v)"
    else:
        head += f"b <- {_numbers(noise['bias_sd'], columns)}^2\nv <- {_numbers(noise['noise_ratio'], columns)}^2\n"
        spread = "diag((b * colMeans(z^2) + v * diag(cov(z))) / (1 + b + v), length(v))"
    tail = "cov2cor(corrected)\n"
    if len(columns) > 1:
        tail += "solve(corrected[-1, -1, drop = FALSE], corrected[-1, 1])  # slopes of the first column on the others\n"
    return (
        f"{head}z_by_group <- split(release[columns], groups)\n"
        f"noise <- Reduce(`+`, lapply(z_by_group, function(z) nrow(z) / nrow(release) * {spread}))\n"
        f"corrected <- cov(release[columns]) - noise\n{tail}"
    )


def _vector(names: Sequence[str]) -> str:
    return f"c({', '.join(map(in_r, names))})"


def in_r(name: str) -> str:
    """A name as an R string; R accepts the escapes of JSON."""
    return json.dumps(name, ensure_ascii=False)


def _numbers(values: Mapping[str, float], columns: Sequence[str]) -> str:
    return f"c({', '.join(f'{values[n]!r}' for n in columns)})"
