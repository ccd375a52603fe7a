"""Rules that released records obey: parsing, feasibility and enforcement. Rules suggested by the data are found in advice."""
