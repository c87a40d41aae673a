"""Queries about the form of control flow: always version 2's, without XLA."""

from __future__ import annotations

from typing import Any

ENABLE_CONTROL_FLOW_V2 = True


def EnableControlFlowV2(graph: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether the graph uses While rather than Enter and Exit: always."""
    del graph
    return True


def GraphOrParentsInXlaContext(graph: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether XLA compiles the graph: never."""
    del graph
    return False


def IsInXLAContext(op: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether XLA compiles the op: never."""
    del op
    return False


__all__ = [
    "ENABLE_CONTROL_FLOW_V2",
    "EnableControlFlowV2",
    "GraphOrParentsInXlaContext",
    "IsInXLAContext",
]
