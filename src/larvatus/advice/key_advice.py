"""Which unmasked columns persons are recognised by, from their names, and what they give away together.

    mean individual risk   Σ E(1 / F | f) / n,   by a log-linear model, else by weights, as in the attack key_risk
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.number_format import share
from larvatus.data.microdata import Microdata
from larvatus.stats.key_risk.individual_risk import individual_risk, sampled_share
from larvatus.stats.key_risk.model_risk import model_risk
from larvatus.stats.linkage.row_hash import combination

_TELLING = 0.001
_NAMES = re.compile(
    r"(^|_)(age|sex|gender|alter|leeftijd|geschlecht|geslacht|sexe)(_|$)|region|province|county|district|municipal|commune|kreis"
    r"|bundesland|^state$|^nuts|gemeente|^city$|^town$|occupation|profession|^job|_job$|beruf|beroep|metier|marital|civil_?stat"
    r"|famil.*stand|educat|schooling|bildung|diploma|nationalit|citizen|^country|birth_?(country|place)"
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def looks_like_key(name: str) -> bool:
    """Whether the name of a column suggests something by which persons are recognised."""
    parts = "_".join(p.lower() for p in _PARTS.findall(name))
    return bool(_NAMES.search(parts) or _NAMES.search(name.lower()))


def likely_keys(data: Microdata) -> tuple[str, ...]:
    """The columns with the role key; without any, the columns of S whose names suggest it."""
    columns = data.table.columns
    known = (*data.sub_groups.columns, *data.non_confidential)
    return tuple(dict.fromkeys(n for n in data.roles.key or filter(looks_like_key, known) if n in columns))


def key_sentences(data: Microdata) -> list[str]:
    """What the keys give away together, the key that does most of it, and what to do; nothing if hardly any record is found."""
    names = likely_keys(data)
    if not names:
        return []
    found = _combinations(data, names)
    risk, left = _mean_risks(found)
    if risk < _TELLING:
        return []
    by_name = dict(zip(names, left, strict=True)) if len(names) > 1 else {}
    most = min(by_name, key=lambda n: by_name[n], default="")
    alone = int((found.count == 1).sum())
    said = f"Keys: {', '.join(names)}. Someone who knows them for the population finds an expected {share(risk)} of the records"
    said += f"; {alone:,} of {data.rows:,} are alone in them."
    said += f" Most of it is due to {most}: without it, {share(by_name[most])}." if most else ""
    role = "" if data.roles.key else " Give them the role key."
    return [f"{said}{role} Try coarser keys: larvatus keys FILE --key {','.join(names)} --step …"]


@dataclass(frozen=True, slots=True)
class _Combinations:
    """Combinations of keys that occur, as codes, with their records and total survey weights."""

    codes: Ints
    count: Ints
    weight: Floats | None


def _combinations(data: Microdata, names: Sequence[str]) -> _Combinations:
    by = data.roles.weight if data.roles.weight in data.table.columns else None
    values: list[Floats] = []
    weights: list[Floats] = []
    for _, block in data.table.blocks(list(dict.fromkeys([*names, *([by] if by else [])]))):
        values.append(block.matrix(names))
        weights.append(np.nan_to_num(np.asarray(block[by], dtype=np.float64)) if by else np.zeros(0))
    codes = np.column_stack([np.unique(c, return_inverse=True)[1].reshape(-1) for c in np.vstack(values).T])
    hashes = combination([c.astype(np.float64) for c in codes.T], len(codes))
    _, first, place, size = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(place.reshape(-1), weights=np.concatenate(weights), minlength=len(size)) if by else None
    return _Combinations(codes[first], size.astype(np.int64), None if total is None else np.asarray(total, dtype=np.float64))


def _mean_risks(found: _Combinations) -> tuple[float, list[float]]:
    """The mean individual risk, and that without each of the keys: by a log-linear model if possible, else by weights."""
    count, weight = found.count, found.weight
    n = float(count.sum())
    fraction = 1.0 if weight is None or weight.sum() <= 0 else min(n / float(weight.sum()), 1.0)
    model = model_risk(found.codes, count, weight, fraction).risk if fraction < 1 else None
    keys = range(found.codes.shape[1])
    if model is not None:
        return float(count @ model.risk / n), [float(count @ model.without(j, count, weight)[0] / n) for j in keys]
    left = [_by_weights(np.delete(found.codes, j, axis=1), count, weight) for j in keys]
    return _by_weights(found.codes, count, weight), left


def _by_weights(codes: Ints, count: Ints, weight: Floats | None) -> float:
    if not codes.shape[1]:
        codes = np.zeros((len(count), 1), dtype=np.int64)
    _, place = np.unique(combination([c.astype(np.float64) for c in codes.T], len(codes)), return_inverse=True)
    size = np.rint(np.bincount(place.reshape(-1), weights=count)).astype(np.int64)
    total = None if weight is None else np.asarray(np.bincount(place.reshape(-1), weights=weight), dtype=np.float64)
    return float((size * individual_risk(size, sampled_share(size, total))).sum() / max(float(size.sum()), 1.0))
