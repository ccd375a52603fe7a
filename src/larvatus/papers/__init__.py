"""The published tables, reproduced: one module per paper, one file of published figures each, found by their names."""
