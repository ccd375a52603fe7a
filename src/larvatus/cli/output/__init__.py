"""What commands print: tables, summaries, progress. Options belong to commands."""
