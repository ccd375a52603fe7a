"""Woo, Reiter, Oganian and Karr: global measures of utility (003)."""
