"""The published tables, reproduced: one folder per paper with its published figures, found by name."""
