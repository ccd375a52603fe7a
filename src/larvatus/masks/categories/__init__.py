"""Levels of categorical columns: in an order, joined, or combined as keys. Classes of numbers belong to coarsening."""
