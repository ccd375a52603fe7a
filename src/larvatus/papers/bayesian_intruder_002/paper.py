"""Trottini, Fienberg, Makov and Meyer, on bias and noise and the Bayesian intruder: Tables 1 to 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import stdev

from larvatus.papers.bayesian_intruder_002.experiments import (
    _LEVELS,
    CASES,
    DATA,
    KNOWN_COUNTS,
    REPLICATIONS,
    VAGUE,
    WIDER,
    links_if_others_known,
    paper_scenarios,
    records,
    scenario_cells,
)
from larvatus.papers.framework.model import (
    FEWEST_SEEDS,
    Claim,
    Evidence,
    Experiment,
    Holds,
    Paper,
    PublishedTable,
    Summary,
    band_text,
    slip,
)
from larvatus.papers.framework.published_figures import column, published_figures
from larvatus.papers.framework.remarks import by_chance, by_kind
from larvatus.papers.framework.seed_comparison import never_smaller, paired_difference, verdict_of
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow

_KINDS = ("links", "probability", "deviation")
_MORE = 1.0  # links per hundred by which another case must exceed d.1 to refute that d.1 is the maximum
RECIPE = "from `larvatus.datasets.key_variables` (standard deviation 19)"


def _name(table: str, data: str, bias: str, noise: str) -> str:
    return f"{table}/{data} links/{bias} bias, {noise} noise"


def _links(found: Mapping[str, Summary], table: str, data: str, bias: str, noise: str) -> Summary:
    return found[_name(table, data, bias, noise)]


def _compared(found: Mapping[str, Summary], pairs: Sequence[tuple[str, str, str]], words: str) -> tuple[Holds, str]:
    """The verdict on a claim that the first figure of each pair is larger, and how many pairs agree in print."""
    verdict, said = never_smaller([(label, found[a], found[b]) for label, a, b in pairs], words)
    printed = {f.name: f.value for t in CASES for f in published_figures("002", t)}
    more, less = (sum(sign * (printed[a] - printed[b]) > 0 for _, a, b in pairs) for sign in (1, -1))
    return verdict, f"{said} In print {more} agree, {less} are reversed and {len(pairs) - more - less} are equal."


def _heterogeneity(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    return _compared(found, [(f"{t}: {b}, {n}", _name(t, "DATA2", b, n), _name(t, "DATA1", b, n))
                             for t in CASES for b in _LEVELS for n in _LEVELS],
                     "scenarios have more links in DATA2 than in DATA1")


def _bias(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    return _compared(found, [(f"{t}/{d}: {a} to {b} bias, {n} noise", _name(t, d, a, n), _name(t, d, b, n))
                             for t in CASES for d in DATA for a, b in pairwise(_LEVELS) for n in _LEVELS],
                     "steps to more bias find fewer links")


def _noise(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    return _compared(found, [(f"{t}/{d}: {b} bias, {n} to {m} noise", _name(t, d, b, n), _name(t, d, b, m))
                             for t in CASES for d in DATA for b in _LEVELS for n, m in pairwise(_LEVELS)],
                     "steps to more noise find fewer links")


def _information(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    return _compared(found, [(f"{d}: {b}, {n}", _name("2", d, b, n), _name("3", d, b, n))
                             for d in DATA for b in _LEVELS for n in _LEVELS], "scenarios have more links in d.1 than in d.2")


def _largest(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    """Parameters released against parameters unknown, with equal knowledge of other records."""
    both = {k: (found[f"released/{k}"], found[f"vague/{k}"]) for k in KNOWN_COUNTS if f"vague/{k}" in found}
    more = {k: paired_difference(vague, released) for k, (released, vague) in both.items()}
    alone, all_known = found[f"released/{KNOWN_COUNTS[0]}"], found[f"released/{KNOWN_COUNTS[-1]}"]
    return verdict_of([-d.beyond(_MORE) for d in more.values()]), Evidence(
        f"DATA2 {RECIPE}, minimum bias and noise, likelihood kernel. Links per 100 with equal knowledge of other records. The "
        f"claim is refuted if intruders who do not know the parameters find {_MORE:g} link more than those who do (d.1), and "
        "shown if they clearly find less than that. Knowledge of other records is another matter: with the parameters "
        f"released it raises the links by {paired_difference(all_known, alone).mean:.1f}, from {alone.mean:.1f} to "
        f"{all_known.mean:.1f}",
        ("other records known", "parameters released", "parameters unknown", "unknown minus released"),
        tuple((f"L = {k}", *(band_text(s, 1) for s in both[k]), str(more[k])) for k in both))


def _between(found: Mapping[str, Summary]) -> tuple[Holds, Evidence]:
    there = {k: found[f"vague/{k}"] for k in KNOWN_COUNTS if f"vague/{k}" in found}
    ran = found["released/0"].seeds
    verdict: Holds = "cannot tell"
    if ran >= FEWEST_SEEDS and all(s.seeds >= FEWEST_SEEDS for s in there.values()):
        verdict = "does not hold" if len(there) == len(KNOWN_COUNTS) else "holds in part"
    refused = "" if len(there) == len(
        KNOWN_COUNTS) else ". For the other numbers no seed converged"
    return verdict, Evidence(
        f"Markov chains over matchings handle all targets at once. DATA2 {RECIPE}, minimum bias and noise, parameters unknown, "
        f"likelihood kernel. Priors allow for light masking (centred at {VAGUE['bias_centre']:g}, coefficient of variation "
        f"{VAGUE['bias_cv']:g}). The claim is refuted if chains converge in {FEWEST_SEEDS} seeds for every number of known "
        f"records{refused}",
        ("other records known", "links per hundred targets", "seeds that converged"),
        tuple((f"L = {k}", band_text(s, 1), f"{s.seeds} of {ran}") for k, s in there.items()))


def _little(found: Mapping[str, Summary]) -> tuple[Holds, str]:
    cells = [(d, b, n) for d in DATA for b in _LEVELS for n in _LEVELS if (b, n) != ("minimum", "minimum")]
    gaps = {c: paired_difference(_links(found, "2", *c), _links(found, "3", *c)) for c in cells}
    worst = max(gaps, key=lambda c: gaps[c].mean)
    close, far = (sum(g.beyond(2) == side for g in gaps.values()) for side in (-1, 1))
    strong = {c: found[f"strongest 2/{c[0]}/{c[1]} bias, {c[2]} noise"].mean - found[
        f"strongest 3/{c[0]}/{c[1]} bias, {c[2]} noise"].mean for c in cells}
    verdict: Holds = "cannot tell"
    if close == len(cells):
        verdict = "holds"
    elif far and 2 * (close + far) >= len(cells):
        verdict = "does not hold" if far > close else "holds in part"
    return verdict, (f"All scenarios except minimum bias with minimum noise: in {close} of {len(cells)}, not releasing the "
                     f"parameters hides fewer than two links per 100. In {far} it hides more; the others cannot be decided. It "
                     f"hides most in {worst[0]}, {worst[1]} bias and {worst[2]} noise: {gaps[worst]}. Against an intruder who "
                     f"uses the strongest kernel it hides at most {max(strong.values()):.1f} on average")


def _kernel(found: Mapping[str, Summary]) -> str:
    """What an intruder finds who uses the likelihood of z given x instead of the kernel of §4.1; the paper is silent on it."""
    row = "minimum bias, minimum noise"
    theirs, other = found.get(f"3/DATA2 links/{row}"), found.get(f"likelihood 3/DATA2/{row}")
    if theirs is None or other is None:
        return ""
    ahead = sum(paired_difference(found[f"likelihood {t}/{d}/{r}"], found[f"{t}/{d} links/{r}"]).beyond(0.5) > 0
                for t in CASES for d in DATA for r, _, _ in scenario_cells())
    return (f"Another intruder, not in the paper, uses the likelihood of z given x instead of the kernel of §4.1. For DATA2, "
            f"{row}, that intruder finds {band_text(other, 1)} links and the paper's {band_text(theirs, 1)}. The likelihood is "
            f"ahead by more than half a link in {ahead} of 36 scenarios of Tables 2 and 3.")


def _by_kind(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """How many figures of each kind are in band, and whether chance explains those outside."""
    return f"{by_kind(rows, _KINDS)} {by_chance(rows)}".strip()


def _table_3(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """A possible reason for figures outside, and what another intruder finds."""
    return "\n".join(filter(None, (_wider(rows, found), _kernel(found))))


def _wider(rows: Sequence[VerdictRow], found: Mapping[str, MeasuredFigure]) -> str:
    """What a wider prior of the noise gives for Table 3: a possible reason if it brings more figures into their bands."""
    wrong = [r for r in rows if r.verdict == "outside"]
    if not wrong:
        return _by_kind(rows, found)
    now = {r.published.name: m for r in rows if (m := found.get(f"wider {r.published.name}")) and m.seeds >= FEWEST_SEEDS}
    rows_of = {k: [r for r in rows if r.published.column.endswith(k) and r.published.name in now] for k in _KINDS}
    inside = {r.published.name for own in rows_of.values() for r in own
              if (m := now[r.published.name]).low - r.published.half <= r.published.value <= m.high + r.published.half}
    fits = {k: sum(r.published.name in inside for r in own) for k, own in rows_of.items()}
    likely = rows_of["probability"]
    if not likely:
        return _by_kind(rows, found)
    before = sum(r.verdict != "outside" for r in likely)
    because = "A wider prior does not explain them"
    if fits["probability"] > before:
        because = ("The printed probabilities fit a wider prior better than the one the text states "
                   f"({fits['probability']} against {before} of {len(likely)})")
    return (f"{_by_kind(rows, found)}\nPossible reason: if the prior of the noise is centred at {WIDER:g} of the range of z "
            f"instead of a sixth (a value chosen afterwards because it fits), {sum(r.published.name in inside for r in wrong)} "
            f"of the {len(wrong)} figures outside are in band. In band among the figures that {FEWEST_SEEDS} seeds or more "
            f"give: {', '.join(f'{fits[k]} of {len(own)} {k}' for k, own in rows_of.items())}. {because}.")


def _spread(name: str) -> float:
    """The standard deviation of the five printed values, used to draw data."""
    return stdev(column("002", "1", f"{name} original"))


PAPER = Paper(
    "002", ("Additive noise and multiplicative bias as disclosure limitation techniques for continuous microdata: a "
            "simulation study"),
    experiments=(
        Experiment("scenarios", paper_scenarios, seeds=REPLICATIONS, quick=3, most="the paper's number of replications"),
        Experiment("records", records, quick=20),
        Experiment("others known", links_if_others_known, seeds=20, quick=1),
    ),
    tables=(
        PublishedTable("1", "records",
                       note="Originals are compared with draws of a generator of the same law (datasets.key_variables), "
              "perturbed values with other draws of the mask for the five published originals."),
        PublishedTable("2", "scenarios",
                       note="On data drawn anew for every replication, N = 100, with the mean and the standard deviation of "
              f"the five published values. The standard deviations are {_spread('DATA1'):.2f} and {_spread('DATA2'):.2f}; "
              "`larvatus.datasets.key_variables` uses 3.2 and 19. The paper's kernel in closed form, threshold 0.",
              remark=_by_kind),
        PublishedTable("3", "scenarios",
                       note="Priors on the two standard deviations, centred at 1/12 and at a sixth of the range of z, "
              "coefficient of variation 1/20: the reading of the printed numbers that reproduces Table 3. Data as for Table 2.",
              remark=_table_3),
    ),
    claims=(
        slip("The prior's coefficient of variation equals 20.", "α = γ = 402 = 2 + 20² gives 1/√(402 − 2) = 1/20.", "§5"),
        slip("The priors are centred at a sixth of the range: β = 33, and δ one sixth of the range of z.",
             "With shape 402 the mean is scale/401: 33/401 = .0823 is about 1/12, but δ/401 is a 401st of a sixth of the "
             "range. A factor 401 is missing in δ.", "§5"),
        slip("DATA1, maximum bias, minimum noise: 1 link, standard deviation .0003.",
             "One link has no standard deviation; elsewhere the table prints a dash for it.", "§5, Table 2"),
        slip("There is no drop at all if maximum bias is used and noise is increased.",
             "DATA1 goes from 1 link to 0, then to 3.", "§5, on Table 2"),
        Claim("(a) Risk is expected to increase with the heterogeneity of records.", _heterogeneity, ("scenarios",),
              place="§5"),
        Claim("(b) Risk is expected to decrease with the amount of bias.", _bias, ("scenarios",), place="§5"),
        Claim("(c) Risk is expected to decrease with the amount of noise.", _noise, ("scenarios",), place="§5"),
        Claim("(d) Risk is expected to increase with the information provided about bias and noise.", _information,
              ("scenarios",), place="§5"),
        Claim("For given bias, noise and data, risk should be at its maximum if the parameters are released (d.1).", _largest,
              ("others known",), place="§5"),
        Claim("Between d.1 and d.2 computation is extremely difficult.", _between, ("others known",), place="§5"),
        Claim("With at least moderate perturbation, not releasing the parameters does not offer much more protection "
              "against a “risky” intruder.", _little, ("scenarios",), place="§5"),
    ),
)
