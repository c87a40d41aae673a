"""The report of an export: `ExportReport`, its files, its nodes, and what the passes changed."""
