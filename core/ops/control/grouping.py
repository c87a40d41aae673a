"""Nodes that only order or group others: NoOp, group, control_dependencies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["control_dependencies", "group", "no_op"]


def no_op(name: str | None = None) -> None:
    """Does nothing; a node to hang control edges on."""
    execute(NO_OP, name=name)


def group(*inputs: Any, name: str | None = None) -> None:
    """Does nothing more than what made its inputs: effects already happen in program order."""
    del inputs
    if state.tracer is not None:
        no_op(name)


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Accepted for TensorFlow's sake: effects already happen in the order they are written."""
    del control_inputs
    yield


NO_OP = register(
    OpDef(
        name="NoOp",
        signature="->",
        infer=lambda _: (),
        kernel=lambda: None,
        gradient=NOT_DIFFERENTIABLE,
    )
)
