"""How CSV files are written: delimiter, quotation mark, decimal mark, thousands separator, encoding. Stated or recognised."""
