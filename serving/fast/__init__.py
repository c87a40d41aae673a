"""Accelerations, without which the server gives the same answers.

`http` is a protocol class that answers common requests on the connection, with readers of numbers;
`grpc` is a server on grpcio's core, with a cache of messages by prefix; `lingering` keeps the event
loop awake. The rest of the server uses them only through `acceleration`.
"""
