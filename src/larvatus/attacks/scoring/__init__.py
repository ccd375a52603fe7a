"""From credits per record to a risk score with its baselines. Limits and verdicts belong to comparison."""
