"""Blocks of a report (paragraph, table, figure) as values, and their HTML. What a section says belongs to sections."""
