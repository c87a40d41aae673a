"""A folder of SavedModels → a server that answers.

`command` parses the flags and starts a `process` or several `workers`; `service` answers requests,
and `client` sends them. A request passes down these folders and its reply up again:

- `http`, `grpc`: fronts, which carry requests and replies; `web` is the page for people,
- `messages`: the protobuf messages of requests, by whatever way they come,
- `requests`: from a request to its reply, below every protocol,
- `models`: from a folder to the version that answers,
- `running`: a version's calls, joined and run,
- `observing`: who looks on: metrics, logs, records, shadows,
- `config`: what a server is told,
- `fast`: the same answers sooner. Nothing needs it.
"""
