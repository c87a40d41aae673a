"""Programs for those who change versions."""
