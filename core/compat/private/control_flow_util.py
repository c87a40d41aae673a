"""Inquiries about the form of control flow: it is version 2's, and there is no XLA."""

from __future__ import annotations

from typing import Any

ENABLE_CONTROL_FLOW_V2 = True


def EnableControlFlowV2(graph: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether the graph has While rather than Enter and Exit: all have."""
    del graph
    return True


def GraphOrParentsInXlaContext(graph: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether XLA will compile the graph: it is not here."""
    del graph
    return False


def IsInXLAContext(op: Any) -> bool:  # noqa: N802 -- TensorFlow's name
    """Whether XLA will compile the op: it is not here."""
    del op
    return False


__all__ = [
    "ENABLE_CONTROL_FLOW_V2",
    "EnableControlFlowV2",
    "GraphOrParentsInXlaContext",
    "IsInXLAContext",
]
