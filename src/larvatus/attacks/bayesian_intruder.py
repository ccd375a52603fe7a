"""Link by the posterior of a Bayesian who knows that values were multiplied by a factor and had noise added (paper 002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import keys_of
from larvatus.attacks.linkage.nearest_credits import linkage_score
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
BUDGET, FEWEST_TARGETS = 1e8, 100  # pairs and columns in closed form, about five seconds; targets that are attacked at least
SOFT_ERROR = 0.05
NODES_FOR = ((0.1, 4), (0.2, 8), (0.4, 16), (float("inf"), 32))  # what priors of such a variation usually need


class BayesianIntruder(Attack):
    """The intruder knows X of the target, and perhaps of others, and links it to the most probable released record.

    Released values are taken to be X times a factor around one, plus noise. Where the two spreads are released the
    probabilities are in closed form; where they are not, the intruder has a prior on them, and learns from other records
    that are known, though not which released record is whose. A link is made where its probability is above the threshold.

    Parameters:
        parameters: "released": the intruder is told the two spreads, by the steps or by bias_sd and noise_ratio; "unknown".
        known_records: of how many other records in the pool X is known too (L); more than 0 runs Markov chains.
        kernel: "likelihood" of z given x; "paper", which weighs it by the factor; "coherent", which divides it by how common
            z is; "strongest" reports the one that finds most.
        threshold: link only where the probability is above this.
        bias_sd: standard deviation of the factor, where the steps do not tell; one value, a list in role order, or by name.
        noise_ratio: standard deviation of the noise over that of the column, where the steps do not tell; likewise.
        bias: law of the factor, where the steps do not tell.
        noise: law of the noise, where the steps do not tell.
        bias_centre: unknown parameters: where the prior of the factor's standard deviation is centred.
        bias_cv: unknown parameters: coefficient of variation of that prior.
        noise_centre: unknown parameters: centre of the prior of the noise's standard deviation, over the range of z.
        noise_cv: unknown parameters: coefficient of variation of that prior.
        nodes: unknown parameters: points of the quadrature in each of the two; as many as it needs where none is stated.
        correlated: whether the intruder reckons with correlations when asking how common a released record is.
        population: how many records there are where the release is a sample of them; the original's where none is stated.
        targets: attack only so many targets, drawn at random; all where none is stated, up to what takes a few seconds.
        chains: Markov chains, from dispersed starts.
        sweeps: the most sweeps of each chain; what has not converged by then is refused.
    """

    assumes: ClassVar[str] = (
        "The intruder holds values of the targets and of so many other records, knows that values were multiplied by a factor "
        "and had noise added, and is told the two spreads or has a prior on them. Columns are masked independently."
    )

    parameters: Literal["released", "unknown"] = Field(default="released", description="what is told about the two spreads")
    known_records: Annotated[int, Field(ge=0)] = Field(default=0, description="other records of which X is known, in each pool")
    kernel: Kernel = Field(default="strongest", description="what a pair of x and z is weighed by")
    threshold: _Share = Field(default=0.0, description="probability above which a link is made")
    bias_sd: Stated | None = Field(default=None, description="standard deviation of the factor, where the steps do not tell")
    noise_ratio: Stated | None = Field(
        default=None, description="standard deviation of the noise over that of the column, where the steps do not tell"
    )
    bias: BiasLaw = Field(default="normal", description="law of the factor, where the steps do not tell")
    noise: NoiseLaw = Field(default="normal", description="law of the noise, where the steps do not tell")
    bias_centre: Positive = Field(default=1 / 12, description="centre of the prior of the factor's standard deviation")
    bias_cv: Positive = Field(default=0.05, description="coefficient of variation of that prior")
    noise_centre: Positive = Field(default=1 / 6, description="centre of the prior of the noise's SD, over the range of z")
    noise_cv: Positive = Field(default=0.05, description="coefficient of variation of that prior")
    nodes: Annotated[int, Field(ge=2, le=256)] | None = Field(
        default=None, description="points of the quadrature in each spread; as many as it needs where none is stated"
    )
    correlated: bool = Field(default=False, description="reckon with correlations when asking how common a record is")
    population: Annotated[int, Field(ge=1)] | None = Field(default=None, description="records there are, in the file or not")
    targets: Annotated[int, Field(ge=1)] | None = Field(default=None, description="how many targets to attack")
    chains: Annotated[int, Field(ge=2, le=64)] = Field(default=4, description="Markov chains, from dispersed starts")
    sweeps: Annotated[int, Field(ge=100)] = Field(default=16_000, description="most sweeps of each chain")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(parameters="unknown", kernel="likelihood", noise_cv=0.2, correlated=True)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.attacks.bayesian.links import link_pools
        from larvatus.attacks.bayesian.pools import RecordColumns
        from larvatus.stats.bias_and_noise.links import KERNELS

        data = release.data
        laws, unknown, notes = self._laws(original, release, intruder)
        # the same targets and known records whatever the settings, so that intruders can be compared target by target
        drawn = RecordRandom(stream_key(b"scores are not secret", "targets of bayesian_intruder"))
        keys = keys_of("bayesian_intruder", original, release, intruder, drawn, self._targets(data, laws, unknown))
        if not keys.numbers:
            raise RiskError("bayesian_intruder: the intruder knows no numeric confidential column of the release. Name one in "
                            "intruder.known, or leave it empty for all.")
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
            raise RiskError(f"bayesian_intruder: {found.refused[names[0]]}")
        guesses = intruder.guesses or (1,)
        best = max(tried, key=lambda k: float(found.success(k, self.threshold)[found.there].mean()))
        unused = (*keys.names, *(c for c in keys.soft if c in keys.codes))
        notes += [f"{n} holds names and is not used to match records" for n in unused]
        notes += [f"the {k} kernel is left out: {why}" for k, why in found.refused.items() if k in names]
        notes += found.said
        score = linkage_score(
            "bayesian_intruder", "share of records whose own released record is the most probable one", self.settings(),
            original, release, intruder, guesses, found.credits(best, self.threshold, guesses), keys, notes,
        )
        inside, everybody = (float(r["chance"] or 0) for r in score.details.get("presence", ({"chance": 1.0},) * 2))
        kernels = found.kernels(tried, self.threshold, best, everybody / inside)
        details = {**score.details, "kernels": kernels, "thresholds": found.curve(best)}
        if found.convergence:
            details["convergence"] = Rows.of(found.convergence)
        sampled = keys.sampled or int(found.there.sum()) < data.rows
        return replace(score, details=details, by_record=found.by_record(best, self.threshold, data.rows), sampled=sampled)

    def _laws(
        self, original: Microdata, release: Release, intruder: Intruder
    ) -> tuple[dict[str, FactorLaw], bool, list[str]]:
        """The law of each column, whether its spreads are unknown, and what is to be said about that."""
        told = factor_laws(release, original) if release.steps else None
        steps = [s for r in (release, *release.others) for s in r.steps]
        hidden = not intruder.told(steps)
        if self.parameters == "unknown":
            return {} if hidden else told or {}, True, []
        if self.bias_sd is not None or self.noise_ratio is not None:
            return self._stated(original, release, intruder.error), False, []
        if not release.steps or hidden:
            return {}, True, ["the intruder is not told how the file was masked, supposes bias and noise, and has a prior on "
                              "the size of both"]
        if told is None and release.averaged > 1 and factor_laws(replace(release, averaged=1), original) is not None:
            return {}, True, ["the average of several copies is not masked by the law of one: its bias and noise are unknown"]
        if told is None:
            raise RiskError(
                "bayesian_intruder: the steps of this release are more than a factor and noise for each value. State bias_sd "
                "and noise_ratio to suppose them, or parameters = \"unknown\"."
            )
        return told, False, []

    def _stated(self, original: Microdata, release: Release, error: float) -> dict[str, FactorLaw]:
        base = dict(release.joined)
        names = tuple(n for n in original.numeric(original.confidential) if n in release.data.table.columns)
        try:
            factor = per_column("bayesian_intruder.bias_sd", self.bias_sd or 0.0, names)
            ratio = per_column("bayesian_intruder.noise_ratio", self.noise_ratio or 0.0, names)
        except MaskError as error:
            raise RiskError(str(error)) from None
        for field, given in (("bias_sd", factor), ("noise_ratio", ratio)):
            if not np.all(np.asarray(given) >= 0):
                raise RiskError(f"bayesian_intruder.{field}: a spread is 0 or more. State it without a sign.")
        if not error and not np.any(factor) and not np.any(ratio):
            raise RiskError("bayesian_intruder: bias_sd and noise_ratio are both stated as 0, so nothing was masked. "
                            "Make one of them larger, or say parameters = \"unknown\".")
        noise_sd = spreads(original.with_confidential(names), ratio, "mask", "sub_group")
        mine = {n: FactorLaw(self.bias, self.noise, float(factor[j]), noise_sd[:, j]) for j, n in enumerate(names)}
        return mine | {n: mine[b] for n, b in base.items() if b in mine}

    def _stated_law(self, data: Microdata) -> FactorLaw:
        return FactorLaw(self.bias, self.noise, self.bias_centre, np.zeros(len(data.groups)))

    def _targets(self, data: Microdata, laws: Mapping[str, FactorLaw], unknown: bool) -> int | None:
        """All, or as many as can be attacked within a few seconds."""
        if self.targets is not None:
            return self.targets
        sizes = np.array(data.groups.sizes, dtype=np.float64)
        closed = all(law.bias == "normal" and law.noise == "normal" for law in laws.values())
        nodes = self.nodes or next(n for cv, n in NODES_FOR if max(self.bias_cv, self.noise_cv) <= cv)
        each = (0.5 * nodes**2 if unknown else 1.0) * (1.0 if closed else 40.0)
        cost = float((sizes**2).sum()) * max(len(data.confidential), 1) * each
        return None if cost <= BUDGET else max(FEWEST_TARGETS, int(data.rows * BUDGET / cost))

    def _counted(self, rows: int, absent: int) -> list[str]:
        """What `population` changes, and what it does not: targets can be attacked only where their values are at hand."""
        if self.population is None or self.population <= rows + absent:
            return []
        reckoned = (f"probabilities reckon with a population of {self.population:,}, of which {rows:,} are in the file; the "
                    "table of thresholds counts ")
        if absent:
            return [f"{reckoned}false links of the {absent:,} records of the original that are not in the file, and of no "
                    "others who are not"]
        return [f"{reckoned}targets that are in the file only, and no false links of those who are not: for these the "
                "original has to hold more records than the file, and the intruder presence = \"unknown\""]

    def _present(self, original: Microdata, release: Release, intruder: Intruder) -> float:
        """The probability that a target is in the file."""
        rows = release.data.rows
        if self.population is not None and self.population < rows:
            raise RiskError(f"bayesian_intruder.population: {self.population:,} is less than the {rows:,} records of the "
                            "release. State how many records there are, in the file or not.")
        if self.population is not None:
            return rows / self.population
        return 1.0 if intruder.presence == "known" else min(1.0, rows / original.rows)

