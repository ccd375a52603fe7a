"""Sources and targets: CSV and Parquet, frames, Arrow columns, record ids. Where tables are held belongs to the engines."""
