"""Compare attacks on sampled targets with attacks on every record: is the whole-file value inside the sampled interval?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import larvatus as lv


def compared(sampled: lv.Score, whole: lv.Score) -> dict[str, Any]:
    """One attack: its estimate from sampled targets, the interval, its value in the whole file, and whether that is inside."""
    low, high = sampled.interval or (float("nan"), float("nan"))
    return {
        "attack": sampled.method, "sampled": sampled.sampled, "estimate": round(sampled.value, 5),
        "interval": [round(low, 5), round(high, 5)] if sampled.interval else None, "whole_file": round(whole.value, 5),
        "inside": bool(low <= whole.value <= high) if sampled.interval else None,
    }


def compare_release(data: lv.Microdata, release: lv.Release, attacks: Sequence[str] | None) -> list[dict[str, Any]]:
    """Each attack that applies (default: all), with its default targets and with all records as targets, and the seconds."""
    rows = []
    for name in attacks or [getattr(lv.attacks, attack).name() for attack in dir(lv.attacks)]:
        try:
            (sampled, quick), (whole, slow) = (timed(data, release, name, targets) for targets in (None, "all"))
        except lv.LarvatusError:
            print(f"{release.name:9} {name:22} does not apply", flush=True)
            continue
        rows.append({"release": release.name, **compared(sampled, whole), "sampled_seconds": quick, "whole_file_seconds": slow})
        print(shown(rows[-1]), flush=True)
    return rows


def timed(data: lv.Microdata, release: lv.Release, name: str, targets: str | None) -> tuple[lv.Score, float]:
    """The score of one attack, and its processor seconds."""
    began = time.process_time()
    (score,) = lv.risk(data, release, [name], targets=targets)
    return score, round(time.process_time() - began, 2)


def shown(row: dict[str, Any]) -> str:
    """One line of a table."""
    interval = "no interval" if row["interval"] is None else "{:.4f} to {:.4f}".format(*row["interval"])
    verdict = "all records are targets by default" if not row["sampled"] else "inside" if row["inside"] else "OUTSIDE"
    return (f"{row['release']:9} {row['attack']:22} estimate {row['estimate']:8.4f}  {interval:18}  whole file "
            f"{row['whole_file']:8.4f}  {row['sampled_seconds']:8.2f} s {row['whole_file_seconds']:8.2f} s  {verdict}")
