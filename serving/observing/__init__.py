"""Who looks on while requests are answered; none of it changes an answer.

`metrics`, `load_metrics`, `shadow_metrics` and `stuck_runs` are what Prometheus reads, kept in the
`ledger` where several processes count; `history` is what the page shows. The watchers, which see
each request that is over, are `access_log`, `recording`, `shadows` and `tracing`; `replay` asks
again what was recorded.
"""
