"""Equivalence classes of key variables: their sizes and diversity. Linkage by distance belongs to linkage."""
