"""For the analyst of a release: estimates over copies, corrections for published noise, and tails filled in."""

from larvatus.analysis.combining_rules import Combined, combined
from larvatus.analysis.noise_correction import Corrected, Estimates, corrected
from larvatus.analysis.pareto_tail import ParetoTail, filled_tail
from larvatus.analysis.published_noise import Noise, additive, correlated, multiplicative

__all__ = [
    "Combined", "Corrected", "Estimates", "Noise", "ParetoTail", "additive", "combined", "corrected", "correlated",
    "filled_tail", "multiplicative",
]
