"""Formats read and written byte by byte, because no package keeps what they hold: portable files of SPSS, transport files."""
