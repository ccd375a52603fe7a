"""Databases as sources: the result of a query is written to a Parquet file in a private folder, which every engine reads."""
