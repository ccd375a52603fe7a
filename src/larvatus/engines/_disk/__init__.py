"""The table of the DuckDB engine: reading, sorting, pairing and writing columns on disk.

What Spark shares belongs to _layout.
"""
