"""If and Case, also in stateless form: run one of several functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import GRADIENT_ABOVE, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []


def is_true(value: Array) -> bool:
    """The truth value for If: a number other than 0, a string or an array that is not empty."""
    if value.ndim:
        return bool(value.size)
    return bool(value[()])


def _if_kernel(
    cond: Array, input: tuple[Array, ...], *, then_branch: Any, else_branch: Any, ctx: RunContext
) -> tuple[Array, ...]:
    return ctx.bind(then_branch if is_true(cond) else else_branch)(input)


def _infer_if(call: InferCall) -> tuple[Shape, ...]:
    return _merged(call, (call.attrs["then_branch"], call.attrs["else_branch"]))


def _merged(call: InferCall, branches: Sequence[Any]) -> tuple[Shape, ...]:
    """The narrowest shapes that include the outputs of all branches."""
    given: tuple[Shape, ...] = call.attrs["output_shapes"]
    kinds = call.attrs["Tout"]
    if len(given) == len(kinds):
        return tuple(given)
    found: list[Shape] | None = None
    for branch in branches:
        outputs = branch.graph.outputs
        if tuple(value.dtype for value in outputs) != tuple(kinds):
            names = [value.dtype.name for value in outputs]
            call.fail(
                f"every branch must return {[kind.name for kind in kinds]}, "
                f"{branch.name} returns {names}"
            )
        shapes = [value.shape for value in outputs]
        found = (
            shapes
            if found is None
            else [a.most_specific_compatible_shape(b) for a, b in zip(found, shapes, strict=True)]
        )
    return tuple(found or ())


def _if(name: str, effect: Any) -> OpDef:
    return define(
        name=name,
        signature="cond: Tcond, input: (Tin) -> output: (Tout)",
        types={"Tcond": ANY},
        attrs={
            "Tin": attr("list(type)", default=()),
            "Tout": attr("list(type)", default=()),
            "then_branch": attr("func"),
            "else_branch": attr("func"),
            "output_shapes": attr("list(shape)", default=()),
        },
        infer=_infer_if,
        kernel=_if_kernel,
        gradient=GRADIENT_ABOVE,  # functions/backward.py builds graphs for it
        effect=effect,
        runs="branch",
    )


IF = _if("If", "write")
STATELESS_IF = _if("StatelessIf", None)


def _case_kernel(
    branch_index: Array, input: tuple[Array, ...], *, branches: tuple[Any, ...], ctx: RunContext
) -> tuple[Array, ...]:
    index = int(branch_index)
    # TensorFlow: an index out of range takes the last branch.
    return ctx.bind(branches[index if 0 <= index < len(branches) else -1])(input)


def _infer_case(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {None, 0}:
        call.fail("branch_index must be a scalar")
    return _merged(call, call.attrs["branches"])


def _case(name: str, effect: Any) -> OpDef:
    return define(
        name=name,
        signature="branch_index: int32, input: (Tin) -> output: (Tout)",
        attrs={
            "Tin": attr("list(type)", default=()),
            "Tout": attr("list(type)", default=()),
            "branches": attr("list(func)"),
            "output_shapes": attr("list(shape)", default=()),
        },
        infer=_infer_case,
        kernel=_case_kernel,
        gradient=GRADIENT_ABOVE,  # functions/backward.py builds graphs for it
        effect=effect,
        runs="branch",
    )


CASE = _case("Case", "write")
STATELESS_CASE = _case("StatelessCase", None)


def _fake_param_kernel(*, dtype: Any, shape: Shape) -> Array:
    sizes = (
        (0,) if shape.rank is None else tuple(0 if size is None else int(size) for size in shape)
    )
    if dtype.numpy.kind == "O":
        return np.full(sizes, None if dtype.name in {"resource", "variant"} else b"", object)
    return np.broadcast_to(np.zeros((), dtype.numpy), sizes)


# The output of a branch that returns nothing where another one returns a value; it is never read.
FAKE_PARAM = define(
    name="FakeParam",
    signature="-> output: dtype",
    types={"dtype": ANY},
    attrs={"shape": attr("shape")},
    infer=lambda call: Shape(call.attrs["shape"]),
    kernel=_fake_param_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
