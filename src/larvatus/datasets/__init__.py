"""Generators of made-up data; each states which published figures it matches and which it does not."""

from larvatus.datasets.four_fields import extracted_fields, four_fields
from larvatus.datasets.heavy_tails import heavy_tails
from larvatus.datasets.household_heads import household_heads
from larvatus.datasets.households import households
from larvatus.datasets.key_variables import key_variables
from larvatus.datasets.relations import relations
from larvatus.datasets.reverse_mapping_example import reverse_mapping_example
from larvatus.datasets.schools import schools
from larvatus.datasets.shapes import shapes
from larvatus.datasets.wages import wages

__all__ = [
    "extracted_fields", "four_fields", "heavy_tails", "household_heads", "households", "key_variables", "relations",
    "reverse_mapping_example", "schools", "shapes", "wages",
]
