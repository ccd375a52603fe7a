"""For the analyst of a release: estimates over copies, corrections for published noise, and tails filled in."""

from larvatus.analysis.combining import Combined, combined
from larvatus.analysis.corrections import Corrected, Estimates, corrected
from larvatus.analysis.published import Noise, additive, correlated, multiplicative
from larvatus.analysis.tails import ParetoTail, filled_tail

__all__ = [
    "Combined", "Corrected", "Estimates", "Noise", "ParetoTail", "additive", "combined", "corrected", "correlated",
    "filled_tail", "multiplicative",
]
