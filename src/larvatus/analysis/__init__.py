"""For the analyst of a release: what to make of estimates from several copies."""

from larvatus.analysis.combining import Combined, combined

__all__ = ["Combined", "combined"]
