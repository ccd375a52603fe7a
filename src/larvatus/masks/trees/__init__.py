"""Synthesis column by column: the stages of a column, the trees that divide its records, and draws from their leaves."""
