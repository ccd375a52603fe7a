"""Claims of 003 beyond its tables, with the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from larvatus.papers.framework.model import Claim, ClaimJudge, Evidence, Holds, Summary, band_text, slip
from larvatus.papers.framework.published_figures import column, rows
from larvatus.papers.framework.seed_comparison import (
    beyond,
    each_seed,
    mostly,
    nearly_all,
    of_seeds,
    verdict_of,
)
from larvatus.papers.global_utility_003.experiments import CORRELATIONS, FLEXIBLE, GROUPS, PAPER_SHAPES, UTILITY_MASKS, order
from larvatus.papers.global_utility_003.figures import UTILITY_MEASURES

_Found = Mapping[str, Summary]
_NAMES = {"1": "t₂", "2": "F"}
_HEADS = 51_016
RESAMPLE = 2.0  # multiple of the value for a resample beyond which U_p is said to lie far out
NEGLIGIBLE = 0.02  # share of the largest value of a measure below which more distortion is called negligible


def _as_printed(agrees: Iterable[bool]) -> str:
    """Whether the printed Tables 1 and 2, which are one draw, agree with a sentence; one value for each row that it needs."""
    cells = list(agrees)
    where = "" if all(cells) else f" in {sum(cells)} of {len(cells)} rows"
    return f"The printed figures agree{where}"


def _model_one(found: _Found) -> tuple[Holds, Evidence]:
    one = {t: found[f"best {t}/U_p (Model I)/Incor. Simul."] for t in PAPER_SHAPES}
    two = {t: found[f"worst {t}/U_p (Model II)/Incor. Simul."] for t in PAPER_SHAPES}
    printed = [order(t, f"U_p (Model {m})")[at] == "Incor. Simul." for t in PAPER_SHAPES for m, at in (("I", 0), ("II", -1))]
    return mostly([*one.values(), *two.values()]), Evidence(
        f"{_as_printed(printed)}. {nearly_all()}. Share of seeds in which incorrectly simulated data are best or worst",
        ("data", "best by Model I", "worst by Model II"),
        tuple((_NAMES[t], f"{one[t].mean:.0%}", f"{two[t].mean:.0%}") for t in PAPER_SHAPES))


def _model_two(found: _Found) -> tuple[Holds, str]:
    share = [found[f"best {t}/U_p (Model II)/Micro + Noise"] for t in PAPER_SHAPES]
    printed = _as_printed(order(t, "U_p (Model II)")[0] == "Micro + Noise" for t in PAPER_SHAPES)
    return mostly(share), (f"{printed}. Micro + noise is best in {share[0].mean:.0%} of seeds with t₂ data and in "
                           f"{share[1].mean:.0%} with F data. {nearly_all()}")


def _swapping(found: _Found) -> tuple[Holds, str]:
    share = {(t, r): found[f"best {t}/{r}/Swap"] for t in PAPER_SHAPES for r in rows("003", t)[2:]}
    low = min(share, key=lambda k: share[k].mean)
    sure = sum(s.mean > 0.95 for s in share.values())
    return mostly(share.values()), (
        f"{_as_printed(order(t, r)[0] == 'Swap' for t, r in share)}. Swapping is best in more than 95 % of seeds in {sure} of "
        f"{len(share)} rows. The smallest share is "
        f"{share[low].mean:.0%} of seeds, by {low[1]} in Table {low[0]}, where {order(*low)[0]} is printed as best. "
        f"{nearly_all()}")


def _groups(found: _Found) -> tuple[Holds, Evidence]:
    share = {g: found[f"micro ahead 2/U_c (G = {g})"] for g in GROUPS}
    verdict = mostly([s for g, s in share.items() if g < 1000], [share[1000]])
    places = {g: order("2", f"U_c (G = {g})").index for g in GROUPS}
    printed = _as_printed((of("Micro") < of("Incor. Simul.")) == (g < 1000) for g, of in places.items())
    return verdict, Evidence(
        f"{printed}. {nearly_all()}. Share of seeds in which micro is more useful than incorrectly simulated data",
        ("clusters", ""), tuple((f"G = {g}", f"{s.mean:.0%}") for g, s in share.items()))


def _alike(found: _Found) -> tuple[Holds, Evidence]:
    alike = {d: each_seed(_same_order, *(found[f"eight/{r}/{d}/{n}"] for r in ("U_m", "U_s") for n in UTILITY_MASKS))
             for d in rows("003", "3.1")}
    printed = _as_printed(order(t, "U_m") == order(t, "U_s") for t in PAPER_SHAPES)
    return mostly(alike.values()), Evidence(
        f"{printed}. {nearly_all()}. Share of seeds in which both measures give the same order, and in which each gives the "
        "printed one",
        ("data", "same order", "U_m", "U_s"),
        tuple((d, f"{s.mean:.0%}", *(f"{found[f'3.1/{r}/{d}'].mean:.0%}" for r in ("U_m", "U_s"))) for d, s in alike.items()))


def _same_order(*values: float) -> float:
    """1 if the first half of the values has the same order as the second half, else 0."""
    half = len(values) // 2
    first, second = (sorted(range(half), key=lambda i: own[i]) for own in (values[:half], values[half:]))
    return float(first == second)


def _summarised(found: _Found) -> tuple[Holds, Evidence]:
    measures = ("U_p (Model I)", "U_p (Model II)", "U_m", "U_s")
    share = {(t, r): [found[f"3.1/{r}/{PAPER_SHAPES[t]}, {c}"] for c in CORRELATIONS] for t in PAPER_SHAPES for r in measures}
    return mostly([s for four in share.values() for s in four]), Evidence(
        f"{nearly_all()}. Share of seeds with the order of Table 1 or 2, by correlation. Table 3.1 shows which masks change "
        "places",
        ("data and measure", *CORRELATIONS),
        tuple((f"{_NAMES[t]}, {r}", *(f"{s.mean:.0%}" for s in four)) for (t, r), four in share.items()))


def _reversed(found: _Found) -> tuple[Holds, Evidence]:
    said = []
    for t, name in _NAMES.items():
        for m in FLEXIBLE:
            swap, noise = (found[f"flexible {t}/{m}/{n}"].mean for n in ("Swap", "Micro + Noise"))
            said.append((f"{name}, {m}", f"{swap:.1f}", f"{noise:.1f}", f"{found[f'swap ahead {t}/{m}'].mean:.0%}"))
    ahead = [found[f"swap ahead {t}/Model II"] for t in PAPER_SHAPES]
    places = [order(t, "U_p (Model II)").index for t in PAPER_SHAPES]
    return mostly([], ahead), Evidence(
        f"{_as_printed(of('Micro + Noise') < of('Swap') for of in places)}. {nearly_all()}. The paper speaks of Model II only; "
        "the other models, more flexible from row to row, are shown for information. N·U_p by model",
        ("data and model", "swapping", "micro + noise", "swapping ahead in"), tuple(said))


def _window(found: _Found) -> tuple[Holds, Evidence]:
    said, fits = [], []
    for t in PAPER_SHAPES:
        near, wide = (found[f"flexible {t}/Model II/{n}"] for n in ("Swap", "wide"))
        printed = column("003", t, "Swap")[1]
        fits.append(tuple(s.low <= printed <= s.high for s in (near, wide)))
        said.append((_NAMES[t], f"{printed:g}", band_text(near, 1), band_text(wide, 1)))
    verdict: Holds = "cannot tell"
    if all(near for near, _ in fits) != all(wide for _, wide in fits):
        verdict = "slip" if all(near for near, _ in fits) else "holds"
    return verdict, Evidence("N·U_p of swapped data by Model II",
                             ("data", "printed", "within 500 ranks either way", "within 750"), tuple(said))


def _signs(found: _Found, heads: Sequence[str]) -> list[int]:
    """For each step: whether it is in order in more than half of the seeds, beyond chance."""
    return [of_seeds(found[h], 0.5) for h in heads]


def _arrows(values: str, steps: str, ordered: tuple[str, ...], others: tuple[str, ...]) -> ClaimJudge:
    """A claim about a printed table: that some measures order every step correctly, and others do not."""
    def judge(found: _Found) -> tuple[Holds, Evidence]:
        said, agree = [], []
        for m in (*ordered, *others):
            wrong = _reversals(values, steps, m)
            agree.append((-1 if wrong else 1) * (1 if m in ordered else -1))
            heads = [f"{steps}/{m}/{a}" for a in rows("003", steps)]
            said.append((m, "; ".join(wrong) or "none", _stand_in_order(found, heads)))
        return verdict_of(agree), Evidence(
            f"The sentence is about Table {values}, so the printed figures decide. Steps to more masking: those that raise "
            "utility in print, and those that lower it in more than half of the seeds on the stand-in",
            ("measure", f"reversed in Table {values}", "on the stand-in"), tuple(said))
    return judge


def _reversals(values: str, steps: str, measure: str) -> list[str]:
    """The steps that raise utility by the printed figures of a measure."""
    of = dict(zip(rows("003", values), column("003", values, measure), strict=True))
    return [step for step in rows("003", steps) if of[step.partition(" > ")[2]] < of[step.partition(" > ")[0]]]


def _stand_in_order(found: _Found, heads: Sequence[str]) -> str:
    if any(h not in found for h in heads):
        return "not measured"
    signs = _signs(found, heads)
    wrong, unclear = sum(s < 0 for s in signs), sum(s == 0 for s in signs)
    return (f"{len(signs) - wrong - unclear} of {len(signs)} in order, {wrong} reversed, {unclear} undecided "
            f"({found[heads[0]].seeds} seeds)")


def _tails(found: _Found) -> tuple[Holds, Evidence]:
    ratio = {r: found[f"3 ratio/{r}"] for r in rows("003", "3")}
    small = {"Age", "Age+Race10", "Age+Mar10"}
    records = found["3 records"].mean
    verdict = verdict_of([beyond(s, RESAMPLE) for r, s in ratio.items() if r not in small])
    whole = "" if records == _HEADS else f" ({_HEADS:,} in a full run)"
    return verdict, Evidence(
        f"“Far in the tail” is read as more than {RESAMPLE:g} times the value for a resample of the original; no null "
        f"distribution is drawn. On {records:,.0f} records of the stand-in{whole}, U_p divided by that of a resample",
        ("release", ""), tuple((r, f"{s.mean:.1f}") for r, s in ratio.items()))


def _race(found: _Found) -> tuple[Holds, Evidence]:
    """From the paper's own Table 3; on a stand-in with invented relations either swap may do more harm."""
    printed = {m: dict(zip(rows("003", "3"), column("003", "3", m), strict=True)) for m in UTILITY_MEASURES}
    names = ("Age+Race10", "Age+Mar10")
    signs = {m: 1 if of[names[0]] < of[names[1]] else -1 for m, of in printed.items()}
    measured = {m: [found[f"3/{m}/{r}"] for r in names] for m in UTILITY_MEASURES if f"3/{m}/{names[0]}" in found}
    seeds = f" ({min(s.seeds for both in measured.values() for s in both)} seeds)" if measured else ""
    return verdict_of([s if m != "U_m" else -s for m, s in signs.items()]), Evidence(
        "Loss if races, and if marital statuses, are swapped. The sentence is about Table 3, so the printed figures decide",
        ("measure", "printed in Table 3", f"on the stand-in{seeds}"),
        tuple((m, " and ".join(f"{of[r]:g}" for r in names),
               " and ".join(f"{s.mean:.3g}" for s in measured[m]) if m in measured else "not measured")
              for m, of in printed.items()))


