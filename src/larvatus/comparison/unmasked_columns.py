"""What a release reveals without any masked column, and what it does not mask, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from larvatus.comparison.key_figures import KEY_RISK, key_sentence, weight_sentence
from larvatus.comparison.release_sentences import join_words
from larvatus.core.number_format import SPACE, finite_number, quote
from larvatus.data.exposure.computable_records import INSIDERS, computable_in_words, computable_share
from larvatus.data.exposure.known_gaps import gaps_in_words
from larvatus.data.exposure.singled_out import (
    MISSING_CELLS,
    SINGLED_OUT,
    missing_cells_in_words,
    most_singled_out,
    singled_out_in_words,
)
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS, count_unchanged, unchanged_in_words
from larvatus.data.score import Row, Rows, Score

VALUE_DISCLOSURE, RANK_DISCLOSURE = "value_disclosure", "rank_disclosure"
NEARLY_KNOWN = 0.95  # of the variance of a confidential column, explained by S alone
_MOST_NAMED = 3
WEIGHT_STEPS = "weight_"  # names of masks that change the survey weight begin with it

if TYPE_CHECKING:
    from larvatus.comparison.comparison import About, Candidate


def singled_out_sentence(scores: Iterable[Score], out_of: int | None = None) -> str:
    """The share of records that the unmasked columns alone single out, with these columns; empty if there are none.

    `out_of` is the number of all natural frequencies of a page, such as 1,000.
    """
    return singled_out_in_words((s.details[SINGLED_OUT] for s in scores if SINGLED_OUT in s.details), out_of)


def singled_out_columns(scores: Iterable[Score]) -> tuple[str, ...]:
    """The columns that single out most records; empty if no attack looked for them."""
    rows = most_singled_out(s.details[SINGLED_OUT] for s in scores if SINGLED_OUT in s.details)
    return tuple(str(r["column"]) for r in rows[1:])


def missing_cells_sentence(scores: Iterable[Score]) -> str:
    """The share of records that missing cells single out in addition, with their columns; empty if there are none."""
    return missing_cells_in_words(s.details[MISSING_CELLS] for s in scores if MISSING_CELLS in s.details)


def known_values_sentence(scores: Iterable[Score]) -> str:
    """The confidential columns that the unmasked ones predict nearly exactly; empty if there are none."""
    rows = [row for s in scores if s.method == VALUE_DISCLOSURE for row in s.by_variable or ()]
    known = _nearly_known(rows)
    if not known:
        return ""
    figures = [f"{name} ({100 * share:.1f}{SPACE}% of its variance)" for name, share in known.items()]
    named = ", ".join(figures[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more columns" if len(known) > _MOST_NAMED else ""
    return f"The unmasked columns alone predict {named}{more} nearly exactly, whatever the mask does."


def known_orders_sentence(scores: Iterable[Score]) -> str:
    """The confidential columns whose order the unmasked ones give nearly exactly, if they do not predict the values."""
    found = list(scores)
    values = _nearly_known([row for s in found if s.method == VALUE_DISCLOSURE for row in s.by_variable or ()])
    orders = _nearly_known([row for s in found if s.method == RANK_DISCLOSURE for row in s.by_variable or ()])
    known = {name: r for name, r in orders.items() if name not in values}
    if not known:
        return ""
    figures = [f"{name} (rank correlation {r:.3f})" for name, r in known.items()]
    more = f" and {len(known) - _MOST_NAMED} more columns" if len(known) > _MOST_NAMED else ""
    return (f"The unmasked columns alone give the order of {', '.join(figures[:_MOST_NAMED])}{more}: released values, sorted "
            "in that order, are nearly those of the records, whatever the mask does.")


def _nearly_known(rows: Iterable[Row]) -> dict[str, float]:
    """The largest figure of S alone of each variable, if it is at least `NEARLY_KNOWN`."""
    known: dict[str, float] = {}
    for row in rows:
        share = finite_number(row.get("s_alone"))
        if share is not None and share >= NEARLY_KNOWN:
            known[str(row["variable"])] = max(share, known.get(str(row["variable"]), 0.0))
    return known


def other_columns_changed(candidates: Iterable[Candidate], about: About) -> tuple[str, ...]:
    """Columns that steps of some release change although they are not confidential: keys that they name, and the weight."""
    steps = [step for c in candidates for step in c.steps]
    named = {n for step in steps for n in step.get("columns") or ()}
    weight = (about.weight,) if about.weight and any(str(s.get("method", "")).startswith(WEIGHT_STEPS) for s in steps) else ()
    return (*(n for n in about.keys if n in named), *weight)


def unmasked_in_words(scores: Iterable[Score], out_of: int | None = None) -> tuple[str, ...]:
    """Identification by keys, unmasked columns and missing cells, values that they predict, unmasked records, known gaps."""
    found = list(scores)
    first = (key_sentence(found), singled_out_sentence(found, out_of) or weight_sentence(found), missing_cells_sentence(found),
             known_values_sentence(found), known_orders_sentence(found))
    computable = [computable_in_words(s.details[INSIDERS]) for s in found if INSIDERS in s.details]
    return (*filter(None, (*first, *computable)),
            *unchanged_in_words(s.details[UNCHANGED_RECORDS] for s in found if UNCHANGED_RECORDS in s.details),
            *gaps_in_words(found))


def release_warnings(candidates: Sequence[Candidate], out_of: int | None = None, chosen: str = "") -> tuple[str, ...]:
    """For the first screen of a report: identification by keys and by unmasked columns, then what releases do not mask.

    If keys identify, or records are unchanged, in several releases, the worst of them speaks for all. What holds for some
    releases begins with whether it concerns the `chosen` one, if there is one.
    """
    every = [s for c in candidates for s in c.scores]
    risks = {c.name: s.value for c in candidates for s in c.scores if s.method == KEY_RISK}
    keys = key_sentence(every)
    if keys and len(set(risks.values())) > 1:
        concerned = any(key_sentence(c.scores) for c in candidates if c.name == chosen)
        keys = _in_releases(keys, [max(risks, key=lambda name: risks[name])], chosen, concerned)
    first = (keys, singled_out_sentence(every, out_of) or weight_sentence(every), missing_cells_sentence(every),
             known_values_sentence(every), known_orders_sentence(every))
    out = [sentence for sentence in first if sentence]
    solved = [(computable_share(rows), c.name, rows) for c in candidates for s in c.scores
              if (rows := s.details.get(INSIDERS)) is not None]
    share, name, rows = max(solved, key=lambda found: found[0], default=(0.0, "", Rows()))
    if share:
        said = computable_in_words(rows)
        concerned = any(part and c == chosen for part, c, _ in solved)
        out.append(_in_releases(said, [name], chosen, concerned) if len(candidates) > 1 else said)
    tables = [(c.name, s.details[UNCHANGED_RECORDS]) for c in candidates for s in c.scores if UNCHANGED_RECORDS in s.details]
    some = [(count_unchanged(rows), name, rows) for name, rows in tables if count_unchanged(rows)]
    if some:
        _, worst, rows = max(some, key=lambda found: found[0])
        said_of = {name: unchanged_in_words([own]) for name, own in tables}
        for said in unchanged_in_words([rows]):
            names = [worst, *(name for name, own in said_of.items() if name != worst and said in own)]
            out.append(said if len(names) == len(candidates) else _in_releases(said, names, chosen, chosen in names))
    return tuple(out)


def _in_releases(said: str, names: Sequence[str], chosen: str, concerned: bool) -> str:
    """A sentence with the releases that it is about, and before that whether it concerns the chosen one."""
    first = sorted(names, key=lambda name: name != chosen)
    more = [f"{len(first) - _MOST_NAMED:,} more"] if len(first) > _MOST_NAMED else []
    where = f"n {join_words([*map(quote, first[:_MOST_NAMED]), *more])}, {said[0].lower()}{said[1:]}"
    if not chosen or first == [chosen]:
        return f"I{where}"
    return f"This concerns {quote(chosen)}, too: i{where}" if concerned else f"This does not concern {quote(chosen)}: i{where}"
