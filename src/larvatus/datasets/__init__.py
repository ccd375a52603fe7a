"""Generators of data to try things on; each says what of published data it matches and what it does not."""

from larvatus.datasets.households import households

__all__ = ["households"]
