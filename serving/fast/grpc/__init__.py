"""gRPC on the core of grpcio, and messages known by the bytes before their numbers."""
