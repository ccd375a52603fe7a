"""Which masks suit the data, and why: what was seen in plain words, with counts and shares and never a value.

The choice between exact moments and kept values follows the characteristics of the data: near normality and straight
relations speak for sufficiency-based masks, everything else for shuffling. What users accept speaks for released values that
were collected, which permuting masks and reverse mapping give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from larvatus.data.contracts import Mask
from larvatus.data.guessed_rules import Guessed, guessed_rules
from larvatus.data.methods import method_of
from larvatus.data.microdata import Microdata
from larvatus.data.sights import Relation, Sight, relations, sights

SMALL, MANY_ZEROS, MANY_OUTLIERS, MANY_MISSING, NAMED = 30, 0.05, 0.01, 0.05, 6

EXACT = (
    "the columns are near normal and relations straight: means, covariances and regressions come out exactly as from the "
    "original, and at similarity 0 an intruder learns no more than from S."
)
SHUFFLED = (
    "every column keeps its collected values, zeros included, relations that go one way are kept on average, and an intruder "
    "learns little more than from S. Users accept collected values more easily than made ones."
)
SWAPPED = (
    "users like it, and it keeps values, but swaps among near ranks are linked easily, and swaps among far ones weaken every "
    "relation. It is here to compare with."
)
AGGREGATED = "means of groups take variance away, and more so with several columns at once."
IMPUTED = "many values are missing, and each pattern of missing values is a sub-group of its own to sufficiency-based masks."


@dataclass(frozen=True, slots=True)
class Opinion:
    """A mask and what speaks for or against it here."""

    mask: str
    suits: bool
    why: str


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """What was seen, what is thought of each mask, and the parts of a study to begin with."""

    seen: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    rules: Guessed
    plan: Mapping[str, Any]

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """All of it as sentences."""
        parts = [("What the data are like", self.seen)]
        parts.append(("Suits", tuple(f"{o.mask}: {o.why}" for o in self.opinions if o.suits)))
        parts.append(("Does not suit", tuple(f"{o.mask}: {o.why}" for o in self.opinions if not o.suits)))
        return "\n\n".join("\n".join([head, *(f"  * {line}" for line in lines)]) for head, lines in parts if lines)

    def study_text(self, study: str) -> str:
        """A study file with what was thought as comments above it."""
        comments = [f"# {line}" if line else "#" for line in self.text().splitlines()]
        may = [f"#   {rule}" for rule in self.rules.inequalities]
        if may:
            comments += ["#", "# Hold in every record; put those that are meant into rules of [constraints]:", *may]
        return "\n".join([*comments, "", study])


def advice(data: Microdata) -> Advice:
    """Look at the data and say which masks suit."""
    columns, related, rules = sights(data), relations(data), guessed_rules(data)
    names = tuple(n for n in data.confidential if n not in data.numeric(data.confidential))
    seen = [*_shapes(data, columns), *_related(related), *_groups(data), *_told_rules(rules)]
    if names:
        seen.append(f"{_listed(names)} hold{'s' if len(names) == 1 else ''} names, which masks of numbers leave out.")
    opinions = [*_opinions(data, columns, related), *_of_names(names)]
    return Advice(tuple(seen), tuple(opinions), rules, _plan(data, columns, opinions, names, rules))


def _shapes(data: Microdata, columns: Sequence[Sight]) -> list[str]:
    out = [f"{data.rows:,} records, {len(data.confidential)} confidential columns, {len(columns)} of them numbers."]
    if any(not c.constant for c in columns):
        far = [c.name for c in columns if not c.normal and not c.constant]
        out.append("Near normal inside sub-groups, as far as skewness, tails and ties tell: every column of numbers." if not far
                   else f"Far from normal inside sub-groups (skewed, long tails, zeros or ties): {_listed(far)}.")
    facts = (
        ("zeros", "zeros", MANY_ZEROS), ("tied", "values that several records share", 0.2),
        ("outliers", "values far outside the middle half", MANY_OUTLIERS), ("missing", "missing values", MANY_MISSING),
        ("negative", "values below zero", 0.0),
    )
    for field, words, least in facts:
        found = [(c.name, getattr(c, field)) for c in columns if getattr(c, field) > least]
        if found:
            out.append(f"Many {words}: " if least else f"Some {words}: ")
            out[-1] += ", ".join(f"{n} {share:.0%}" if share >= 0.01 else f"{n} under 1%" for n, share in found[:NAMED])
            out[-1] += f" and {len(found) - NAMED} more columns." if len(found) > NAMED else "."
    whole = [c.name for c in columns if c.integer and not c.constant]
    constant = [c.name for c in columns if c.constant]
    out += [f"Whole numbers only: {_listed(whole)}. A mask that draws values needs integers in [constraints]."] if whole else []
    out += [f"Constant in every sub-group, so that no mask can hide anything there: {_listed(constant)}."] if constant else []
    return out


def _related(related: Sequence[Relation]) -> list[str]:
    out = []
    for shape, words in (
        ("one way", "Bent relations, or skewed columns, so that ranks tell more than a line"),
        ("turns", "Relations that seem to turn, which no mask here keeps unless values move little"),
    ):
        found = [f"{r.first} and {r.second}" for r in related if r.shape == shape]
        out += [f"{words}: {_listed(found)}."] if found else []
    if related and all(r.shape == "line" for r in related):
        out.append("Relations between confidential columns are near straight lines.")
    return out


def _groups(data: Microdata) -> list[str]:
    if not data.sub_groups.columns:
        return []
    sizes = data.groups.sizes
    few = sum(n < SMALL for n in sizes)
    small = f"; {few} have fewer than {SMALL} records and are better pooled" if few else ", none under 30 records"
    return [f"{len(sizes)} sub-groups{small}."]


def _told_rules(rules: Guessed) -> list[str]:
    out = [f"Holds in every record: {rule}. Masked apart, the columns would no longer add up." for rule in rules.identities]
    if rules.inequalities:
        out.append(f"Also holds in every record, perhaps by accident: {', '.join(rules.inequalities)}.")
    return out


def _opinions(data: Microdata, columns: Sequence[Sight], related: Sequence[Relation]) -> list[Opinion]:
    usable = [c for c in columns if not c.constant]
    if not usable:
        return []
    normal = all(c.normal for c in usable)
    straight = all(r.shape == "line" for r in related)
    exact = normal and straight
    out = [Opinion("sufficiency_based", exact, EXACT if exact else _against_moments(usable, straight))]
    out.append(Opinion("data_shuffling", True, ("also possible: " if exact else "") + SHUFFLED))
    out.append(Opinion("rank_swap", False, SWAPPED))
    loud = [c.name for c in usable if c.outliers > MANY_OUTLIERS]
    zeros = [c.name for c in usable if c.zeros > MANY_ZEROS]
    why = [f"outliers of {_listed(loud)} stay where they are and are linked"] if loud else []
    why += [f"zeros of {_listed(zeros)} become other values"] if zeros else []
    why += ["variances grow and relations weaken unless analysts correct for it"]
    noise = "; ".join(why) + ". With reverse_map after it, values are collected ones again."
    out.append(Opinion("additive_noise", False, noise))
    out.append(Opinion("microaggregation", False, AGGREGATED))
    if loud:
        after = f"after a mask that keeps values: the largest of {_listed(loud)} leave unmodified otherwise."
        out.append(Opinion("top_coding", True, after))
    if any(c.missing > MANY_MISSING for c in usable) and exact:
        out.append(Opinion("multiple_imputation", True, IMPUTED))
    return out


def _against_moments(columns: Sequence[Sight], straight: bool) -> str:
    far = [c.name for c in columns if not c.normal]
    why = [f"means and covariances would be exact, but {_listed(far)} would be distributed otherwise"] if far else []
    why += [] if straight else ["relations are not straight lines, and it keeps straight ones"]
    return "; ".join(why) + ". Prefer it where only means, covariances and linear regressions are wanted."


def _of_names(names: Sequence[str]) -> list[Opinion]:
    if not names:
        return []
    why = f"changes names of {_listed(names)} at random, with frequencies kept in expectation."
    return [Opinion("post_randomisation", True, f"{why} The probabilities can be published and corrected for.")]


def _plan(
    data: Microdata, columns: Sequence[Sight], opinions: Sequence[Opinion], names: Sequence[str], rules: Guessed
) -> dict[str, Any]:
    """The parts of a study that follow from the data: small sub-groups pooled, identities kept, releases to compare."""
    suits = {o.mask for o in opinions if o.suits}
    beside: list[dict[str, Any]] = [{"method": "post_randomisation", "columns": list(names)}] if names else []
    planned: list[tuple[str, list[dict[str, Any]]]] = []
    if any(not c.constant for c in columns):
        if "sufficiency_based" in suits:
            planned.append(("sufficiency-based", [{"method": "sufficiency_based"}]))
        planned.append(("shuffled", [{"method": "data_shuffling"}]))
        if "top_coding" in suits:
            planned.append(("shuffled, tops cut", [{"method": "data_shuffling"}, {"method": "top_coding", "tail": 0.005}]))
        if "sufficiency_based" not in suits:
            planned.append(("sufficiency-based, to compare", [{"method": "sufficiency_based"}]))
        planned.append(("noise, reverse-mapped", [{"method": "correlated_noise", "variance": 0.25}, {"method": "reverse_map"}]))
    elif names:
        planned.append(("names changed", []))
    releases = [{"name": n, "steps": [*s, *beside]} for n, s in planned if _enough(data, s)]
    sizes = {"smallest": max(data.sub_groups.smallest, min(SMALL, data.rows)), "small": "pool"}
    kept = {"rules": list(rules.identities)} if rules.identities else {}
    return {"release": releases, "sub_groups": sizes if data.sub_groups.columns else {}, "constraints": kept}


def _enough(data: Microdata, steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the whole file, at least, has the records that the steps need."""
    return all(method_of(Mask, s).smallest(data) <= data.rows for s in steps)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown
