"""Link each target to the released record with the highest posterior probability (Trottini and others: paper 002).

    Masking law       z = θx + ε,  θ ~ N(1, φ²) per value,  ε ~ N(0, σ²)
    Likelihood        f(z | x₀) = N(z; x₀, σ² + φ²x₀²)
    Paper's kernel    f(z | x₀) · E|T|,  T ~ N(m, v),  m = (σ² + φ²x₀z)/(σ² + φ²x₀²),  v = φ²σ²/(σ² + φ²x₀²)
    Coherent kernel   f(z | x₀) / f(z)
    Link              j* = arg max_j Pr(z_j belongs to the target | all z), made if that probability exceeds the threshold

Kernels of several columns are multiplied. If φ and σ are unknown, they are integrated out over their priors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
from larvatus.attacks.linkage.target_sample import TargetCount
from larvatus.core.errors import MaskError, RiskError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.laws import BiasLaw, FactorLaw, NoiseLaw, factor_laws, spreads, with_error
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score

Kernel = Literal["strongest", "likelihood", "paper", "coherent"]
_Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Stated = float | tuple[float, ...] | dict[str, float]
BUDGET, FEWEST_TARGETS = 1e8, 100  # pairs × columns in closed form (about five seconds); smallest number of targets
SOFT_ERROR = 0.05
NODES_FOR = ((0.1, 4), (0.2, 8), (0.4, 16), (float("inf"), 32))  # (coefficient of variation of the prior, nodes usually needed)


class BayesianIntruder(Attack):
    """The intruder knows X of the target, and perhaps of other records, and links it to the most probable released record.

    Released values are modelled as X times a random factor with mean one, plus noise: z = θx + ε. If the standard deviations
    of θ and ε are released, the probabilities have a closed form. Otherwise the intruder has a prior on both standard
    deviations, and learns about them from other known records, without knowing which released record belongs to whom. A link
    is made if its probability exceeds the threshold.

    Look at it if you add noise or factors and think about publishing their settings. It does not apply to masks of another
    kind.

    Parameters:
        parameters: "released": the two standard deviations are known, from the steps or from bias_sd and noise_ratio;
            "unknown": the intruder has a prior on them.
        known_records: number L of other records in the pool with known X; above 0, Markov chains are run.
        kernel: weight of a pair (x, z): "likelihood" is f(z | x); "paper" also weights by the factor; "coherent" divides by
            the density of z; "strongest" reports the kernel that finds most.
        threshold: make a link only if its probability exceeds this.
        bias_sd: standard deviation of the factor, if the steps do not state it: one value, a list in role order, or by column.
        noise_ratio: standard deviation of the noise over that of the column, if the steps do not state it; same forms.
        bias: distribution of the factor, if the steps do not state it.
        noise: distribution of the noise, if the steps do not state it.
        bias_centre: unknown parameters: centre of the prior of the factor's standard deviation.
        bias_cv: unknown parameters: coefficient of variation of that prior.
        noise_centre: unknown parameters: centre of the prior of the noise's standard deviation, over the range of z.
        noise_cv: unknown parameters: coefficient of variation of that prior.
        nodes: unknown parameters: quadrature points for each of the two standard deviations (default: automatic).
        correlated: account for correlations between columns in the density of a released record.
        population: number of records in the population, if the release is a sample (default: the size of the original).
        targets: number of targets to attack, a random sample, or "all" (default: all, or as many as take a few seconds).
        chains: number of Markov chains, started from dispersed points.
        sweeps: largest number of sweeps of each chain; chains that have not converged by then are rejected.
    """

    assumes: ClassVar[str] = (
        "The intruder knows values of the targets and of known_records other records, and knows that each value was multiplied "
        "by a random factor and that noise was added. The two standard deviations are known, or the intruder has a prior on "
        "them. Columns are masked independently."
    )

    parameters: Literal["released", "unknown"] = Field(
        default="released", description="whether the intruder knows the two standard deviations"
    )
    known_records: Annotated[int, Field(ge=0)] = Field(default=0, description="other records in each pool with known X")
    kernel: Kernel = Field(default="strongest", description="weight of a pair (x, z)")
    threshold: _Share = Field(default=0.0, description="probability above which a link is made")
    bias_sd: Stated | None = Field(default=None, description="standard deviation of the factor, if the steps do not state it")
    noise_ratio: Stated | None = Field(
        default=None, description="standard deviation of the noise over that of the column, if the steps do not state it"
    )
    bias: BiasLaw = Field(default="normal", description="distribution of the factor, if the steps do not state it")
    noise: NoiseLaw = Field(default="normal", description="distribution of the noise, if the steps do not state it")
    bias_centre: Positive = Field(default=1 / 12, description="centre of the prior of the factor's standard deviation")
    bias_cv: Positive = Field(default=0.05, description="coefficient of variation of that prior")
    noise_centre: Positive = Field(default=1 / 6, description="centre of the prior of the noise's SD, over the range of z")
    noise_cv: Positive = Field(default=0.05, description="coefficient of variation of that prior")
    nodes: Annotated[int, Field(ge=2, le=256)] | None = Field(
        default=None, description="quadrature points for each standard deviation (default: automatic)"
    )
    correlated: bool = Field(default=False, description="account for correlations in the density of a released record")
    population: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="number of records in the population (default: the size of the original)"
    )
    targets: TargetCount = Field(
        default=None, description='number of targets to attack, or "all" (default: as many as take a few seconds)'
    )
    chains: Annotated[int, Field(ge=2, le=64)] = Field(default=4, description="number of Markov chains, from dispersed starts")
    sweeps: Annotated[int, Field(ge=100)] = Field(default=16_000, description="largest number of sweeps of each chain")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(parameters="unknown", kernel="likelihood", noise_cv=0.2, correlated=True)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.attacks.bayesian.links import link_pools
        from larvatus.attacks.bayesian.pools import RecordColumns
        from larvatus.stats.link_posteriors.links import KERNELS

        data = release.data
        laws, unknown, notes = self._laws(original, release, intruder)
        # the targets and known records do not depend on the settings, so that intruders can be compared target by target
        drawn = RecordRandom(stream_key(b"scores are not secret", "targets of bayesian_intruder"))
        keys = keys_of("bayesian_intruder", original, release, intruder, drawn, self._targets(data, laws, unknown),
                       equal_chances=True)
        if not keys.numbers:
            raise RiskError("the intruder knows no numeric confidential column of the release. List one in "
                            "intruder.known, or leave intruder.known empty for all.", subject="bayesian_intruder")
        soft = [n for n in keys.soft if n not in keys.codes]
        laws = {n: with_error(laws.get(n, self._stated_law(data)), intruder.error) for n in keys.numbers} | {
            n: FactorLaw("normal", "normal", max(intruder.error, SOFT_ERROR), np.zeros(len(data.groups))) for n in soft
        }
        pools = [keys.joined.groups.name(g) for g in range(len(keys.joined.groups))]
        gathered = RecordColumns.of(keys, data, original, intruder)
        notes += self._counted(data.rows, gathered.absent)
        found = link_pools(
            self, gathered, pools, laws, len(soft), unknown,
            self._present(original, release, intruder), random, drawn, bool(keys.exact),
        )
        names = KERNELS if self.kernel == "strongest" else (self.kernel,)
        tried = [k for k in names if k not in found.refused]
        if not tried:
            raise RiskError(found.refused[names[0]], subject="bayesian_intruder")
        guesses = intruder.guesses or (1,)
        best = max(tried, key=lambda k: float(found.success(k, self.threshold)[found.there].mean()))
        unused = (*keys.categorical, *(c for c in keys.soft if c in keys.codes))
        notes += [f"{n} is categorical and is not used to match records" for n in unused]
        notes += [f"the {k} kernel is left out: {why}" for k, why in found.refused.items() if k in names]
        notes += found.notes
        score = linkage_score(
            "bayesian_intruder", "share of records whose own released record is the most probable one", self.settings(),
            original, release, intruder, guesses, found.credits(best, self.threshold, guesses), keys, notes,
        )
        inside, everybody = (float(r["chance"] or 0) for r in score.details.get("presence", ({"chance": 1.0},) * 2))
        kernels = found.kernels(tried, self.threshold, best, everybody / inside)
        details = {**score.details, "kernels": kernels, "thresholds": found.curve(best)}
        if found.convergence:
            details["convergence"] = Rows.of(found.convergence)
        sampled = keys.sample is not None or int(found.there.sum()) < data.rows
        return replace(score, details=details, by_record=found.by_record(best, self.threshold, data.rows), sampled=sampled)

    def _laws(
        self, original: Microdata, release: Release, intruder: Intruder
    ) -> tuple[dict[str, FactorLaw], bool, list[str]]:
        """The law of each column, whether its standard deviations are unknown, and notes about that."""
        stated = factor_laws(release, original) if release.steps else None
        steps = [s for r in (release, *release.internals.other_releases) for s in r.steps]
        hidden = not intruder.knows_settings_of(steps)
        if self.parameters == "unknown":
            return {} if hidden else stated or {}, True, []
        if self.bias_sd is not None or self.noise_ratio is not None:
            return self._stated(original, release, intruder.error), False, []
        if not release.steps or hidden:
            return {}, True, ["the intruder does not know how the file was masked, assumes a random factor and noise, and has "
                              "a prior on the size of both"]
        one_copy = replace(release, internals=replace(release.internals, copies_averaged=1))
        if stated is None and release.internals.copies_averaged > 1 and factor_laws(one_copy, original) is not None:
            return {}, True, ["the average of several copies does not follow the law of one copy, so the sizes of its factor "
                              "and noise are treated as unknown"]
        if stated is None:
            raise RiskError(
                "the steps of this release do more than multiply each value by a factor and add noise. Set "
                "bias_sd and noise_ratio to assume values for them, or parameters = \"unknown\".",
                subject="bayesian_intruder",
            )
        return stated, False, []

    def _stated(self, original: Microdata, release: Release, error: float) -> dict[str, FactorLaw]:
        base = dict(release.internals.original_columns)
        names = tuple(n for n in original.numeric(original.confidential) if n in release.data.table.columns)
        try:
            factor = per_column("bayesian_intruder.bias_sd", self.bias_sd or 0.0, names)
            ratio = per_column("bayesian_intruder.noise_ratio", self.noise_ratio or 0.0, names)
        except MaskError as error:
            raise RiskError(str(error)) from None
        for field, given in (("bias_sd", factor), ("noise_ratio", ratio)):
            if not np.all(np.asarray(given) >= 0):
                raise RiskError(f"bayesian_intruder.{field}: a standard deviation is 0 or more. Give a value without a sign.")
        if not error and not np.any(factor) and not np.any(ratio):
            raise RiskError("bias_sd and noise_ratio are both 0, which means that nothing was masked. "
                            "Make one of them larger, or set parameters = \"unknown\".", subject="bayesian_intruder")
        noise_sd = spreads(original.with_confidential(names), ratio, "mask", "sub_group")
        mine = {n: FactorLaw(self.bias, self.noise, float(factor[j]), noise_sd[:, j]) for j, n in enumerate(names)}
        return mine | {n: mine[b] for n, b in base.items() if b in mine}

    def _stated_law(self, data: Microdata) -> FactorLaw:
        return FactorLaw(self.bias, self.noise, self.bias_centre, np.zeros(len(data.groups)))

    def _targets(self, data: Microdata, laws: Mapping[str, FactorLaw], unknown: bool) -> int | None:
        """The number of targets asked for; otherwise all (None), or as many as take a few seconds."""
        if self.targets is not None:
            return None if self.targets == "all" else self.targets
        sizes = np.array(data.groups.sizes, dtype=np.float64)
        closed = all(law.bias == "normal" and law.noise == "normal" for law in laws.values())
        nodes = self.nodes or next(n for cv, n in NODES_FOR if max(self.bias_cv, self.noise_cv) <= cv)
        each = (0.5 * nodes**2 if unknown else 1.0) * (1.0 if closed else 40.0)
        cost = float((sizes**2).sum()) * max(len(data.confidential), 1) * each
        return None if cost <= BUDGET else max(FEWEST_TARGETS, int(data.rows * BUDGET / cost))

    def _counted(self, rows: int, absent: int) -> list[str]:
        """Notes on what `population` changes: only targets whose values are available can be attacked."""
        if self.population is None or self.population <= rows + absent:
            return []
        assumed = (f"probabilities assume a population of {self.population:,} records, of which {rows:,} are in the file; the "
                   "table of thresholds ")
        if absent:
            return [f"{assumed}counts false links of the {absent:,} records of the original that are not in the file, but of "
                    "no other records of the population"]
        return [f"{assumed}counts only targets in the file, and no false links of records outside it; counting those needs an "
                "original with more records than the file, and an intruder with presence = \"unknown\""]

    def _present(self, original: Microdata, release: Release, intruder: Intruder) -> float:
        """The probability that a target is in the file."""
        rows = release.data.rows
        if self.population is not None and self.population < rows:
            raise RiskError(f"{self.population:,} is less than the {rows:,} records of the "
                            "release. Give the number of records in the population.", subject="bayesian_intruder.population")
        if self.population is not None:
            return rows / self.population
        return 1.0 if intruder.presence == "known" else min(1.0, rows / original.rows)

