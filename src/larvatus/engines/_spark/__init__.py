"""The table of the Spark engine: session, jobs, exchange, sorting, reading and writing.

What the disk shares belongs to _layout.
"""
