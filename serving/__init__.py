"""A folder of SavedModels → a server that answers.

`command` parses the flags and starts a `process` or several `workers`; `service` answers requests,
and `client` sends them. A request passes these folders from top to bottom, its reply back up:

- `http`, `grpc`: fronts, which carry requests and replies; `web` is the page for people,
- `messages`: the protobuf messages of requests, independent of the protocol,
- `requests`: from a request to its reply, independent of the protocol,
- `models`: from a folder to the version that answers,
- `running`: a version's calls, joined and run,
- `observing`: metrics, logs, records, shadows,
- `config`: the configuration,
- `fast`: faster ways to the same answers, which are optional.
"""
