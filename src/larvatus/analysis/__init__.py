"""For the analyst of a release: combining copies, correcting for published noise, and filling in top-coded tails."""

from larvatus.analysis.combining_rules import CombinedEstimate, combine
from larvatus.analysis.noise_correction import CorrectedMoments, Estimates, correct
from larvatus.analysis.pareto_tail import ParetoTail, fill_tail
from larvatus.analysis.published_noise import Noise, additive, correlated, multiplicative

__all__ = [
    "CombinedEstimate", "CorrectedMoments", "Estimates", "Noise", "ParetoTail", "additive", "combine", "correct", "correlated",
    "fill_tail", "multiplicative",
]
