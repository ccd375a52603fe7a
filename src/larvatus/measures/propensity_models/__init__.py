"""Models that predict which file a record came from, for `propensity`. General models belong to stats."""
