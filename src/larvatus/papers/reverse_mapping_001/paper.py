"""Muralidhar, Sarathy and Domingo-Ferrer, on reverse mapping: Tables 1 to 5 from the 25 records of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.papers.framework.model import Claim, Evidence, Experiment, Holds, Paper, PublishedTable, Summary, band_text
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.reverse_mapping_001.experiments import METHODS, from_own_draws, from_printed_values


def _same_ranks(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    before, after = (column("001", "1", f"rank of {name}") for name in "XY")
    same = [r for r, a, b in zip(rows("001", "1"), before, after, strict=True) if a == b]
    verdict: Holds = "holds" if {"7", "10", "11", "22"} <= set(same) else "does not hold"
    return verdict, f"Records of Table 1 with equal ranks: {', '.join(same)}. The paper lists some of them"


def _by_draws(found: Mapping[str, Summary], what: str) -> str:
    return ", ".join(f"{m} {found[f'{what}/{m}'].mean:.0%}" for m in METHODS)


def _swapping(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    loss = {m: abs(found[f"4/correlation/{m}"].mean - found["4/correlation/X"].mean) for m in METHODS}
    verdict: Holds = "holds" if max(loss, key=lambda m: loss[m]) == "SWP" else "does not hold"
    said = ", ".join(f"{m} {v:.3f}" for m, v in loss.items())
    return verdict, (f"Change of the rank correlation with S in Table 4, computed from the printed values: {said}. The paper "
                     "calls this an illustration. With other draws the share of seeds in which a mechanism loses most is: "
                     f"{_by_draws(found, 'worst loss')}")


def _imputation(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    risk = {m: found[f"3/correlation/{m}"].mean for m in METHODS}
    verdict: Holds = "holds" if min(risk, key=lambda m: risk[m]) == "IMP" else "does not hold"
    return verdict, Evidence(
        "Rank correlation with X. Table 3, computed from the printed values, decides. With other draws imputation has the "
        f"lowest in {found['least risk/IMP'].mean:.0%} of seeds", ("mechanism", "Table 3", "other draws"),
        tuple((m, f"{v:.3f}", band_text(found[f"own 3/correlation/{m}"])) for m, v in risk.items()))


def _distribution(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    inside = []
    for table in ("3", "4"):
        for row, value in zip(rows("001", table), column("001", table, "correlation"), strict=True):
            s = found[f"own {table}/correlation/{row}"]
            inside.append((f"{table}/{row}", s.low - 5e-4 <= value <= s.high + 5e-4))
    out = [n for n, good in inside if not good]
    other = 1 - found["worst loss/SWP"].mean
    verdict: Holds = "holds" if other > 0 else "cannot tell"
    return verdict, (f"In {other:.0%} of seeds another mechanism than swapping, which is last in Table 4, loses most. "
                     f"{len(inside) - len(out)} of {len(inside)} correlations of Tables 3 and 4 lie in the band of our draws"
                     + (f"; outside: {', '.join(out)}" if out else ""))


PAPER = Paper(
    "001", "Reverse mapping to preserve the marginal distributions of attributes in masked microdata",
    experiments=(Experiment("printed", from_printed_values, seeds=1), Experiment("drawn", from_own_draws, quick=20)),
    tables=(
        PublishedTable("1", "printed", exact=("",)),
        PublishedTable("2", "printed", exact=("",),
                       note="Z of MIC and SWP are the paper's own draws: their printed values are entered, "
              "and go through the same measures as all others. Y of ADD and IMP are its draws too; Z is computed from them."),
        PublishedTable("text", "printed", exact=("",)),
        PublishedTable("3", "printed", exact=("",)),
        PublishedTable("4", "printed", exact=("",)),
        PublishedTable("5", "printed", exact=("",)),
    ),
    claims=(
        Claim("The ranks of X and Y are the same for some observations (7, 10, 11, 22).", _same_ranks, place="§3, Table 1"),
        Claim("A different set of pseudorandom numbers could produce different results.", _distribution, ("drawn",),
              place="§5, on Table 4"),
        Claim("In Table 4, an illustration, swapping results in the highest information loss.", _swapping,
              ("printed", "drawn"), place="§5, Table 4"),
        Claim("In Table 3, imputation has the lowest correlation with X and so provides the lowest disclosure risk.",
              _imputation, ("printed", "drawn"), place="§5, Table 3"),
    ),
)
