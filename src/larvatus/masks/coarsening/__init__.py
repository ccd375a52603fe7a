"""Classes of numbers and tails, for recoding and top coding."""
