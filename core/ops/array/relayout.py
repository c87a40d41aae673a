"""Relayout: a tensor is divided over devices otherwise. Its value stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import ANY
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import OpCall, attr
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []


def _same(input: Array) -> Array:
    return input


def _gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (execute_one(RELAYOUT_LIKE, dy, call.inputs[0]),)


RELAYOUT = define(
    name="Relayout",
    signature="input: T -> output: T",
    types={"T": ANY},
    attrs={"layout": attr("string")},
    infer=same_as_input,
    kernel=_same,
    gradient=_gradient,
    alias=True,
)


def _same_as_first(input: Array, layout_input: Array) -> Array:  # noqa: ARG001 (its layout is asked)
    return input


def _like_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute_one(RELAYOUT_LIKE, dy, call.inputs[0]), None


RELAYOUT_LIKE = define(
    name="RelayoutLike",
    signature="input: T, layout_input: U -> output: T",
    types={"T": ANY, "U": ANY},
    infer=same_as_input,
    kernel=_same_as_first,
    gradient=_like_gradient,
    forwards=True,
)
