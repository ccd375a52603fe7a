"""Generators of data to try things on; each says what of published data it matches and what it does not."""

from larvatus.datasets.households import households
from larvatus.datasets.key_variables import key_variables

__all__ = ["households", "key_variables"]
