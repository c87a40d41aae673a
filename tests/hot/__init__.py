"""Differences between the tiers: graphs are drawn, run in every way, and compared."""
