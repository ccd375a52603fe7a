"""Sources and targets: CSV and Parquet, frames, Arrow columns, record ids."""
