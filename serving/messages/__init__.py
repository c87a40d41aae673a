"""Protobuf messages of requests and replies, without gRPC; recorded requests consist of them."""
