"""Accelerations: the server answers the same without this folder.

`http` is a front that answers plain requests on the connection, and readers of numbers; `grpc` is
a server on grpcio's core, and messages known by their beginnings; `lingering` keeps the event loop
awake. The rest of the server asks for them in `acceleration`, and nowhere else.
"""
