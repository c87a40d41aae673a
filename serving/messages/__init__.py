"""Protobuf messages of requests and replies, without gRPC: recorded requests are these too."""
