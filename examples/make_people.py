"""Write people.csv: made-up people to try the commands on. Run it in the folder where the file should lie.

    python make_people.py                        3,000 people
    python make_people.py --people 300 --more    300 people; --more adds job, place, person, household and weight
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from pyarrow import csv

REGIONS = ["north", "east", "south", "west"]


def people(n: int = 3000, seed: int = 0) -> pa.Table:
    """Income and wealth that go together, rise with age and differ by region; some people have no wealth."""
    rng = np.random.default_rng(seed)
    region = rng.choice(len(REGIONS), n, p=[0.4, 0.3, 0.2, 0.1])
    sex, age = rng.integers(1, 3, n), rng.integers(18, 91, n)
    z = rng.normal(size=(2, n))
    income = np.exp(9.6 + 0.1 * region + 0.008 * age + 0.5 * z[0])
    wealth = np.exp(9.5 + 0.03 * age + 0.6 * z[0] + 0.9 * z[1])
    return pa.table({
        "name": [f"person {i}" for i in range(1, n + 1)],
        "region": [REGIONS[r] for r in region],
        "sex": sex,
        "age": age,
        "income": income.round(2),
        "wealth": np.where(rng.random(n) < 0.15, 0.0, wealth).round(2),
        "remark": ["not for anyone else"] * n,
    })


def with_more(table: pa.Table, seed: int = 5) -> pa.Table:
    """The people with a job, a place, the number of the person and of the household, and a survey weight."""
    rng, n = np.random.default_rng(seed), table.num_rows
    return (
        table.append_column("job", [rng.choice(["farmer", "miner", "clerk", "manager"], n)])
        .append_column("place", [rng.choice(["Hull", "York", "Poole", "Dover", "Reading"], n)])
        .append_column("pid", [np.arange(n)]).append_column("hid", [np.arange(n) // 2])
        .append_column("w", [rng.uniform(20, 60, n).round(1)])
    )


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description="Write people.csv: made-up people to try larvatus on.")
    asked.add_argument("target", nargs="?", default="people.csv")
    asked.add_argument("--people", type=int, default=3000, metavar="N")
    asked.add_argument("--more", action="store_true", help="also job, place, pid (person), hid (household) and w (weight)")
    given = asked.parse_args()
    table = people(given.people)
    csv.write_csv(with_more(table) if given.more else table, given.target)
    print(f"{given.target}: {given.people:,} people")