def _income(found: _Found) -> tuple[Holds, Evidence]:
    """From the paper's own Table 3; the relations in the stand-in are invented, so it can neither show nor refute the claim."""
    names = rows("003", "3")
    printed = {m: _added(*column("003", "3", m)) for m in UTILITY_MEASURES}
    measured = {m: [found.get(f"3/{m}/{r}") for r in names] for m in UTILITY_MEASURES}
    there = {m: each_seed(_added, *(s for s in own if s is not None)) for m, own in measured.items() if None not in own}
    verdict = verdict_of([1 if s < NEGLIGIBLE else -1 for m, s in printed.items() if m != "U_c (G = 1250)"])
    seeds = f" ({min(s.seeds for s in there.values())} seeds)" if there else ""
    return verdict, Evidence(
        "Largest addition as a share of the largest value of the measure. “Negligible” is read as below "
        f"{NEGLIGIBLE:.0%}. The claim is about the paper's data, so the printed figures decide",
        ("measure", "printed in Table 3", f"on the stand-in{seeds}"),
        tuple((m, f"{s:.1%}", f"{there[m].mean:.1%}" if m in there else "not measured") for m, s in printed.items()))


def _added(*values: float) -> float:
    """The largest change of a measure when incomes are microaggregated too, over its largest value in Table 3."""
    of = dict(zip(rows("003", "3"), values, strict=True))
    return max(abs(of[f"{r}+Inc20"] - v) for r, v in of.items() if f"{r}+Inc20" in of) / max(values)


