"""Groups of columns and of records: columns masked together, patterns of missing values and zeros, streamed group means."""
