"""Modules for migrating between versions."""
