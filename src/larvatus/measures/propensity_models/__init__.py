"""Models that predict which file a record came from, for the measure `propensity`."""
