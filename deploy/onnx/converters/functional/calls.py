"""Calls."""

from __future__ import annotations

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is inlined before operators are written",
    "BatchFunction",
    "PartitionedCall",
    "StatefulPartitionedCall",
)
