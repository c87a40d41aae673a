"""Metrics, logs, traces and other observers of requests; none changes a result.

`metrics`, `load_metrics`, `shadow_metrics` and `stuck_runs` are exported to Prometheus, through the
`ledger` with several processes; `history` is shown by the page. The observers of completed requests
are `access_log`, `recording`, `shadows` and `tracing`; `replay` repeats recorded requests.
"""
