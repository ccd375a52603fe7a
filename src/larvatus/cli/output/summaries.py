"""Print scores: one release in full, or several releases side by side with their limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.cli.output.next_steps import say_selected
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import LimitWarning

if TYPE_CHECKING:
    from larvatus.core.number_format import Cell
    from larvatus.data.score import Row

ACROSS, _MOST_ROWS = 4, 24


@contextmanager
def delay_limit_warnings() -> Iterator[None]:
    """Delay warnings about broken limits until after the tables, so that they are not missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        yield


def summary(terminal: Terminal, comparison: Any, output: Path, chosen: str | None = None) -> None:
    """Print all releases of a run: risks, losses, limits and notes; the next command; warnings last."""
    from larvatus.measures.analyses.spec import METHOD

    risks: list[Row] = [
        {"release": c.name, "attack": s.method, "value": s.value, "chance": s.chance, "S alone": s.s_alone}
        for c in comparison.candidates for s in c.of_kind("risk")
    ]
    terminal.table(list(comparison.headline()), "\nStrongest attack on each release, with its baseline")
    terminal.bars(_headline_bars(comparison), "\nAll releases: excess risk and mean loss, the best first")
    terminal.table(risks, "\nRisk of every attack, with its baselines: chance and S alone (the non-confidential columns only)")
    terminal.table(_losses(comparison.candidates), "\nLoss (0 is best)")
    _decided(terminal, comparison)
    for candidate in comparison.candidates[:ACROSS]:
        for score in candidate.of_kind("loss"):
            if score.method == METHOD:
                _analyses(terminal, score, candidate.name)
    for candidate in comparison.candidates:
        told = [n for n in candidate.notes if n.kind != "information"]
        if told:
            terminal.say(f"\n{candidate.name}")
            terminal.notes(told)
    if comparison.reused:
        of = f"{len(comparison.reused)} of {len(comparison.candidates) + len(comparison.not_made)} releases"
        terminal.hint(f"{of} were already finished and were not made again; use --fresh with --overwrite to make all again.")
    terminal.say(f"\nReport: {output / 'report.html'}")
    say_selected(terminal, comparison, output, chosen)
    for text in comparison.warnings:
        terminal.warn(text)
    terminal.data(comparison.plain())


def _headline_bars(comparison: Any) -> list[tuple[str, str, float | None, float | None]]:
    """Name, verdict, excess risk and mean loss of each release."""
    from larvatus.reporting.notebook.views import headline_bars

    return headline_bars(comparison)[:_MOST_ROWS] if comparison.candidates else []


def _decided(terminal: Terminal, comparison: Any) -> None:
    """Print the findings on all releases, combined scores, limits, and releases that could not be made."""
    together = [r for r in comparison.explain() if r["about"] == "together"]
    if together:
        terminal.say("")
    for row in together:
        terminal.say(f"{row['release']}: {row['sentence']}" if row["release"] else str(row["sentence"]))
    names = [c.name for c in comparison.combine]
    rows: list[Row] = [
        {"release": r["release"], "combined": r["score"], "of": r["of"], "value": r["value"]}
        for r in comparison.tidy() if r["score"] in names
    ]
    terminal.table(rows, "\nCombined scores and their parts")
    if comparison.limits:
        terminal.table([{**r, "meets": "yes" if r["meets"] else "NO"} for r in comparison.meets()], "\nLimits")
    terminal.table([{"release": n.name, "reason": n.reason} for n in comparison.not_made], "\nNot made")


def _losses(candidates: Sequence[Any]) -> list[Row]:
    """One row per measure and one column per release if there are few releases, else one row per release and measure."""
    if len(candidates) > ACROSS:
        return [{"release": c.name, "measure": s.method, "value": s.value} for c in candidates for s in c.of_kind("loss")]
    rows: dict[str, dict[str, Cell]] = {}
    for c in candidates:
        for s in c.of_kind("loss"):
            rows.setdefault(s.method, {"measure": s.method})[c.name] = s.value
    return list(rows.values())


def print_scores(terminal: Terminal, scores: Any) -> None:
    """Print every score of one release, with its details if they are short."""
    from larvatus.comparison.detail_titles import detail_title
    from larvatus.measures.analyses.spec import METHOD

    for note in [*_notes(scores), *scores.reasons_not_run()]:
        terminal.hint(f"note: {note}")
    terminal.table(scores.summary())
    long: list[str] = []
    for score in scores:
        if score.method == METHOD:
            _analyses(terminal, score)
            continue
        tables = [(detail_title(score.method, name), rows) for name, rows in score.details.items()]
        for title, rows in (*tables, ("By variable", score.by_variable)):
            heading = f"{score.method}: {title[:1].lower()}{title[1:]}"
            if len(rows) <= _MOST_ROWS:
                terminal.table(rows, f"\n{heading}")
            else:
                long.append(f"{heading} ({len(rows):,} rows)")
        if len(score.by_group) > 1:
            worst = sorted(score.by_group, key=_worst_first)[:10]
            terminal.table(worst, f"\n{score.method}: worst sub-groups")
        if len(score.by_domain):
            worst = sorted(score.by_domain, key=_worst_first)[:10]
            terminal.table(worst, f"\n{score.method}: worst parts of domains")
    if long and not terminal.as_json:
        terminal.hint(f"\nNot shown because too long: {', '.join(long)}. Use --json to see all.")
    terminal.data([s.plain() for s in scores])


def _notes(scores: Any) -> list[str]:
    """The notes of scores, each once, with the scores it belongs to unless it belongs to all."""
    by: dict[str, list[str]] = {}
    for score in scores:
        for note in dict.fromkeys(score.notes):
            by.setdefault(note, []).append(score.method)
    return [note if len(whose) == len(scores) else f"{', '.join(whose)}: {note}" for note, whose in by.items()]


def _worst_first(row: Row) -> float:
    """Sort key: largest first, rows without a figure last."""
    value = row["value"]
    return -value if isinstance(value, int | float) and value == value else math.inf


def _analyses(terminal: Terminal, score: Any, release: str = "") -> None:
    """Print every named analysis: original, released and corrected estimates with their intervals."""
    from larvatus.measures.analyses.display import side_by_side

    rows = score.details["estimates"]
    for name in score.by_variable.column("variable"):
        lines = side_by_side(r for r in rows if r["analysis"] == name)
        own: list[Row] = [{k: v for k, v in line.items() if k != "analysis"} for line in lines]
        terminal.table(own[:_MOST_ROWS], f"\n{name}{f' in {release}' if release else ''}")
        if len(own) > _MOST_ROWS:
            terminal.say(f"… and {len(own) - _MOST_ROWS} more")
