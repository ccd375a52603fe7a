"""Combinations of key values: their counts over a table, and which values each record loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups
from larvatus.stats.grouping.suppression import KeyPieces

_Key = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Combinations:
    """Each combination once: its key, codes of its columns (0 is missing), its part (what cannot be blanked), and its count."""

    keys: tuple[_Key, ...] = field(repr=False)
    names: tuple[str, ...]
    rows: Ints = field(repr=False)
    part: Ints = field(repr=False)
    count: Ints = field(repr=False)


def _values(block: Block, names: Sequence[str]) -> NDArray[np.float64]:
    """Rows × columns as comparable numbers; missing is minus infinity."""
    out = np.empty((len(block), len(names)))
    for j, n in enumerate(names):
        v = block[n].astype(np.float64) + 0.0
        out[:, j] = np.where(np.isnan(v) if block[n].dtype.kind == "f" else v < 0, -np.inf, v)
    return out


def combine_keys(block: Block, names: Sequence[str]) -> list[bytes]:
    """The combination of each row, as bytes."""
    return [row.tobytes() for row in _values(block, names)]


def key_combinations(data: Microdata, names: Sequence[str], known: Sequence[str]) -> Combinations:
    """All combinations of the known columns and of `names`, in every sub-group."""
    used = [*known, *names]

    def count(group: int, block: Block) -> list[tuple[NDArray[np.float64], Ints]]:
        rows, times = np.unique(_values(block, used), axis=0, return_counts=True)
        return [(rows, times)]

    keys: list[_Key] = []
    rows, group, counts = [], [], []
    for g, parts in enumerate(reduce_groups(data, used, count, list.__add__)):
        seen, at = np.unique(np.vstack([p[0] for p in parts]), axis=0, return_inverse=True)
        rows.append(seen)
        group.append(np.full(len(seen), g, dtype=np.int64))
        counts.append(np.bincount(at.reshape(-1), weights=np.concatenate([p[1] for p in parts])).astype(np.int64))
        keys += [(g, row.tobytes()) for row in seen]
    values = np.vstack(rows)
    codes = np.zeros(values.shape, dtype=np.int64)
    for j, column in enumerate(values.T):
        codes[:, j] = np.unique(np.concatenate([[-np.inf], column]), return_inverse=True)[1][1:]
    fixed = np.column_stack([np.concatenate(group), codes[:, : len(known)]])
    part = np.unique(fixed, axis=0, return_inverse=True)[1].reshape(-1)
    return Combinations(tuple(keys), tuple(used), codes[:, len(known) :], part, np.concatenate(counts))


def select_blanks(
    data: Microdata, found: Combinations, pieces: KeyPieces, random: RecordRandom
) -> tuple[dict[_Key, NDArray[np.bool_]], dict[tuple[int, int], NDArray[np.bool_]]]:
    """The columns blanked in all records of a combination, and those blanked in single records selected at random from one."""
    order = np.argsort(pieces.origin, kind="stable")
    every: dict[_Key, NDArray[np.bool_]] = {}
    picked: dict[_Key, list[tuple[int, NDArray[np.bool_]]]] = {}
    for i in order.tolist():
        key = found.keys[int(pieces.origin[i])]
        if key not in every:
            every[key] = pieces.blank[i]
        elif pieces.count[i]:
            picked.setdefault(key, []).append((int(pieces.count[i]), pieces.blank[i]))
    single: dict[tuple[int, int], NDArray[np.bool_]] = {}
    if picked:
        need = {key: sum(n for n, _ in parts) for key, parts in picked.items()}
        for g, words in enumerate(_smallest_words(data, found.names, need, random)):
            for key, records in words.items():
                at = 0
                for n, lose in picked[key]:
                    single |= {(g, record): lose for _, record in records[at : at + n]}
                    at += n
    return {k: lose for k, lose in every.items() if lose.any()}, single


def _smallest_words(
    data: Microdata, names: Sequence[str], need: Mapping[_Key, int], random: RecordRandom
) -> list[dict[_Key, list[tuple[int, int]]]]:
    """For each combination in `need`, its records with the smallest random words, in every sub-group."""
    Found = dict[_Key, list[tuple[int, int]]]

    def merged(one: Found, other: Found) -> Found:
        return {k: sorted([*one.get(k, []), *other.get(k, [])])[: need[k]] for k in {*one, *other}}

    def search(group: int, block: Block) -> Found:
        out: Found = {}
        for row, key in enumerate(combine_keys(block, names)):
            if (group, key) in need:
                word = int(random.words(block.record[row : row + 1], purpose="picked")[0, 0])
                out.setdefault((group, key), []).append((word, int(block.record[row])))
        return merged(out, {})

    return reduce_groups(data, names, search, merged)
