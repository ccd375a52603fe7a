"""Many candidates: worked through one or two at a time, and resumed from a cache. What a candidate is belongs to study."""
