"""Which unmasked columns persons are recognised by, from their names, and what they give away together.

    mean individual risk   Σ E(1 / F | f) / n,   negative binomial with p = f / Σ w, as in the attack key_risk
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.number_format import share
from larvatus.data.microdata import Microdata
from larvatus.stats.key_risk.individual_risk import individual_risk, sampled_share
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
    hashes, weight = _rows(data, names)
    risk, alone = _mean_risk(hashes[-1], weight)
    if risk < _TELLING:
        return []
    left = {n: _mean_risk(h, weight)[0] for n, h in zip(names, hashes, strict=False)} if len(names) > 1 else {}
    most = min(left, key=lambda n: left[n], default="")
    said = f"Keys: {', '.join(names)}. Someone who knows them for the population finds an expected {share(risk)} of the records"
    said += f"; {alone:,} of {data.rows:,} are alone in them."
    said += f" Most of it is due to {most}: without it, {share(left[most])}." if most else ""
    role = "" if data.roles.key else " Give them the role key."
    return [f"{said}{role} Try coarser keys: larvatus keys FILE --key {','.join(names)} --step …"]


def _rows(data: Microdata, names: Sequence[str]) -> tuple[list[Floats], Floats | None]:
    """A hash of every record's keys without each of the keys in turn, then of all of them; and the survey weights."""
    sets = [*([m for m in names if m != n] for n in names), list(names)]
    by = data.roles.weight if data.roles.weight in data.table.columns else None
    parts: list[list[Floats]] = [[] for _ in sets]
    weights: list[Floats] = []
    for _, block in data.table.blocks([*names, *([by] if by and by not in names else [])]):
        for i, chosen in enumerate(sets):
            parts[i].append(combination([block[n] for n in chosen], len(block)))
        weights.append(np.nan_to_num(np.asarray(block[by], dtype=np.float64)) if by else np.zeros(0))
    return [np.concatenate(p) for p in parts], np.concatenate(weights) if by else None


def _mean_risk(hashes: Floats, weight: Floats | None) -> tuple[float, int]:
    """The mean individual risk, and the number of records that are alone."""
    _, place, size = np.unique(hashes, return_inverse=True, return_counts=True)
    count: Ints = size.astype(np.int64)
    total = None
    if weight is not None:
        total = np.asarray(np.bincount(place.reshape(-1), weights=weight, minlength=len(count)), dtype=np.float64)
    risk = individual_risk(count, sampled_share(count, total))
    return float((count * risk).sum() / max(len(hashes), 1)), int((count == 1).sum())
