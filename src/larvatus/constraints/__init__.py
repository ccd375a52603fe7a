"""Rules that released records obey: parsing, feasibility and enforcement. What the data suggest as rules belongs to advice."""
