"""The walk from a source to a comparison, the only part that knows the order: read, mask, attack, measure, compare, run."""

from larvatus.walk.attacking import risk
from larvatus.walk.checking import check
from larvatus.walk.comparing import compare
from larvatus.walk.masking import mask
from larvatus.walk.measuring import utility
from larvatus.walk.reading import read
from larvatus.walk.running import file_stem, run
from larvatus.walk.search_studies import search_study
from larvatus.walk.searching import advise, search

__all__ = ["advise", "check", "compare", "file_stem", "mask", "read", "risk", "run", "search", "search_study", "utility"]
