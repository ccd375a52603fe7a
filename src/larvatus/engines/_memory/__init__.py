"""The table of the memory engine. Its reader is in engines/memory.py."""
