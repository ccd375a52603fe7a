"""The part of the internal report that a board reads: the decision, then five short sections, each with one picture."""
