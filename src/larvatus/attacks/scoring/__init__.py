"""From credits per record to a risk score with its baselines."""
