"""How ops and graphs run whose inputs have layouts: on whole values; their results get layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute.dtensor.layout import UNSHARDED, Layout
from pinnace.distribute.dtensor.propagation.calls import Operand
from pinnace.distribute.dtensor.propagation.graphs import output_layouts, resolved
from pinnace.distribute.dtensor.propagation.nodes import one_mesh, placed
from pinnace.distribute.dtensor.random_parts import run_with_parts
from pinnace.distribute.dtensor.relayouts import target
from pinnace.distribute.dtensor.scopes import present_mesh
from pinnace.distribute.dtensor.values import DTensorHandle, check_fits, lay_out, layout_of
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.array.relayout import RELAYOUT, RELAYOUT_LIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.distribute.dtensor.mesh import Mesh
    from pinnace.graph.graph import Graph
    from pinnace.ops.opdef import OpDef

# Integers of fewer elements than this are on every device without being told to.
_FEW = 20
# What changes layouts, and takes tensors without one, and of several meshes.
_RELAID = frozenset({RELAYOUT, RELAYOUT_LIKE})


def run_op_laid_out(
    run: Callable[..., tuple[Tensor, ...]],
    op: OpDef,
    inputs: tuple[Any, ...],
    attrs: dict[str, Any],
) -> tuple[Tensor, ...]:
    """Run an op eagerly, and give its results the layouts that follow from those of its inputs.

    Args:
        run: runs it as if nothing had a layout.
        op: the op.
        inputs: its inputs, as `execute` resolved them.
        attrs: its attributes.

    Raises:
        UnknownError: the inputs are on two meshes.
        UnimplementedError: a tensor without a layout beside those with one, unless it is small.
    """
    flat: list[Tensor] = []
    for value in inputs:
        flat.extend(value) if type(value) is tuple else flat.append(value)
    found = [layout_of(x) for x in flat]
    if op in _RELAID:
        return _relaid(run, op, inputs, attrs, found)
    mesh = one_mesh(op.name, found)
    if mesh is None:
        mesh = present_mesh()
        if mesh is None:
            return run(op, inputs, attrs)
    _check_regular(op.name, flat, found)
    outputs = run(op, inputs, attrs)
    if not outputs or all(type(x) is not Tensor for x in outputs):
        return outputs
    if op.runs is not None:
        results = _of_function(attrs, found, outputs, mesh)
    else:
        operands = [_operand(x, layout) for x, layout in zip(flat, found, strict=True)]
        sizes = [x._array.shape for x in outputs]
        results = placed(op, operands, attrs, sizes, mesh)
    for tensor, layout in zip(outputs, results, strict=True):
        if type(tensor) is Tensor:
            lay_out(tensor, layout)
    return outputs


def _operand(x: Tensor, layout: Layout | None) -> Operand:
    if type(x) is DTensorHandle:
        return Operand(x._layout.specs, tuple(x._array[()].shape), None)
    array = x._array
    specs = (UNSHARDED,) * array.ndim if layout is None else layout.specs
    return Operand(specs, array.shape, array if array.dtype.kind in "iu" else None)


def _relaid(
    run: Callable[..., tuple[Tensor, ...]],
    op: OpDef,
    inputs: tuple[Any, ...],
    attrs: dict[str, Any],
    found: Sequence[Layout | None],
) -> tuple[Tensor, ...]:
    shape = inputs[0]._array.shape
    if op is RELAYOUT:
        # As in TensorFlow, a layout of another rank stands for that of any if nothing is divided.
        rank = len(shape) if found[0] is None else None
        layout: Layout | None = target(attrs["layout"], found[0], rank)
    else:
        layout = found[1] if found[1] is not None else found[0]
    outputs = run(op, inputs, attrs)
    if layout is not None:
        check_fits(op.name, shape, layout)
        lay_out(outputs[0], layout)
    return outputs


def _check_regular(what: str, flat: Sequence[Tensor], found: Sequence[Layout | None]) -> None:
    """Refuse tensors without a layout that are neither scalars nor few integers or strings."""
    for index, (x, layout) in enumerate(zip(flat, found, strict=True)):
        if layout is not None or type(x) is not Tensor:
            continue
        array = x._array
        if (
            array.ndim
            and array.dtype.kind != "O"
            and not (array.dtype.kind in "iu" and array.itemsize >= 4 and array.size < _FEW)
        ):
            raise UnimplementedError(
                f"The op/function {what} got a regular tensor for input {index} (shape "
                f"{list(array.shape)}) but was expecting a DTensor. Currently only scalars and "
                "small integer/string tensors are auto-broadcast to DTensors. For other tensors, "
                "please use copy_to_mesh to make a DTensor explicitly; note that this may be slow "
                "if it happens frequently."
            )


def _of_function(
    attrs: dict[str, Any],
    found: Sequence[Layout | None],
    outputs: Sequence[Tensor],
    mesh: Mesh,
) -> list[Layout]:
    sizes = [x._array.shape for x in outputs]
    called = attrs.get("f")
    given: Sequence[Layout | None] = (None,) * len(outputs)
    if called is not None:
        given = output_layouts(called.graph, tuple(found), mesh)
    return resolved(given, sizes, mesh)


def run_graph_laid_out(
    run: Callable[[Sequence[Any]], Sequence[Any]], graph: Graph, tensors: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Run a graph on whole values; its results have the layouts that follow from those it is given.

    Args:
        run: runs its plan on arrays.
        graph: the graph.
        tensors: what it is given.

    Raises:
        UnknownError, UnimplementedError: as of `run_op_laid_out`.
    """
    found = tuple(layout_of(x) for x in tensors)
    mesh = one_mesh(graph.name, found) or present_mesh()
    if mesh is not None:
        _check_regular(graph.name, tensors, found)
    arrays = run_with_parts(run, graph, tensors)
    outputs = tuple(
        wrap(array, value.spec.dtype) for array, value in zip(arrays, graph.outputs, strict=True)
    )
    given = output_layouts(graph, found, mesh)
    if mesh is None:
        mesh = next((layout.mesh for layout in given if layout is not None), None)
    if mesh is not None:
        results = resolved(given, [x._array.shape for x in outputs], mesh)
        for tensor, layout in zip(outputs, results, strict=True):
            if type(tensor) is Tensor:
                lay_out(tensor, layout)
    return outputs
