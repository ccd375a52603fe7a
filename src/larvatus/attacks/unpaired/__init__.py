"""What attacks on files without pairs share: the files as points, and scores with the holdout as baseline."""
