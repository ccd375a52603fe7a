"""Write people.csv: 3,000 made-up people to try the commands on. Run it in the folder where the file should lie."""

from __future__ import annotations

import sys
from pathlib import Path

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


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "people.csv")
    csv.write_csv(people(), target)
    print(f"{target}: 3,000 people")
