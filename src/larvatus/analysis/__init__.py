"""For the analyst of a release: estimates over copies, corrections for published noise, and tails filled in."""

from larvatus.analysis.combining_rules import CombinedEstimate, combine
from larvatus.analysis.noise_correction import CorrectedMoments, Estimates, correct
from larvatus.analysis.pareto_tail import ParetoTail, filled_tail
from larvatus.analysis.published_noise import Noise, additive, correlated, multiplicative

__all__ = [
    "CombinedEstimate", "CorrectedMoments", "Estimates", "Noise", "ParetoTail", "additive", "combine", "correct", "correlated",
    "filled_tail", "multiplicative",
]
