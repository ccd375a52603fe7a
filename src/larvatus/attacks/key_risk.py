"""Estimate what the key variables reveal: individual and global risk, population uniques, special uniques, k-anonymity.

    A record that shares its keys with f − 1 others of the file, and with F − 1 others of the population, is found with
    probability 1 / F by an intruder who knows these keys.
        risk of a record   r = E(1 / F | f)     F = f + Poisson(m), m by a log-linear model (Skinner and Shlomo 2008); if none
                                                can be fitted, negative binomial, p = f / Σ w (Benedetti and Franconi 1998)
        value              R = Σ r / n          mean over records; with the second law the global risk of sdcMicro and mu-Argus
        household          R_h = 1 − Π (1 − r)  over its members: the risk that any of them is found
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.keys.class_risk import ClassRisk, key_models
from larvatus.attacks.keys.household_figures import household_rows
from larvatus.attacks.keys.key_figures import (
    anonymity_rows,
    class_size_rows,
    diversity_rows,
    log_linear_rows,
    mean_risk_rows,
    records_above_main_part,
    sub_group_rows,
    suda_rows,
    superpopulation_rows,
    weight_rows,
    without_key_rows,
)
from larvatus.attacks.keys.key_perturbation import KeyLaw, TrueTable, key_law, risk_under_law
from larvatus.attacks.keys.key_population import Population, population_of, with_original_weight
from larvatus.attacks.keys.key_table import KeyTable, key_table, record_figures
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.released_keys import INFORMATION_LOST, key_changes, released_keys
from larvatus.data.release import Release
from larvatus.data.roles import Names
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import remember
from larvatus.stats.key_risk.missing_keys import Missing

_ALL_SETS, _USUAL_SIZE = 6, 3  # up to six keys, all sets of keys are examined
_DIS_FRACTION = 0.1


class KeyRisk(Attack):
    """The intruder finds persons of the population by key variables, and links each to a record with the same keys.

    The value is the mean individual risk: the expected share of records that are matched rightly. Survey weights, or a
    stated sampling fraction, and a log-linear model of the keys estimate how many persons of the population share the keys of
    a record. If no model can be fitted, the weights alone do, and a note says so. The details always include the mean
    individual risk by weights, which is sdcMicro's global risk. The upper end of the interval is the larger one of the two.
    Without weights or a fraction the file is the population, and the risk of a record is 1 / f. The details give the number
    of sample uniques that are unique in the population (log-linear Poisson models of Skinner and Shlomo; Pitman, Zayatz and
    slide negative binomial models), special uniques (SUDA and DIS scores; a sampling fraction of .1 if none is known),
    k-anonymity under three conventions for missing keys, diversity of the confidential columns (l-diversity, t-closeness,
    δ-disclosure, β-likeness), and the risk that remains without each key. With the role `household`, they also give the risk
    of households: that any member is found. If `post_randomisation` changed keys, or a step exchanged the values of keys
    between records, the risk is the probability of a right match: that the released key is true, times the risk of the true
    key. Keys changed at random in another way are treated as true. The population is estimated by the weights of the original,
    also if the released ones are masked. For changed keys the details also show the risk before and after, the cells that were
    suppressed or recoded, and the share of the information in the keys that is lost. The attack runs by default if columns have
    the role `key`, otherwise only if it is named. It decides only against limits that are set on it.

    Look at it first, if keys such as age, sex and region are released, and above all if the file is a sample. It says nothing
    about confidential numbers that the intruder knows.

    Parameters:
        keys: key variables (default: columns with the role `key`; without any, all non-confidential and sub-group columns).
        sampled: sampling fraction of the file (default: by the survey weight; without one the file is the population).
        model: log-linear model: "search" adds two-way interactions until the model fits, "independence" has none, "two_way"
            has all.
        estimate: "model": risk by the log-linear model, if one can be fitted. "weights": by weights alone, as in sdcMicro.
        threshold: individual risk above which records are counted.
        missing: what a missing key agrees with: a missing one ("value"), anything ("any") or nothing ("none").
        suda_size: most keys in a minimal sample unique (default: all if there are at most 6, else 3).
    """

    assumes: ClassVar[str] = (
        "The intruder knows the key variables of persons in the population without error, does not know who is in the file, "
        "and links to any record that agrees in all keys."
    )

    sees_original_keys: ClassVar[bool] = True

    keys: Names = Field(
        default=(), description="key variables (default: the role key, else all non-confidential and sub-group columns)"
    )
    sampled: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="sampling fraction of the file (default: by the survey weight, else 1)"
    )
    model: Literal["search", "independence", "two_way"] = Field(
        default="search", description="interactions of the log-linear model: searched, none or all"
    )
    estimate: Literal["model", "weights"] = Field(
        default="model", description="risk by the log-linear model, or by weights alone as in sdcMicro"
    )
    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="individual risk above which records are counted"
    )
    missing: Missing = Field(default="value", description="what a missing key agrees with: a missing one, any value, or none")
    suda_size: Annotated[int, Field(ge=1, le=12)] | None = Field(
        default=None, description="most keys in a minimal sample unique (default: all if there are at most 6, else 3)"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(model="independence", missing="any", suda_size=2)

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        if release.data.roles.key:
            return ""
        return ("it describes the key variables, which most masks do not change. It is run if columns have the role key, or "
                "if it is named.")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        names = self.key_names(release.data)
        data, population, found, notes = self._examined(original, release, names)
        table, risk = found.table, found.risk
        details, more = self._details(data, population, found)
        details |= self._before_and_after(original, release, found)
        if "key_changes" in details:
            details["key_summary"] = _with_loss(details["key_summary"], details["key_changes"], len(names))
        details |= weight_rows(original, release.data, names)
        details |= household_rows(original, data, found, self.threshold)
        whole = found.whole
        clear = tuple(n for n in names if n not in data.confidential)
        alone = self._risk_by_group(data, clear, population) if clear != names else None
        by_group = _by_group(data, found, alone)
        details |= {"key_groups": rows} if len(rows := sub_group_rows(found, by_group, self.threshold)) else {}
        n = np.array(data.groups.sizes, dtype=np.float64)
        return Score(
            self.name(), "risk", whole[0], "expected share of records found by their key variables", self.settings(),
            chance=float(len(n) / max(n.sum(), 1)), interval=whole[1:],
            s_alone=whole[0] if alone is None else float((alone * n).sum() / max(n.sum(), 1)),
            by_group=by_group, details=details, by_record=record_figures(data, table, risk), decides=False,
            notes=(*notes, *more, *intruder.fields_without_effect("file", "error", "guesses", "known", "keys")),
        )

    def _with_model(self, found: ClassRisk, population: Population) -> ClassRisk:
        """The risks by the estimate that is asked for."""
        return found.under_model(population, self.model, self.missing, by_weights=self.estimate == "weights")

    def _risk_by_group(self, data: Microdata, names: Sequence[str], population: Population) -> Floats:
        """Mean risk in each sub-group by the unmasked keys alone; chance if there are none."""
        n = np.maximum(np.array(data.groups.sizes, dtype=np.float64), 1)
        if not names:
            return np.asarray(1 / n)
        table = key_table(data, names, population.weight)
        found = self._with_model(ClassRisk.of(table, population, self.missing), population)
        return np.asarray(table.by_group(found.risk, len(n)) / n)

    def stage(self, original: Microdata, release: Release, name: str) -> Row:
        """Risk, uniques and smallest class of a release, as one row of a table of several."""
        return self._examined(original, release, self.key_names(release.data))[2].row(name, self.threshold)

    def _examined(
        self, original: Microdata, release: Release, names: tuple[str, ...]
    ) -> tuple[Microdata, Population, ClassRisk, list[str]]:
        """The release with its weights, the population, the risk of each combination of keys, and notes on both."""
        data, weight = with_original_weight(original, release.data) if release.is_paired else (release.data, None)
        population = population_of(data, original.rows, self.sampled, weight)
        found = ClassRisk.of(key_table(data, names, population.weight), population, self.missing)
        law = key_law(original, release, names)
        notes = [population.sentence]
        matched = self._under_law(original, data, population, found, law) if law.perturbs else None
        if matched is not None:
            notes.append("keys were perturbed: the risk is the probability of a right match under the transition law")
            if law.exchanged:
                exchanged = ", ".join(n for own in law.exchanged for n in own)
                notes.append(f"the transition law of {exchanged} is estimated from the exchanged values")
            return data, population, matched, notes
        found = self._with_model(found, population)
        notes += _model_notes(found)
        if law.perturbs:
            notes.append("WARNING: there are too many combinations of perturbed keys, which are treated as true")
        elif law.why_not:
            notes.append(f"the released keys are treated as true: {law.why_not}")
        return data, population, found, notes

    def _under_law(
        self, original: Microdata, data: Microdata, population: Population, found: ClassRisk, law: KeyLaw
    ) -> ClassRisk | None:
        """The released combinations with the probability of a right match: the risk of the true keys times that of the link."""
        true = TrueTable.of(original, data, law, found.table.names, population.weight)
        risks = self._with_model(ClassRisk.of(true.table, population, self.missing), population)
        return risk_under_law(true, risks, found, law, population.is_file)

    def _before_and_after(self, original: Microdata, release: Release, found: ClassRisk) -> dict[str, Rows]:
        """Risk of the original and of the release, and the cells that changed; nothing if no step changed a key."""
        changed = [n for n in found.table.names if n in released_keys(original, release) or n in release.data.confidential]
        if not changed or release.data.table is original.table:
            return {}
        stages = [self._stage_of_original(original), found.row("release", self.threshold)]
        return {"key_stages": Rows.of(stages), "key_changes": key_changes(original, release.data, changed)}

    def _stage_of_original(self, original: Microdata) -> Row:
        """The row of the original, computed once for all releases."""
        weight = original.roles.weight
        read = [*self.key_names(original), *([weight] if weight in original.table.columns else ())]
        what = ("risk of the keys", repr(self.settings()))
        return remember(original, what, [n for n in read if n], lambda: self.stage(
            original, Release("original", (original,)), "original"))

    def key_names(self, data: Microdata) -> tuple[str, ...]:
        """The key variables: those that are named, else those with the role, else all of S."""
        columns = data.table.columns
        for name in self.keys:
            if name not in data.released or name not in columns:
                raise RiskError(f"{name!r} is not a released column; {nearest_names(name, data.released)}",
                                subject="key_risk.keys")
        every = data.roles.key or (*data.sub_groups.columns, *data.non_confidential)
        found = self.keys or tuple(n for n in every if n in columns)
        if not found:
            raise RiskError("there is no key variable: no column is non-confidential. Name the keys (keys).",
                            subject="key_risk")
        return tuple(dict.fromkeys(found))

    def _details(self, data: Microdata, population: Population, found: ClassRisk) -> tuple[dict[str, Rows], list[str]]:
        table, risk, size = found.table, found.risk, found.size
        models = None if population.is_file else found.models or key_models(table, population, self.model)
        most = self.suda_size or (len(table.names) if len(table.names) <= _ALL_SETS else _USUAL_SIZE)
        suda, too_many = suda_rows(table, most, _DIS_FRACTION if population.is_file else population.fraction)
        anonymity, patterns = anonymity_rows(table)
        others = [n for n in data.confidential if n not in table.names]
        details = {
            "key_summary": self._summary(table, population, found),
            "class_sizes": class_size_rows(size, table.count, risk, self.threshold),
            "log_linear": Rows() if models is None else log_linear_rows(table, models),
            "superpopulation": Rows() if population.is_file else superpopulation_rows(table, population), **suda,
            "anonymity": anonymity, "diversity": Rows.of(diversity_rows(data, table, others)),
            "without_key": without_key_rows(found, population, self.missing),
        }
        return {k: v for k, v in details.items() if len(v)}, [note for note in (too_many, patterns) if note]

    def _summary(self, table: KeyTable, population: Population, found: ClassRisk) -> Rows:
        risk, size = found.risk, found.size
        n, above = table.records, risk > self.threshold
        _, low, high = found.whole
        figures: dict[str, float] = {
            "records": n, "combinations of keys": len(table.count), "sample uniques": int(table.count[size == 1].sum()),
            "sampling fraction": population.fraction, "expected re-identifications": float((table.count * risk).sum()),
            f"records with a risk above {self.threshold:g}": int(table.count[above].sum()),
            "records with a higher risk than most (median + 2 MAD, and .1)": records_above_main_part(table.count, risk),
            "highest individual risk": float(risk.max(initial=0.0)), "smallest class": int(size.min(initial=n)),
        }
        ends = {"expected re-identifications": (low * n, high * n)}
        rows: list[Row] = [
            {"figure": name, "value": value, **dict(zip(("low", "high"), ends.get(name, (None, None)), strict=True))}
            for name, value in figures.items()
        ]
        return Rows.of([*rows, *mean_risk_rows(found)])


def _with_loss(summary: Rows, changes: Rows, keys: int) -> Rows:
    """The summary with the share of the information in the keys that is lost, a mean over all keys."""
    lost = sum(float(v) for v in changes.column("information lost") if isinstance(v, int | float))
    return Rows.of([*summary, {"figure": INFORMATION_LOST, "value": lost / max(keys, 1), "low": None, "high": None}])


def _model_notes(found: ClassRisk) -> list[str]:
    """Which estimate the risk is, if the file is a sample."""
    if found.models is None:
        return []
    if found.model is None:
        return [f"{found.models.why_not}. The mean risk is therefore by weights alone, which is often too low"]
    notes = ["the mean risk is that of the log-linear model; its upper end is at least that of the mean risk by weights"]
    if not found.model.chosen.accepted:
        notes.append("the log-linear model does not pass its test, so the mean risk is less certain than its interval says")
    return notes


def _by_group(data: Microdata, found: ClassRisk, alone: Floats | None) -> Rows:
    table = found.table
    order = np.argsort(table.group, kind="stable")
    ends = np.searchsorted(table.group[order], np.arange(len(data.groups) + 1))
    rows: list[Row] = []
    for g, n in enumerate(data.groups.sizes):
        own = order[ends[g] : ends[g + 1]]
        value, low, high = found.mean(table.place[own], table.group_count[own], float(n))
        rows.append({"sub_group": data.groups.name(g), "records": n, "value": value, "chance": 1 / max(n, 1),
                     "s_alone": value if alone is None else float(alone[g]), "low": low, "high": high})
    return Rows.of(rows)
