"""Blocks of a report (paragraph, table, figure) as values, and their HTML. Their texts come from the sections."""
