"""Generators of data to try things on; each says what of published data it matches and what it does not."""

from larvatus.datasets.households import households
from larvatus.datasets.key_variables import key_variables
from larvatus.datasets.relations import relations
from larvatus.datasets.reverse_mapping_example import reverse_mapping_example

__all__ = ["households", "key_variables", "relations", "reverse_mapping_example"]
