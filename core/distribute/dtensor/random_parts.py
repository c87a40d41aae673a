"""Random numbers of a tensor that is divided: each part draws its own, as in TensorFlow.

What draws numbers from a key and is to be divided (by a Relayout behind it, or by
`call_with_layout`) draws them part by part, each with a key of its own.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.dtensor.layout import UNSHARDED, Layout
from pinnace.distribute.dtensor.relayouts import target
from pinnace.framework.tensor import Tensor, wrap
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.array.relayout import RELAYOUT
from pinnace.ops.execute import run_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value
    from pinnace.ops.opdef import OpDef

# The inputs of ops that draw numbers one by one, from a key.
_KEYED = ["shape", "key", "counter", "alg"]
_LIMITED = [*_KEYED, "minval", "maxval"]
# TensorFlow's numbers: the key of a part is that of the whole, exclusive or with these.
_FIRST, _STEP = 65521, 65536


class _Wanted(threading.local):
    layout: Layout | None = None


_wanted = _Wanted()


@contextlib.contextmanager
def results_wanted(layout: Layout) -> Iterator[None]:
    """A block in which the results of functions are to have that layout."""
    saved, _wanted.layout = _wanted.layout, layout
    try:
        yield
    finally:
        _wanted.layout = saved


def run_with_parts(
    run: Callable[[Sequence[Any]], Sequence[Any]], graph: Graph, tensors: Sequence[Tensor]
) -> Sequence[Array]:
    """The results of a graph; numbers that are to be divided are drawn part by part.

    Args:
        run: runs its plan on arrays.
        graph: the graph.
        tensors: what it is given.
    """
    divided = _divided(graph)
    if not divided:
        return run([np.asarray(x._array) for x in tensors])
    values: dict[Value, Tensor] = dict(zip(graph.inputs, tensors, strict=True))
    for node in ordered(graph):
        if node.op is PLACEHOLDER and node.outputs[0] in values:
            continue
        given = [wrap(values[one]._array, one.dtype) for one in node.inputs]
        inputs = node.op.pack_inputs(given, node.attrs)
        layout = divided.get(node)
        outputs = (
            run_kernel(node.op, inputs, dict(node.attrs))
            if layout is None
            else (drawn(node, inputs, layout),)
        )
        values.update(zip(node.outputs, outputs, strict=True))
    return [values[one]._array for one in graph.outputs]


def _draws(op: OpDef) -> bool:
    return [arg.name for arg in op.inputs] in (_KEYED, _LIMITED)


def _divided(graph: Graph) -> dict[Node, Layout]:
    """The nodes that draw numbers which are to be divided, and their layouts."""
    if not any(_draws(node.op) for node in graph.nodes):
        return {}
    wanted: dict[Value, Layout] = {}
    if _wanted.layout is not None:
        wanted.update(dict.fromkeys(graph.outputs, _wanted.layout))
    for node in reversed(ordered(graph)):
        if node.op is RELAYOUT:
            shape = node.outputs[0].spec.shape
            wanted[node.inputs[0]] = target(node.attrs["layout"], None, shape.rank)
        elif node.op.elementwise and node.outputs[0] in wanted:
            shape = node.outputs[0].spec.shape
            for value in node.inputs:
                if value.spec.shape.rank == shape.rank:
                    wanted.setdefault(value, wanted[node.outputs[0]])
    return {
        node: wanted[node.outputs[0]]
        for node in graph.nodes
        if _draws(node.op)
        and node.outputs[0] in wanted
        and not wanted[node.outputs[0]].is_fully_replicated()
    }


def drawn(node: Node, inputs: Sequence[Any], layout: Layout) -> Tensor:
    """The whole of the parts that a node draws.

    Args:
        node: the node.
        inputs: shape, key, counter, algorithm, and maybe limits.
        layout: how what it draws is divided.
    """
    sizes = [int(size) for size in inputs[0]._array]
    if len(sizes) != layout.rank or any(
        size % layout.num_shards(axis) for axis, size in enumerate(sizes)
    ):
        return run_kernel(node.op, tuple(inputs), dict(node.attrs))[0]
    local = layout.local_shape_from_global_shape(sizes)
    part = wrap(np.asarray(local, inputs[0]._array.dtype))
    whole: Array | None = None
    for number, shard in _numbered(layout):
        key = inputs[1]._array ^ np.uint64(_FIRST + _STEP * number)
        given = (part, wrap(np.asarray(key)), *inputs[2:])
        array = run_kernel(node.op, given, dict(node.attrs))[0]._array
        if whole is None:
            whole = np.empty(sizes, array.dtype)
        place = zip(shard, local, strict=True)
        whole[tuple(slice(i * size, (i + 1) * size) for i, size in place)] = array
    assert whole is not None  # noqa: S101 (a mesh has a device)
    return wrap(whole)


def _numbered(layout: Layout) -> list[tuple[int, tuple[int, ...]]]:
    """Each part once: its number, and its index along each axis.

    Parts are counted along the mesh's dimensions, the first the fastest.
    """
    step, steps = 1, {}
    for name, size in zip(layout.mesh.dim_names, layout.mesh.shape(), strict=True):
        if name in layout.specs:
            steps[name] = step
            step *= size
    axes = [steps.get(spec, 0) if spec != UNSHARDED else 0 for spec in layout.specs]
    shards = dict.fromkeys(layout.offset_to_shard())
    return [(sum(a * i for a, i in zip(axes, s, strict=True)), s) for s in shards]
