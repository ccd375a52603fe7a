"""Whether to publish the size of bias and noise: the conclusions of `larvatus publish-noise`, its table and its page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import RiskError
from larvatus.data.score import Row, Rows
from larvatus.pipeline.noise_scenarios import LEVEL, LITTLE, MORE, SMALL_GAIN, UNCLEAR


def policy(rows: Sequence[Row]) -> list[str]:
    """Whether to publish, judging by the intervals; then which records were attacked, and which could not be."""
    ready = [r for r in rows if not r.get("refused")]
    if not ready:
        raise RiskError(str(rows[0]["refused"]))
    little, more, unclear = ([r for r in ready if r["verdict"] == v] for v in (LITTLE, MORE, UNCLEAR))
    need = "analysts need them to correct their estimates"
    said = []
    if len(little) == len(ready):
        said.append(f"Publish the parameters: in {_of(len(ready), len(ready))} an intruder who knows them links at most "
                    f"{SMALL_GAIN:.0%} more of the records than one who does not, and {need}.")
    elif little:
        said.append(
            f"In {_of(len(little), len(ready))} publishing the parameters lets an intruder link at most {SMALL_GAIN:.0%} more "
            f"of the records. Publish them there: {need}.")
    if more:
        worst = max(more, key=lambda r: float(r["difference"] or 0))
        said.append(f"In {_of(len(more), len(ready))} it adds more, most for {_where(worst)}: {_gain(worst)}. Mask more there "
                    "instead of hiding the parameters: how much hiding protects depends on a guess about the intruder's prior.")
    if unclear:
        widest = max(unclear, key=lambda r: float(r["difference_high"] or 0))
        said.append(
            f"In {_of(len(unclear), len(ready))} it is unclear whether publishing adds more than {SMALL_GAIN:.0%}; the widest "
            f"interval is for {_where(widest)}: {_gain(widest)}. {_remedy(unclear)}")
    out = [" ".join(said), _attacked(ready[-1])]
    who = [(r, _attacked(r)) for r in ready if r.get("release")]
    out += [f"Release {r['release']}: {text}" for r, text in who if text != out[1]]
    if "paper_published" in ready[0]:
        out.append("The paper's counts are from its Tables 2 and 3, for one file each and with its own kernel. Use --kernel "
                   "paper for a like-for-like comparison.")
    ways = [k for k in ("published_by", "not_published_by") if k in ready[0]]
    if ways:
        alone = [sum(r[k] == "the target alone" for r in ready) for k in ways]
        out.append("Each intruder uses the known records only if that finds more links. Ignoring them is better in "
                   f"{alone[0]} of {len(ready)} maskings for the intruder who knows the parameters, and in {alone[1]} for the "
                   "one who does not.")
    reasons: dict[str, list[Row]] = {}
    for r in rows:
        if r.get("refused"):
            reasons.setdefault(str(r["refused"]), []).append(r)
    out += [f"Not attacked: {'; '.join(_where(r) for r in some)}. {why}" for why, some in reasons.items()]
    return out


def _remedy(rows: Sequence[Row]) -> str:
    """What would narrow the intervals: more maskings, or more targets if some records were not attacked."""
    some = any(int(r["targets"] or 0) < int(r["records"] or 0) and "published_by" not in r for r in rows)
    return f"More {'targets (--targets) or ' if some else ''}repetitions (--repeats) would narrow it."


def _of(count: int, total: int) -> str:
    return f"all {total} maskings" if count == total else f"{count} of {total} maskings"


def _where(row: Row) -> str:
    if row.get("release"):
        return f"release {row['release']} (bias_sd {row['bias']}, noise_ratio {row['noise']})"
    return f"{row['bias']} bias and {row['noise']} noise" + (f" of {row['data']}" if row.get("data") else "")


def _gain(row: Row) -> str:
    low, high = (float(row[f"difference_{end}"] or 0) for end in ("low", "high"))
    return f"{float(row['difference'] or 0):.1%} ({low:.1%} to {high:.1%})"


def _attacked(row: Row) -> str:
    """Which records were attacked, and what the intervals are."""
    targets, records, times = (int(row[k] or 0) for k in ("targets", "records", "maskings"))
    who = f"all {records:,} records" if targets == records else f"the same {targets:,} of {records:,} records, drawn at random"
    often = f" in each of {times} files" if row.get("data") else f", masked {times} times" if times > 1 else ""
    return f"Both intruders attacked {who}{often}. Intervals ({LEVEL} for each row) are for differences paired by target."


def show_policy(terminal: Terminal, rows: Sequence[Row], sentences: Sequence[str]) -> None:
    """Print links per 100 records in eighty columns; the output file has the rest."""
    paper, own = "paper_published" in rows[0], "release" in rows[0]
    shown: list[Row] = []
    for r in rows:
        line: dict[str, Any] = {k: r[k] for k in ("data",) if k in r}
        if own:
            line["masking"] = _short(str(r["release"])) if r["release"] else f"{r['bias']}, {r['noise']}"
        else:
            line |= {"bias": r["bias"], "noise": r["noise"]}
        line |= {"known": _hundred(r, "published", 4), "hidden": _hundred(r, "not_published", 4)}
        if paper:
            line["paper"] = f"{_hundred(r, 'paper_published', 2, 0)}, {_hundred(r, 'paper_not_published', 2, 0)}"
        low, high = (_hundred(r, f"difference_{end}") for end in ("low", "high"))
        line[f"adds ({LEVEL})"] = "" if r.get("refused") else f"{_hundred(r, 'difference', 4)} ({low} to {high})"
        line["verdict"] = "refused" if r.get("refused") else r["verdict"]
        shown.append(line)
    terminal.table(shown, "\nCorrect links per 100 records, with the size of bias and noise known or hidden"
                   + ("; releases of the study, then sizes of bias and noise" if own else ""))
    for sentence in sentences:
        terminal.say(f"\n{sentence}")


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _hundred(row: Row, name: str, width: int = 0, digits: int = 1) -> str:
    value = row.get(name)
    return "" if value is None else f"{round(100 * float(value), digits) + 0.0:{width}.{digits}f}"


def policy_page(rows: Sequence[Row], sentences: Sequence[str]) -> str:
    """The table and the conclusions as a page of HTML."""
    said = "".join(f"<p>{escape(s)}</p>" for s in sentences)
    return (
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>What to publish about bias and noise</title>"
        "<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
        "div{overflow-x:auto}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ccc}</style></head><body>"
        f"<h1>What to publish about bias and noise</h1>{said}<div>{Rows.of(rows)._repr_html_()}</div></body></html>\n"
    )
