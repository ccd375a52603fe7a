"""The R code for users, read as R would read it: text ends, brackets close, names are known, and figures are those published.

`test_r_run` runs it where R is installed; `test_public_use` does what its lines say, in NumPy.
"""

from __future__ import annotations

import re

import pytest

from larvatus.reporting.sections.analysis_code import COPIES_R, PLAIN_R, in_r, noise_python, noise_r

NAMES = ("income", "it's", 'a "quoted" name', "back\\slash", "{brace}", "größe")
GROUPS = ("region", "sex of \"head\"")
NOISES = {
    "additive": {"method": "additive_noise", "noise": "normal", "variance": {n: 0.1 + 0.01 * i for i, n in enumerate(NAMES)}},
    "correlated": {"method": "correlated_noise", "noise": "normal", "variance": dict.fromkeys(NAMES, 0.35)},
    "factors": {
        "method": "bias_and_noise", "noise": "normal", "bias": "normal",
        "bias_sd": {n: 0.05 + 0.01 * i for i, n in enumerate(NAMES)}, "noise_ratio": dict.fromkeys(NAMES, 1e-05),
    },
}
TOKEN = re.compile(
    r'''\s+|\#[^\n]*|(?P<text>"(?:[^"\\\n]|\\["\\ntbfr/]|\\u[0-9a-f]{4})*")|(?P<number>\d+\.?\d*(?:e[-+]?\d+)?)'''
    r'''|(?P<name>[A-Za-z.][\w.]*(?:::\w+)?|`[^`\n]+`)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<sign><-|[-+*/^=,:])'''
)
KNOWN = {
    "release", "columns", "groups", "v", "b", "z", "z_by_group", "noise", "corrected", "copies", "q", "u", "m", "total", "df",
    "i", "d", "drop", "TRUE", "FALSE", "function", "`+`",
    "read.csv", "check.names", "c", "interaction", "factor", "rep", "nrow", "split", "Reduce", "lapply", "diag",
    "cov", "colMeans", "length", "cov2cor", "solve", "sapply", "sprintf", "mean", "var", "qt", "sqrt",
}


def read(code: str) -> list[tuple[str, str]]:
    """Its tokens; nothing may be left over, every bracket is closed by its own kind, and every line is whole."""
    out, at, waiting = [], 0, []
    while at < len(code):
        found = TOKEN.match(code, at)
        assert found, f"not R: {code[at:at + 30]!r}"
        at = found.end()
        if found.lastgroup == "open":
            waiting.append(found.group())
        elif found.lastgroup == "close":
            assert waiting.pop() + found.group() in ("()", "[]", "{}")
        elif "\n" in found.group():
            assert not waiting, "a line ends inside brackets"
        if found.lastgroup:
            out.append((found.lastgroup, found.group()))
    assert not waiting
    return out


def text(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted[1:-1])


def checked(code: str) -> list[tuple[str, str]]:
    tokens = read(code)
    assert {t for kind, t in tokens if kind == "name"} <= KNOWN
    assigned = re.findall(r"(?m)^(\w+) <- ", code)
    for i, name in enumerate(assigned):
        line = next(x for x in code.splitlines() if x.startswith(f"{name} <- "))
        used = {t for kind, t in read(line.split(" <- ", 1)[1]) if kind == "name"}
        assert not used & set(assigned[i:]) - {"z"}, f"{name} uses what is not there yet"
    return tokens


@pytest.mark.parametrize("broken", ['mean("x)', "c(1, 2", "c(1, 2]", "mean(x) %% 2", "x <- c(1,\n2)"])
def test_the_reader_refuses_what_is_not_r(broken):
    with pytest.raises(AssertionError):
        read(broken)


@pytest.mark.parametrize("columns", [NAMES, NAMES[:2], NAMES[:1]], ids=["six", "two", "one"])
@pytest.mark.parametrize("groups", [GROUPS, ()], ids=["within", "whole"])
@pytest.mark.parametrize("noise", NOISES)
def test_the_code_for_noise_is_r_with_the_published_figures(noise, groups, columns):
    published = {k: {n: v[n] for n in columns} if isinstance(v, dict) else v for k, v in NOISES[noise].items()}
    code = noise_r(published, columns, groups)
    tokens = checked(code)
    texts = [text(t) for kind, t in tokens if kind == "text"]
    assert texts == ["release.csv", *columns, *groups]
    python = noise_python(published, columns, groups)
    figures = [float(t) for kind, t in tokens if kind == "number"]
    for of in (v for v in published.values() if isinstance(v, dict)):
        wanted = [of[n] for n in columns] if noise != "correlated" else [max(of.values())]
        assert any(figures[i : i + len(wanted)] == wanted for i in range(len(figures))), of
        assert all(repr(v) in python for v in wanted)
    assert ("solve" in code) == (len(columns) > 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("template", [COPIES_R, PLAIN_R], ids=["copies", "plain"])
def test_other_code_is_r_for_any_name(template, name):
    tokens = checked(template.format(copies=5, quoted=in_r(name)))
    assert name in [text(t) for kind, t in tokens if kind == "text"]


def test_the_rule_for_copies_is_that_of_the_package():
    """The lines of the R code in Python, beside the package's own rule."""
    from statistics import mean, variance

    from larvatus import analysis

    q, u = [10.0, 10.5, 9.7], [0.2, 0.25, 0.22]
    m, b = len(q), variance(q)
    total, df = mean(u) + b / m, (m - 1) * (1 + mean(u) / (b / m)) ** 2
    found = analysis.combine(q, u, rule="partially_synthetic")
    for line in ("b <- var(q)", "total <- mean(u) + b / m", "df <- (m - 1) * (1 + mean(u) / (b / m))^2"):
        assert line in COPIES_R
    assert (float(found.variance), float(found.freedom)) == pytest.approx((total, df), rel=1e-12)
