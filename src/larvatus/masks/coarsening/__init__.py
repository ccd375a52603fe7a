"""Classes of numbers and tails, for recoding and top coding. Categories belong to categories."""
