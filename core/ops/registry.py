"""The table of ops, and the builders of the large families."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from pinnace.framework.dtypes import FLOATS, INDEX, NUMBERS, DType, int32
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.late_modules import LateModules
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops import batch_rules
from pinnace.ops.entries import make_entry
from pinnace.ops.execute import eager_kernel
from pinnace.ops.opdef import (
    GRADIENT_ABOVE,
    AttrDef,
    Gradient,
    InferCall,
    Kernel,
    OpDef,
    TypeSet,
    attr,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.ops.batch_rules import BatchRule

P = ParamSpec("P")
G = TypeVar("G", bound=Callable[..., tuple[Any, ...]])

_ops: dict[str, OpDef] = {}
# Modules of rarely used ops; importing one registers them.
later = LateModules()


def register(op: OpDef) -> OpDef:
    """Register `op`; set its eager entry, and its family by its folder."""
    return _put(op, sys._getframe(1).f_globals["__name__"])  # as `namedtuple` finds its module


def _registering(make: Callable[P, OpDef]) -> Callable[P, OpDef]:
    def define(*args: P.args, **fields: P.kwargs) -> OpDef:
        return _put(make(*args, **fields), sys._getframe(1).f_globals["__name__"])

    return define


# An `OpDef` of these fields, registered.
define = _registering(OpDef)


def gradient_of(*ops: OpDef) -> Callable[[G], G]:
    """A decorator: the function is the gradient of ops that are defined in a lower file.

    If two ops occur in each other's gradients, no order of files lets both calls run down. The
    lower op says GRADIENT_ABOVE, and its gradient is in the file of the ops that it uses.

    Raises:
        ValueError: an op has its gradient already.
    """

    def give(function: G) -> G:
        for op in ops:
            if op.gradient is not GRADIENT_ABOVE:
                raise ValueError(f"op {op.name!r} has a gradient already: {op.gradient!r}")
            op.gradient = function
        return function

    return give


def _put(op: OpDef, module: str) -> OpDef:
    if op.name in _ops:
        raise ValueError(f"op {op.name!r} is registered twice")
    op.eager = eager_kernel(op)
    op.entry = make_entry(op)
    op.batch = op.batch or _batch_rule_by_element(op)
    op.family = module.removeprefix("pinnace.ops.").partition(".")[0]
    _ops[op.name] = op
    return op


def _batch_rule_by_element(op: OpDef) -> BatchRule | None:
    """The batch rule of an op that treats each element independently."""
    if op.infer is one_shape:  # the backward ops of such ops
        return batch_rules.ALL_TILED
    if op.elementwise and op.infer is same_as_input and len(op.inputs) == 1:
        return batch_rules.AS_IT_IS_EXACTLY
    return batch_rules.BROADCAST_EXACTLY if op.elementwise and op.infer is broadcast else None


def lookup(name: str) -> OpDef:
    """The op with that name; UnimplementedError if it does not exist."""
    found = find(name)
    if found is None:
        raise UnimplementedError(f"op {name!r} is not implemented")
    return found


def find(name: str) -> OpDef | None:
    """The op of that name; None if it does not exist."""
    found = _ops.get(name)
    return later.find(lambda: _ops.get(name)) if found is None else found


def at_hand(name: str) -> OpDef | None:
    """The op of that name; None if its module has not been imported."""
    return _ops.get(name)


def registered() -> dict[str, OpDef]:
    """All ops by name, in alphabetical order."""
    later.import_all()
    return dict(sorted(_ops.items()))


def same_as_input(call: InferCall) -> Shape:
    """The shape of the first input."""
    return call.spec(0).shape


def broadcast(call: InferCall) -> Shape:
    """The shape all inputs broadcast to."""
    shape = call.spec(0).shape
    for index in range(1, len(call.inputs)):
        try:
            shape = broadcast_shapes(shape, call.spec(index).shape)
        except (ValueError, InvalidArgumentError):
            call.fail("shapes must broadcast: equal, or 1, axis by axis from the last")
    return shape


def one_shape(call: InferCall) -> Shape:
    """The common shape of all inputs, without broadcasting."""
    shape = call.spec(0).shape
    for index in range(1, len(call.inputs)):
        try:
            shape = shape.merge_with(call.spec(index).shape)
        except ValueError:
            call.fail("all inputs must have one shape")
    return shape


def scalar(_: InferCall) -> Shape:
    """A scalar."""
    return Shape(())


def unary(
    name: str,
    kernel: Kernel,
    gradient: Gradient,
    *,
    types: Iterable[DType] = FLOATS,
    signature: str = "x: T -> y: T",
    fuse: str | None = None,
    **traits: Any,
) -> OpDef:
    """An elementwise op with one input; a ufunc kernel can also fill a given array."""
    return OpDef(
        name=name,
        signature=signature,
        types={"T": frozenset(types)},
        infer=same_as_input,
        kernel=kernel,
        gradient=gradient,
        elementwise=True,
        out=isinstance(kernel, np.ufunc),
        fuse=fuse,
        **traits,
    )


def binary(
    name: str,
    kernel: Kernel,
    gradient: Gradient,
    *,
    types: Iterable[DType] = NUMBERS,
    signature: str = "x: T, y: T -> z: T",
    attrs: dict[str, AttrDef] | None = None,
    fuse: str | None = None,
    **traits: Any,
) -> OpDef:
    """An elementwise op with two inputs and broadcasting."""
    return OpDef(
        name=name,
        signature=signature,
        types={"T": frozenset(types)},
        attrs=attrs or {},
        infer=broadcast,
        kernel=kernel,
        gradient=gradient,
        elementwise=True,
        out=isinstance(kernel, np.ufunc),
        fuse=fuse,
        **traits,
    )


def backward(
    name: str,
    kernel: Kernel,
    gradient: Gradient,
    *,
    types: Iterable[DType] | TypeSet = FLOATS,
    signature: str = "y: T, dy: T -> z: T",
    attrs: dict[str, AttrDef] | None = None,
    fuse: str | None = None,
) -> OpDef:
    """The gradient of an elementwise op: two inputs without broadcasting."""
    return OpDef(
        name=name,
        signature=signature,
        types={"T": types if isinstance(types, TypeSet) else frozenset(types)},
        attrs=attrs or {},
        infer=one_shape,
        kernel=kernel,
        gradient=gradient,
        fuse=fuse,
    )


def comparison(
    name: str,
    kernel: Kernel,
    gradient: Gradient,
    *,
    types: Iterable[DType],
    attrs: dict[str, AttrDef] | None = None,
    fuse: str | None = None,
) -> OpDef:
    """An elementwise op from two inputs to bool, with broadcasting."""
    return binary(
        name,
        kernel,
        gradient,
        types=types,
        signature="x: T, y: T -> z: bool",
        attrs=attrs,
        fuse=fuse,
    )


def reduced_shape(call: InferCall) -> Shape:
    """The shape of input 0 without the axes in input 1, or with size 1 there for `keep_dims`."""
    shape = call.spec(0).shape
    axes = call.constant(1)
    keep = bool(call.attrs["keep_dims"])
    if shape.rank is None:
        return Shape(None)
    if axes is None:
        return Shape([None] * shape.rank) if keep else Shape(None)
    found = normal_axes(call, axes, shape.rank)
    if keep:
        return Shape([1 if axis in found else size for axis, size in enumerate(shape)])
    return Shape([size for axis, size in enumerate(shape) if axis not in found])


def normal_axes(call: InferCall, axes: Any, rank: int) -> frozenset[int]:
    """Axes counted from 0; negative ones count from the end."""
    found = set()
    for axis in np.asarray(axes).reshape(-1):
        if not -rank <= axis < rank:
            call.fail(f"axis must be in [{-rank}, {rank}), got {axis}")
        place = int(axis) % rank
        if place in found:
            call.fail(f"axis {place} is named twice")
        found.add(place)
    return frozenset(found)


def reduction(
    name: str,
    kernel: Callable[..., Any],
    gradient: Gradient,
    *,
    types: Iterable[DType] = NUMBERS,
    signature: str = "input: T, reduction_indices: Tidx -> output: T",
    **traits: Any,
) -> OpDef:
    """An op that reduces the axes in its second input.

    The kernel is called as `kernel(x, axes: tuple[int, ...], keep: bool)`.
    """

    def reduce_axes(x: Any, axes: Any, *, keep_dims: bool) -> Any:
        rank = x.ndim
        flat = axes.reshape(-1).tolist()
        for axis in flat:
            if not -rank <= axis < rank:
                raise InvalidArgumentError(
                    f"{name}: axis must be in [{-rank}, {rank}), got {axis}\n  input: rank {rank}"
                )
        places = sorted([axis % rank for axis in flat])
        if len(set(places)) != len(places):
            raise InvalidArgumentError(f"{name}: an axis is named twice in {flat}")
        return kernel(x, tuple(places), keep_dims)

    reduce_axes.__name__ = f"_{name.lower()}_kernel"
    type_sets: dict[str, TypeSet | frozenset[DType]] = {"Tidx": typed(INDEX, default=int32)}
    if re.search(r"\bT\b", signature):
        type_sets["T"] = frozenset(types)
    return OpDef(
        name=name,
        signature=signature,
        types=type_sets,
        attrs={"keep_dims": attr("bool", default=False)},
        infer=reduced_shape,
        kernel=reduce_axes,
        gradient=gradient,
        batch=batch_rules.ALONG_AXES,
        **traits,
    )
