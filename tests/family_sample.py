"""A made-up file of persons in households."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd


def family_file(households: int = 60, seed: int = 4) -> pd.DataFrame:
    """Persons in households of one to five members, in shuffled order, with two household columns: a copy to be changed."""
    return _made(households, seed).copy()


@lru_cache(64)
def _made(households: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, households)
    family = np.repeat(np.arange(households), size)
    frame = pd.DataFrame({
        "family": family + 100, "region": rng.integers(0, 3, households)[family], "sex": rng.integers(0, 2, len(family)),
        "age": rng.integers(1, 9, len(family)) * 10, "rent": np.round(rng.lognormal(6, 0.5, households))[family],
        "wage": np.round(rng.lognormal(7, 0.6, len(family))), "weight": rng.uniform(5, 20, households)[family],
    })
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


SHARED = ("region", "wealth", "house", "entry")


def with_families(frame: pd.DataFrame, seed: int = 8, shared: tuple[str, ...] = SHARED) -> pd.DataFrame:
    """The file with a column `family` of one to five members, who agree in the shared columns (missing in all, or in none)."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(len(frame)), rng.integers(1, 6, len(frame)))[: len(frame)]
    out = frame.assign(family=rng.permutation(family) + 10)
    first = out.groupby("family").head(1).set_index("family")
    for name in shared:
        out[name] = out.family.map(first[name].to_dict())
    return out


def with_waves(frame: pd.DataFrame, shared: tuple[str, ...] = ("income", "house")) -> pd.DataFrame:
    """The file of families with a column `person` of one to three rows within a family, who agree in the shared columns."""
    out = with_families(frame, shared=("region", "wealth", "entry"))
    member = out.groupby("family").cumcount()
    out["person"] = out.family * 10 + member // 3
    first = out.groupby("person").head(1).set_index("person")
    for name in shared:
        out[name] = out.person.map(first[name].to_dict())
    return out


def inconsistent(release: pd.DataFrame, family: pd.Series, names: list[str]) -> int:
    """Households whose members differ in one of the columns; a missing value is a value."""
    of = family.loc[release.index]
    values = [release[n].astype(object).where(release[n].notna(), "missing") for n in names]
    return max((int((v.groupby(of).nunique() > 1).sum()) for v in values), default=0)
