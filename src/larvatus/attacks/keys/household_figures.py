"""What key variables reveal about households: the probability that any member is found, overall and by size."""

from __future__ import annotations

import numpy as np

from larvatus.attacks.keys.class_risk import ClassRisk
from larvatus.attacks.keys.key_table import record_figures
from larvatus.data.households.record_units import RecordUnits, household_units
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows
from larvatus.stats.key_risk.household_risk import HouseholdRisk, household_risk

_LARGEST_SHOWN = 7


def household_rows(original: Microdata, data: Microdata, risks: ClassRisk, threshold: float) -> dict[str, Rows]:
    """The tables `household_summary` and `household_sizes`; none if no household has two members or more.

    A release that was read from a file has no household column: its records have the households of the original.
    """
    households = household_units(data)
    place = record_figures(data, risks.table, np.arange(len(risks.risk), dtype=np.float64)).astype(np.int64)
    if households is None:
        whole = household_units(original)
        if whole is None:
            return {}
        record = np.sort(np.concatenate([block.record for _, block in data.table.blocks(())]))
        households = whole.of_records(record)
    found = household_risk(households.unit, place, risks.risk, risks.spread, risks.doubt)
    return {"household_summary": _summary(households, found, threshold), "household_sizes": _sizes(households, found)}


def _summary(households: RecordUnits, found: HouseholdRisk, threshold: float) -> Rows:
    above = found.by_household > threshold
    rows: list[Row] = [
        {"figure": "households", "value": len(households.size), "low": None, "high": None},
        {"figure": "mean risk of a household", "value": found.value, "low": found.low, "high": found.high},
        {"figure": "expected number of households found", "value": found.expected,
         "low": found.low * len(households.size), "high": found.high * len(households.size)},
        {"figure": "mean over records of the risk of their household",
         "value": float(found.by_household[households.unit].mean()), "low": None, "high": None},
        {"figure": f"households with a risk above {threshold:g}", "value": int(above.sum()), "low": None, "high": None},
        {"figure": "highest risk of a household", "value": float(found.by_household.max(initial=0.0)),
         "low": None, "high": None},
    ]
    return Rows.of(rows)


def _sizes(households: RecordUnits, found: HouseholdRisk) -> Rows:
    """One row per number of members; the largest households share a row."""
    shown = np.minimum(households.size, _LARGEST_SHOWN)
    rows: list[Row] = []
    for size in np.unique(shown):
        own = found.by_household[shown == size]
        rows.append({
            "members": f"{size} or more" if size == _LARGEST_SHOWN else str(size), "households": len(own),
            "mean_risk": float(own.mean()), "expected_found": float(own.sum()), "highest_risk": float(own.max()),
        })
    return Rows.of(rows)
