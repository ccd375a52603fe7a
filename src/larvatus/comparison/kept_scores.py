"""A candidate as JSON and back, to the last bit; figures per record are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from larvatus.comparison.comparison import Candidate
from larvatus.data.notes import Note
from larvatus.data.score import Rows, Score, Scores

PER_RECORD = ("by_record", "records")
TABLES = ("by_group", "by_variable", "by_pair", "by_domain")


def plain_of(candidate: Candidate) -> dict[str, Any]:
    """Everything but figures per record."""
    out = {f.name: getattr(candidate, f.name) for f in fields(candidate)}
    return {
        **out, "steps": [dict(s) for s in candidate.steps], "publishable": [dict(p) for p in candidate.publishable],
        "notes": [{f.name: getattr(n, f.name) for f in fields(n)} for n in candidate.notes],
        "rules": _rows(candidate.rules), "codebook": _rows(candidate.codebook), "scores": [_score(s) for s in candidate.scores],
    }


def _score(score: Score) -> dict[str, Any]:
    out = {f.name: getattr(score, f.name) for f in fields(score) if f.name not in PER_RECORD}
    return {
        **out, **{name: _rows(out[name]) for name in TABLES}, "settings": dict(score.settings),
        "details": {name: _rows(rows) for name, rows in score.details.items()},
    }


def _rows(rows: Rows) -> list[dict[str, Any]]:
    return [dict(r) for r in rows]


def candidate_of(plain: Mapping[str, Any]) -> Candidate:
    """The candidate again."""
    return Candidate(**{
        **plain, "steps": tuple(plain["steps"]), "sentences": tuple(plain["sentences"]),
        "publishable": tuple(plain["publishable"]), "notes": tuple(Note(**n) for n in plain["notes"]),
        "rules": Rows.of(plain["rules"]), "codebook": Rows.of(plain["codebook"]),
        "scores": Scores(_score_of(s) for s in plain["scores"]),
        "altered": tuple(plain.get("altered", ())),
    })


def _score_of(plain: Mapping[str, Any]) -> Score:
    interval = plain["interval"]
    return Score(**{
        **plain, **{name: Rows.of(plain[name]) for name in TABLES}, "notes": tuple(plain["notes"]),
        "interval": None if interval is None else (interval[0], interval[1]),
        "details": {name: Rows.of(rows) for name, rows in plain["details"].items()},
    })
