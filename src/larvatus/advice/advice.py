"""Which masks suit the data and why, in plain words: counts, shares and figures of shape, never a value."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from larvatus.advice.column_profile import ColumnProfile, column_profiles, own_values, record_numbering
from larvatus.advice.column_relations import Relation, find_relations
from larvatus.advice.draft_constraints import DraftConstraints, advise_constraints
from larvatus.advice.key_advice import key_sentences
from larvatus.advice.likely_codes import code_sentence, likely_codes
from larvatus.advice.mask_reasons import (
    COMPARED,
    MANY_MISSING,
    MANY_OUTLIERS,
    MANY_ZEROS,
    NOISE_VARIANCE,
    REVERSED,
    SMALL_GROUP,
    TAIL,
    TOPS_CUT,
    Opinion,
    categorical_opinions,
    first_names,
    opinions,
    percent,
)
from larvatus.advice.pooling_preview import POOLED, Pooling, foreseen_pooling
from larvatus.advice.rule_detection import DetectedRules, detect_rules
from larvatus.advice.study_changes import StudyChanges
from larvatus.constraints.rules import parse_rule
from larvatus.core.display import view
from larvatus.data.contracts import Mask
from larvatus.data.design import MOST_LEVELS
from larvatus.data.exposure.singled_out import (
    missing_cells_in_words,
    singled_out,
    singled_out_by_missing,
    singled_out_in_words,
)
from larvatus.data.method_parsing import method_of
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.persons import persons_by_records
from larvatus.data.roles import has_order
from larvatus.data.text_columns import Text, texts

_WIDTH, _HARDLY, _TELLING = 110, 0.1, 0.1
UNCHANGED = StudyChanges()


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """Findings about the data, an opinion on each mask, and the parts of a draft study.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"])
        >>> advice = lv.advise(data)
        >>> advice.seen[0]
        '300 records, 2 confidential columns.'
        >>> [opinion.mask for opinion in advice.opinions if opinion.suits]
        ['data_shuffling', 'top_coding']
    """

    seen: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    rules: DetectedRules
    constraints: DraftConstraints
    plan: Mapping[str, Any]
    pooling: Pooling | None = None

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_advice"))

    def text(self) -> str:
        """The whole advice as text."""
        parts = [("What the data are like", self.seen)]
        parts.append(("Suits", tuple(f"{o.mask}: {o.why}" for o in self.opinions if o.suits)))
        parts.append(("Does not suit", tuple(f"{o.mask}: {o.why}" for o in self.opinions if not o.suits)))
        return "\n\n".join("\n".join([head, *(f"  * {line}" for line in lines)]) for head, lines in parts if lines)

    def study_text(self, study: str) -> str:
        """A study file with the advice as comments at the top, and guesses as comments in its constraints."""
        comments = [
            f"# {part}".rstrip() for line in self.text().splitlines()
            for part in textwrap.wrap(line, _WIDTH, subsequent_indent="    ", break_long_words=False) or [""]
        ]
        own, body = False, []
        for line in study.splitlines():
            if line.startswith("["):
                own = line.startswith("[constraints")
            body += [] if own else [line]
            if line == POOLED and self.pooling is not None:
                body += self.pooling.choice()
        place = next((i for i, line in enumerate(body) if line.startswith("[[")), len(body))
        return "\n".join([*comments, "", *body[:place], *self.constraints.toml().splitlines(), "", *body[place:], ""])


def advice(
    data: Microdata, places: Callable[[Microdata, str], str] = lambda data, name: "", changes: StudyChanges = UNCHANGED
) -> Advice:
    """Examine the data and recommend masks. `places` says where the first cells of a column are that are not numbers.

    `changes` are those that a trial of the study requires.
    """
    whole, data = data, _without_columns(data, changes.columns)
    columns, related, rules = column_profiles(data), find_relations(data), detect_rules(data)
    running, few = record_numbering(data, data.non_confidential)
    rules = replace(rules, inequalities=tuple(r for r in rules.inequalities if not {*parse_rule(r).columns} & {*running}))
    names = [n for n in data.confidential if n not in data.numeric(data.confidential)]
    written = texts(data, [*data.confidential, *data.non_confidential])
    odd = [t.name for t in written if not t.usable] + [c.name for c in columns if not c.values]
    many = {n: k for n in data.non_confidential if (k := _levels(data, n)) > MOST_LEVELS}
    odd += [n for n in many if n not in odd]
    constraints = advise_constraints(columns, rules)
    maskable = [n for n in names if n not in odd]
    kept = _roles_without(data, odd)
    smallest = changes.smallest or _smallest(data)
    pooling = _pooling(data, rules, kept, smallest)
    said = opinions(data, columns, related, bool(constraints.seen), pooling, changes.releases)
    said += categorical_opinions(written, maskable)
    perhaps = constraints.guessed.get("rules", ())
    seen = [*_shapes(data, columns), *(code_sentence(n, c) for n, c in likely_codes(data).items()), *_several_records(data)]
    seen += [*_related(related), *([pooling.sentence()] if pooling else [])]
    seen += [*_rule_sentences(rules.identities, perhaps), *(t.sentence() for t in rules.totals)]
    seen += _names(data, written, odd, places)
    seen += key_sentences(data)
    seen += _singled_out(data, running)
    seen += _telling({n: s for n, s in own_values(data, data.known).items() if s >= _TELLING and n not in running})
    seen += _left_as_they_are(running, few, many, [n for n in odd if all(c.name != n for c in columns)])
    seen += changes.sentences()
    constraints = constraints.without(changes.constraints)
    plan = _plan(data, columns, said, maskable, constraints, kept)
    plan["release"] = [r for r in plan["release"] if r["name"] not in changes.releases]
    plan["sub_groups"] = {"smallest": smallest, "small": "pool"} if data.sub_groups.columns else {}
    plan["roles"] = kept if odd or data is not whole else {}
    return Advice(tuple(seen), tuple(said), rules, constraints, plan, pooling)


def _without_columns(data: Microdata, names: Collection[str]) -> Microdata:
    """The data without some columns of X and S; the data themselves if there are none."""
    if not names:
        return data
    kept = {role: tuple(left) for role, left in _roles_without(data, names).items()}
    return replace(data, roles=data.roles.model_copy(update=kept))


def _roles_without(data: Microdata, names: Collection[str]) -> dict[str, list[str]]:
    """The columns of X and S by role, without some of them; keys only if there are any."""
    roles = ("confidential", "non_confidential", *(("key",) if data.roles.key else ()))
    return {role: [n for n in getattr(data.roles, role) if n not in names] for role in roles}


def _shapes(data: Microdata, columns: Sequence[ColumnProfile]) -> list[str]:
    count = len(data.confidential)
    of = "" if len(columns) == count else f", {len(columns)} of them numeric"
    out = [f"{data.rows:,} records, {count} confidential column{'s' * (count != 1)}{of}."]
    varying = [c for c in columns if not c.constant]
    far = [f"{c.name} ({c.not_normal})" for c in varying if not c.normal]
    if far:
        out.append(f"Far from normal inside sub-groups: {first_names(far)}.")
    elif varying:
        most = max(abs(c.skewness) for c in varying)
        out.append(f"Near normal inside sub-groups, judging by skewness (at most {most:.2f}), tails and ties: every "
                   "numeric column.")
    facts = (
        ("zeros", "zeros", MANY_ZEROS), ("tied", "values that several records share", 0.2),
        ("outliers", "values far outside the middle half", MANY_OUTLIERS), ("missing", "missing values", MANY_MISSING),
        ("negative", "values below zero", 0.0),
    )
    for field, words, least in facts:
        found = [(c.name, getattr(c, field)) for c in columns if getattr(c, field) > least
                 and not (c.dates and field in ("zeros", "negative"))]
        if found:
            listed = first_names([f"{name} {percent(share)}" for name, share in found])
            out.append(f"{'Many' if least else 'Some'} {words}: {listed}.")
    return out + _kinds(columns)


def _kinds(columns: Sequence[ColumnProfile]) -> list[str]:
    """Sentences on whole numbers, codes, running numbers, constants, and empty columns."""
    whole = [c.name for c in columns if c.integer and not c.constant]
    few = [c for c in columns if c.few]
    running = [c.name for c in columns if c.numbering]
    constant = [c.name for c in columns if c.constant and c.values]
    empty = [c.name for c in columns if not c.values]
    out = [f"Whole numbers only: {first_names(whole)}. The study rounds the masked values."] if whole else []
    dated = [c.name for c in columns if c.dates]
    out += [f"Dates: {first_names(dated)}. They are masked as numbers of days and released as dates; date_shift keeps the "
            'intervals between the dates of a person, and recoding(unit="month") makes dates coarser.'] if dated else []
    if few:
        listed = shlex.quote(",".join(c.name for c in few))
        out.append(
            f"Few different whole numbers: {first_names([f'{c.name} {c.distinct}' for c in few])}. If these are codes "
                   f"and not counts or amounts, run advise again with --nominal {listed}; they are then "
                   "masked as categories. Noise with reverse_map hardly changes such columns.")
    if running:
        out.append(f"Only number the records: {first_names(running)}. List them in --identifiers, or one in --record-id.")
    out += [
        f"Constant in every sub-group, so no mask can hide anything there: {first_names(constant)}."] if constant else []
    out += [f"Without any value, and left out of the study: {first_names(empty)}."] if empty else []
    return out


def _several_records(data: Microdata) -> list[str]:
    """A sentence on persons with several records, which masks treat as different persons."""
    name = data.roles.person
    counts = persons_by_records(data) if name is not None else {}
    several = sum(persons for records, persons in counts.items() if records > 1)
    if not several:
        return []
    return [f"{several:,} of {sum(counts.values()):,} persons ({name}) have several records, at most {max(counts)}. Masks and "
            "attacks treat them as different persons, so that the risk is understated. Make one file for each wave, and "
            "state the release of the other wave in other_releases."]


def _related(related: Sequence[Relation]) -> list[str]:
    out = []
    for shape, words in (
        ("one way", "Monotone but curved relations, or skewed columns, which ranks describe better than a line"),
        ("turns", "Relations that seem not to be monotone, which masks keep only if values change little"),
    ):
        shaped = [r for r in related if r.shape == shape]
        found = [f"{r.first} and {r.second} (Pearson {r.pearson:.2f}, Spearman {r.spearman:.2f})" for r in shaped]
        out += [f"{words}: {first_names(found)}."] if found else []
    strongest = max((abs(r.spearman) for r in related), default=1.0)
    if strongest < _HARDLY:
        out.append(f"Confidential columns are hardly related: absolute rank correlations are at most {strongest:.2f}.")
    elif related and all(r.shape == "line" for r in related):
        most = max(r.gap for r in related)
        out.append("Relations between confidential columns are nearly linear: rank correlations differ by at most "
                   f"{most:.2f} from those of linear relations.")
    return out


def _pooling(
    data: Microdata, rules: DetectedRules, kept: Mapping[str, Sequence[str]], smallest: int
) -> Pooling | None:
    """How the study will pool small sub-groups, without columns that are left out or recomputed by rules."""
    if not data.sub_groups.columns:
        return None
    derived = {parse_rule(text).lines[0].left.columns[0] for text in rules.identities}
    seen = data.with_confidential([n for n in kept["confidential"] if n not in derived])
    return foreseen_pooling(seen, smallest)


def _smallest(data: Microdata) -> int:
    """The smallest sub-group size in the study."""
    return max(data.sub_groups.smallest, min(SMALL_GROUP, data.rows))


def _rule_sentences(identities: Sequence[str], perhaps: Sequence[str]) -> list[str]:
    out = [f"Holds in every record: {rule}. If masked separately, the columns would no longer add up." for rule in identities]
    return [*out, f"Also holds in every record, perhaps by chance: {', '.join(perhaps)}."] if perhaps else out


def _names(
    data: Microdata, written: Sequence[Text], odd: Sequence[str], places: Callable[[Microdata, str], str]
) -> list[str]:
    """Sentences on problems of text columns, and on which columns are categorical."""
    names = [n for n in data.confidential if n not in data.numeric(data.confidential) and n not in odd]
    out = [t.sentence(places(data, t.name) if t.spoilt else "") for t in written if t.sentence()]
    return [*out,
            f"Categorical, and not masked by masks for numbers: {first_names(names)}."] if names else out


def _levels(data: Microdata, name: str) -> int:
    """The number of categories that masks would have to handle one by one."""
    column = data.table.columns[name]
    return 0 if column.kind == "number" or has_order(data.roles, name) else len(column.levels)


def _singled_out(data: Microdata, running: Sequence[str]) -> list[str]:
    """Sentences on the records that the unmasked columns single out together, and on those that missing cells single out."""
    names = [n for n in data.known if n not in running and n not in data.sub_groups.columns]
    said = singled_out_in_words([singled_out(data, (*data.sub_groups.columns, *names))])
    out = [f"{said} No mask changes that: round these columns, put them into classes, or do not release them."] if said else []
    gaps = singled_out_by_missing(data, (*data.sub_groups.columns, *names), data.confidential)
    return [*out, *filter(None, [missing_cells_in_words([gaps])])]


def _telling(own: Mapping[str, float]) -> list[str]:
    """A sentence on unmasked columns whose values single out records."""
    listed = first_names([f"{n} {percent(s)}" for n, s in own.items()])
    return [f"Not masked, with values that no other record has: {listed} of the records. An intruder who knows such a value "
            "finds its record under any mask: round the column, put it into classes, or do not release it."] if own else []


def _left_as_they_are(
    running: Sequence[str], few: Sequence[tuple[str, int]], many: Mapping[str, int], odd: Sequence[str]
) -> list[str]:
    """Sentences on problems of unmasked columns, and on columns left out of the study."""
    out = []
    if running:
        out.append(f"Not masked, and only number the records: {first_names(running)}. Anyone with the original can pair its "
                   "records with the release: list them in --identifiers.")
    if few:
        out.append(
            f"Not masked, with few different whole numbers: {first_names([f'{n} {k}' for n, k in few])}. Masks treat "
                   f"them as amounts; if they are codes, run advise again with --nominal {','.join(n for n, _ in few)}.")
    if many:
        out.append("Not masked, with more categories than masks can handle: "
                   f"{first_names([f'{n} {k:,}' for n, k in many.items()])}; the limit is {MOST_LEVELS}. Put them "
                   "into fewer classes.")
    out += [f"Left out of the study, and so not released, until this is resolved: {first_names(odd)}."] if odd else []
    return out


def _plan(
    data: Microdata, columns: Sequence[ColumnProfile], said: Sequence[Opinion], names: Sequence[str],
    constraints: DraftConstraints, kept: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The parts of a study that follow from the data: rules, and releases to compare."""
    suits = {o.mask for o in said if o.suits}
    beside: list[dict[str, Any]] = [{"method": "post_randomisation", "columns": list(names)}] if names else []
    planned: list[tuple[str, list[dict[str, Any]]]] = []
    if any(not c.constant for c in columns):
        numbers = [c.name for c in columns if c.name in kept["confidential"]]
        exact = _exact_steps(columns, numbers)
        mapped = {"columns": numbers} if any(has_order(data.roles, n) for n in names) else {}  # ordered categories: see beside
        if "sufficiency_based" in suits:
            planned.append(("sufficiency-based", exact))
        planned.append(("shuffled", [{"method": "data_shuffling"}]))
        if "top_coding" in suits:
            planned.append((TOPS_CUT, [{"method": "data_shuffling"}, {"method": "top_coding", "tail": TAIL}]))
        if exact and "sufficiency_based" not in suits:
            planned.append((f"sufficiency-based{COMPARED}", exact))
        noise = {"method": "correlated_noise", "variance": NOISE_VARIANCE}
        planned.append((REVERSED, [noise, {"method": "reverse_map", **mapped}]))
    elif names:
        planned.append(("categories changed", []))
    rest = replace(data, roles=data.roles.model_copy(update={role: tuple(names) for role, names in kept.items()}))
    releases = [{"name": n, "steps": [*s, *beside]} for n, s in planned if _enough(rest, s)]
    return {"release": releases, "constraints": dict(constraints.seen)}


def _exact_steps(columns: Sequence[ColumnProfile], kept: Sequence[str]) -> list[dict[str, Any]]:
    """Exact moments of the numbers, and a shuffle of the dates, for which they cannot be exact; empty if all are dates."""
    plain = [c.name for c in columns if c.name in kept and not c.dates]
    dated = [c.name for c in columns if c.name in kept and c.dates]
    if not dated:
        return [{"method": "sufficiency_based"}]
    return [{"method": "sufficiency_based", "columns": plain}, {"method": "data_shuffling", "columns": dated}] if plain else []


def _enough(data: Microdata, steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the whole file has enough records for the steps."""
    return all(method_of(Mask, s).smallest(data) <= data.rows for s in steps)
