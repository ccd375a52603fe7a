"""Models that predict which file a record belongs to, for the measure `propensity`."""
