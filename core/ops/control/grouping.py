"""Nodes that order or group others: NoOp, group, control_dependencies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import is_composite
from pinnace.framework.context import state
from pinnace.ops import flops
from pinnace.ops.array.identities import identity
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["control_dependencies", "group", "group_tuple", "no_op"]


def no_op(name: str | None = None) -> None:
    """An op that does nothing, as a node for control edges."""
    execute(NO_OP, name=name)


def group(*inputs: Any, name: str | None = None) -> None:
    """Does nothing beyond computing its inputs, since effects happen in program order.

    Args:
        *inputs: tensors or operations; ignored.
        name: name of the node while tracing.
    """
    del inputs
    if state.tracer is not None:
        no_op(name)


def group_tuple(
    tensors: Iterable[Any], control_inputs: Any = None, name: str | None = None
) -> list[Any]:
    """The tensors, available after all of them are computed; effects are ordered anyway.

    Args:
        tensors: tensors, composite values or None.
        control_inputs: accepted for TensorFlow's sake.
        name: accepted for TensorFlow's sake.

    Returns:
        A list with the same values.

    Raises:
        ValueError: no tensor is given.
    """
    del name, control_inputs
    found = list(tensors)
    if all(one is None for one in found):
        raise ValueError(f"tuple: tensors must hold at least one tensor, got {found}")
    return [one if one is None or is_composite(one) else identity(one) for one in found]


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Accepted for TensorFlow's sake: effects always happen in program order."""
    del control_inputs
    yield


NO_OP = define(
    name="NoOp",
    signature="->",
    infer=lambda _: (),
    kernel=lambda: None,
    gradient=NOT_DIFFERENTIABLE,
    traceless=True,
    flops=flops.none,
)
