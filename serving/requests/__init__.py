"""From a request to its reply, independent of protocols and HTTP servers.

Every request goes through `exchange`: `policies` check the `request`, one of the `wires` decodes
its body within the limits of `expansion`, the version runs, and the wire encodes the `reply`.
"""