def _second_order(found: _Found) -> tuple[Holds, str]:
    signs = _signs(found, [f"4 order logit/{a}" for a in rows("003", "4 order")])
    return verdict_of(signs), f"{sum(s > 0 for s in signs)} of {len(signs)} steps are in order in more than half of the seeds"


def _squares() -> str:
    half = 5e-6
    pairs = list(zip(column("003", "4", "U_m"), column("003", "4", "U_s"), strict=True))
    alike = sum((m - half) ** 2 <= s + half and s - half <= (m + half) ** 2 for m, s in pairs)
    return (f"In {alike} of {len(pairs)} rows U_s is the square of U_m to the last printed digit (.14349² = .02059), as if "
            "only one point had been averaged. The column is not a mean over records and adds no information")


CLAIMS_003 = (
    slip("U_m of Age+Race10 is .39 (Table 3).", "Rounding ages gives .03, and a swap changes at most 10 % of races: the "
         "joint distribution functions cannot differ by more than about .13.", "§3.2, Table 3"),
    slip("U_s in Table 4.", _squares(), "§3.3, Table 4"),
    slip("U_c (G = 500) in two rows of Table 1.", "The second should be G = 750, as in Table 2 and in the text.",
         "§3.1, Table 1"),
    slip("U_p and U_m are multiplied by N = 102,032 in Table 3.", "U_m is printed as .03 to .40, U_s as 2.29 to "
         "52.14. U_s was multiplied, as in §3.1.", "§3.2"),
    slip("Table 2 summarises how measures group the masking methods.", "It is Figure 2.", "§3.2"),
    Claim("A swapped value is selected from the 1,500 closest values.", _window, ("flexible",), place="§3.1"),
    Claim("Model I identifies incorrectly simulated data as the most useful, Model II as the least.", _model_one,
          ("printed",), place="§3.1"),
    Claim("Model II selects microaggregation plus noise as most useful.", _model_two, ("printed",), place="§3.1"),
    Claim("Clustering and CDF measures select rank swapping as most useful.", _swapping, ("printed", "clustered"),
          place="§3.1"),
    Claim("With F data, G < 1000 finds micro more useful than incorrectly simulated data, G = 1000 the opposite.", _groups,
          ("clustered",), place="§3.1"),
    Claim("The two CDF measures order the masking methods identically.", _alike, ("eight",), place="§3.1"),
    Claim("The two printed data sets reasonably summarise all eight.", _summarised, ("eight",), place="§3.1"),
    Claim("Model II prefers micro + noise to swapping, which does not preserve second and higher moments.", _reversed,
          ("flexible",), place="§3.1"),
    Claim("All measures but clustering with G = 1250 order the strategies as Figure 1 does.",
          _arrows("3", "figure 1", ("U_p", "U_c (G = 2500)", "U_m", "U_s"), ("U_c (G = 1250)",)), place="§3.2, Table 3"),
    Claim("Every measure but U_m gives higher utility to Age+Race10 than to Age+Mar10.", _race, place="§3.2, Table 3"),
    Claim("Microaggregating incomes too adds negligible distortion, by the measures other than clustering with G = 1250.",
          _income, place="§3.2, Table 3"),
    Claim("U_p orders the school releases appropriately, U_m and U_s do not.",
          _arrows("4", "4 order", ("U_p",), ("U_m", "U_s")), place="§3.3, Table 4"),
    Claim("A second-order logistic regression orders them appropriately too.", _second_order, ("school survey",),
          place="§3.3"),
    Claim("Except for ages alone and small swap rates, U_p lies far in the tail of its null distribution.", _tails,
          ("household survey",), place="§4"),
)
