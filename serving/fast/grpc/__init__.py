"""gRPC on the core of grpcio, with messages recognised by the bytes before their numbers."""
