"""Differences between the tiers: random graphs are run in every way, and compared."""
