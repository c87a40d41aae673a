"""Networks in the bodies of loops: their guards, and the steps that run if a guard fails.

Inference seldom knows the shapes in a body, so those of one iteration are assumed for all. They
follow from the inputs of the network, from the shapes of its variables, and from sizes among its
steps' inputs: each call checks all three.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.networks.steady import find_steady
from pinnace.engine.source import locate
from pinnace.engine.steps import PlainPart, run_step
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.networks.region import Network
    from pinnace.engine.steps import Step
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most numbers of a value that each call compares: shapes, permutations and the like.
_MOST_SIZES = 64


class Guarded:
    """A network for the shapes of one iteration, with its steps for calls with other shapes.

    Args:
        network: the network for these shapes.
        nodes: the nodes of its steps.
        shapes: the shapes of its input tensors.
        variables: the fully known shapes of its variables.
        others: other inputs of its steps, with the value or shape that is assumed; None if neither.

    Attributes:
        misses: calls that had other shapes.
    """

    def __init__(
        self,
        network: Network,
        nodes: Sequence[Node],
        shapes: Sequence[tuple[int, ...]],
        variables: Sequence[Shape],
        others: Mapping[Value, Array | tuple[int, ...] | None],
    ) -> None:
        part = network.cluster
        self.cluster = PlainPart(part.members, [*part.inputs, *others], part.outputs)
        self.network = network
        self.misses = 0
        self._nodes = nodes
        self._shapes = list(shapes)
        self._variables = list(variables)
        self._count = len(part.inputs)
        checked = enumerate(others.values(), self._count)
        self._known = [(place, known) for place, known in checked if known is not None]
        # Resources whose shapes were checked: a resource's shape never changes.
        self._accepted: weakref.WeakSet[Any] = weakref.WeakSet()

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> Sequence[Array]:
        """The outputs of the network.

        Args:
            inputs: the part's inputs.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        if self._is_as_known(inputs):
            return self.network(inputs[: self._count], outs)
        self.misses += 1
        return self._one_by_one(inputs)

    def _is_as_known(self, inputs: Sequence[Array]) -> bool:
        tensors = len(self._shapes)
        if [one.shape for one in inputs[:tensors]] != self._shapes:
            return False
        for handle, shape in zip(inputs[tensors : self._count], self._variables, strict=True):
            resource = resource_of(handle)
            if resource not in self._accepted:
                if resource.shape != shape:
                    return False
                self._accepted.add(resource)
        return all(
            inputs[place].shape == known
            if isinstance(known, tuple)
            else np.array_equal(inputs[place], known)
            for place, known in self._known
        )

    def _one_by_one(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        values: dict[Value, Any] = dict(zip(self.cluster.inputs, inputs, strict=True))
        for node in self._nodes:
            try:
                run_step(node, values)
            except Exception as error:
                locate(error, node)
                raise
        return tuple(values[value] for value in self.cluster.outputs)


def guarded(
    network: Network,
    steps: Sequence[Step],
    watched: Mapping[Value, Array],
    variables: Collection[Value],
) -> Guarded | None:
    """A network with guards; None if its assumptions cannot be checked.

    Args:
        network: the network for the shapes of `watched`.
        steps: the steps of the body.
        watched: the array of every value in one iteration.
        variables: arguments that are variables whose values do not change.
    """
    part = network.cluster
    nodes = [steps[place].node for place in part.members]
    made = {value for node in nodes for value in node.outputs}
    steady = find_steady(steps, variables)
    others: dict[Value, Array | tuple[int, ...] | None] = {}
    for value in (value for node in nodes for value in node.inputs):
        if value in made or value in part.inputs or constant_of(value) is not None:
            continue
        array = np.asarray(watched[value])
        if value in steady or value in variables:
            others[value] = None  # it follows from variables, whose shapes are compared
        elif value in network.passed:
            others[value] = array.shape  # only the steps need it
        elif (value.dtype.is_integer or value.dtype is dtypes.bool) and array.size <= _MOST_SIZES:
            others[value] = array.copy()
        else:
            return None
    handles = [value for value in part.inputs if value.dtype is dtypes.resource]
    shapes = [resource_of(np.asarray(watched[value])).shape for value in handles]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None  # its size may change with an assignment
    tensors = part.inputs[: len(part.inputs) - len(handles)]
    inputs = [watched[one].shape for one in tensors]
    return Guarded(network, nodes, inputs, shapes, others)
