"""From a request to its reply, below every protocol and front.

`exchange` is the one way: `policies` judge the `request`, one of the `wires` reads its body, within
`expansion`, the version runs, and the wire writes the `reply`.
"""
