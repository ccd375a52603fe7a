"""Classification and regression trees for synthesis: splits on numbers and on sets of levels, exact and in a fixed order."""
