"""`keras.export`: models and functions as a SavedModel with endpoints."""

from pinnace.keras.export.archive import ExportArchive as ExportArchive
