"""What commands print: tables, summaries, progress."""
