"""Topology: the calls of layers between a functional model's inputs and outputs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands
from pinnace.keras import masks
from pinnace.keras.call_context import calls
from pinnace.keras.forms import in_form
from pinnace.keras.layers.input import InputLayer
from pinnace.keras.models.given_inputs import in_order, path_of
from pinnace.keras.symbolic import KerasTensor, Node
from pinnace.ops.array import casting, reshaping

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer


class Topology:
    """The calls, in order, from inputs to outputs.

    Args:
        inputs: a structure of KerasTensors.
        outputs: a structure of KerasTensors.

    Raises:
        ValueError: something else than KerasTensors; an output that needs another input.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        for name, given in (("inputs", inputs), ("outputs", outputs)):
            for x in structure.flatten(given):
                if not isinstance(x, KerasTensor):
                    raise ValueError(  # noqa: TRY004 (Keras raises it too)
                        f"Model: All `{name}` values must be KerasTensors, from Input and from "
                        f"layers called on them, got {type(x).__name__}: {x!r:.100}"
                    )
        inputs, outputs = _with_own_inputs(inputs, outputs)
        self.inputs = inputs
        self.outputs = outputs
        self.flat_inputs: list[KerasTensor] = structure.flatten(inputs)
        self.flat_outputs: list[KerasTensor] = structure.flatten(outputs)
        self._begin = {id(x) for x in self.flat_inputs}
        self.nodes = self._ordered()

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle and deepcopy: the calls, from which tensors are recreated."""
        first = [x.node for x in self.flat_inputs]
        return {"inputs": self.inputs, "outputs": self.outputs, "nodes": self.nodes, "first": first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.inputs, self.outputs, self.nodes = state["inputs"], state["outputs"], state["nodes"]
        self.flat_inputs = structure.flatten(self.inputs)
        self.flat_outputs = structure.flatten(self.outputs)
        self._begin = {id(x) for x in self.flat_inputs}
        for node in (*state["first"], *self.nodes):
            if node is None:
                continue
            for x in structure.flatten(node.outputs):
                if isinstance(x, KerasTensor):
                    x.node = node
            if not any(known is node for known in node.layer._inbound_nodes):
                node.layer._inbound_nodes.append(node)

    def _ordered(self) -> list[Node]:
        """The nodes between inputs and outputs, in topological order."""

        def refuse(x: KerasTensor) -> None:
            raise ValueError(
                f"Model: {self._output_needing(x)} is not connected to `inputs`: {x!r} "
                f"is needed for the outputs and is not among the inputs {self.flat_inputs}"
            )

        return _between(self.flat_outputs, self._begin, refuse)

    def _output_needing(self, missing: KerasTensor) -> str:
        """`Output with path …`: the first output that cannot be computed without a tensor."""
        for path, output in structure.flatten_with_paths(self.outputs):
            waiting, seen = [output], set[int]()
            while waiting:
                x = waiting.pop()
                if x is missing and path:
                    return f"Output with path `{'.'.join(map(str, path))}`"
                if x.node is not None and id(x.node) not in seen and id(x) not in self._begin:
                    seen.add(id(x.node))
                    waiting.extend(x.node.inputs)
        return "Output"

    def layers(self) -> list[Layer]:
        """The layers without duplicates: those furthest from the outputs first.

        Source:
            Keras: files and optimizers rely on the order. Of layers equally far, the one that is
            met first on the way from the outputs comes first.
        """
        met, ordered = self._met()
        depths: dict[int, int] = {}
        layers: dict[int, Layer] = {}
        far: dict[int, int] = {}
        for node in reversed(ordered):
            key = id(node.layer)
            depth = max(depths.get(id(node), 0), far.get(key, 0))
            layers[key], far[key] = node.layer, depth
            for parent in self._parents(node):
                depths[id(parent)] = max(depths.get(id(parent), 0), depth + 1)
        for x in self.flat_inputs:  # inputs that nothing uses
            if x.node is not None and not x.node.inputs and id(x.node.layer) not in layers:
                layers[id(x.node.layer)] = x.node.layer
        return sorted(layers.values(), key=lambda x: (-far.get(id(x), 0), met.get(id(x), -1)))

    def _met(self) -> tuple[dict[int, int], list[Node]]:
        """Layers in the order of their discovery from the outputs; nodes in topological order."""
        met: dict[int, int] = {}
        done: set[int] = set()
        ordered: list[Node] = []
        waiting: list[tuple[Node, bool]] = []

        def start(x: KerasTensor) -> None:
            if x.node is not None and not (x.node.inputs and id(x) in self._begin):
                waiting.append((x.node, False))

        for output in reversed(self.flat_outputs):
            start(output)
        while waiting:
            node, ready = waiting.pop()
            if ready:
                ordered.append(node)
                continue
            if id(node) in done:
                continue
            done.add(id(node))
            met.setdefault(id(node.layer), len(met))
            waiting.append((node, True))
            for x in reversed(node.inputs):
                start(x)
        return met, ordered

    def _parents(self, node: Node) -> list[Node]:
        return [
            x.node
            for x in node.inputs
            if x.node is not None and not (x.node.inputs and id(x) in self._begin)
        ]

    def run(self, given: Any) -> Any:
        """The outputs for these inputs.

        Raises:
            ValueError: wrong number of inputs, or a missing name.
        """
        ordered = in_order(self.inputs, self.flat_inputs, given)
        values = {
            id(x): fitted(value, x, place=(self.inputs, i))
            for i, (x, value) in enumerate(zip(self.flat_inputs, ordered, strict=True))
        }

        told = calls.training is not None

        def value_of(x: Any) -> Any:
            return values[id(x)] if isinstance(x, KerasTensor) else x

        for node in self.nodes:
            args = structure.map_structure(value_of, node.args)
            kwargs = structure.map_structure(value_of, node.kwargs) if node.kwargs else {}
            if told and "training" in kwargs:
                # Keras: the model's `training` overrides the value a layer was called with before.
                del kwargs["training"]
            results = node.layer(*args, **kwargs)
            for x, result in zip(
                structure.flatten(node.outputs), structure.flatten(results), strict=True
            ):
                if isinstance(x, KerasTensor):
                    values[id(x)] = result
        return structure.map_structure(value_of, self.outputs)


def _with_own_inputs(inputs: Any, outputs: Any) -> tuple[Any, Any]:
    """The inputs and outputs, with a new Input for each input that a layer computes.

    So a model from an intermediate tensor of another one has an input layer of its own: it can be
    saved and cloned.

    Source:
        Keras: names of the inputs.
    """
    own: dict[int, KerasTensor] = {}
    for x in structure.flatten(inputs):
        if x.node is not None and x.node.inputs:
            made = InputLayer(
                batch_shape=x.spec.shape.dims,
                dtype=x.dtype,
                sparse=x.sparse,
                ragged=x.ragged,
                name=f"{x.name}CLONE",
            ).output
            made.mask_spec = x.mask_spec
            own[id(x)] = made
    if not own:
        return inputs, outputs
    begin = {id(x) for x in structure.flatten(inputs)}

    def changed(x: Any) -> Any:
        return own.get(id(x), x)

    for node in _between(structure.flatten(outputs), begin):
        again = Node(
            node.layer,
            structure.map_structure(changed, node.args),
            structure.map_structure(changed, node.kwargs) if node.kwargs else {},
        )
        for x in structure.flatten(node.outputs):
            if isinstance(x, KerasTensor):
                own[id(x)] = _twin(x, again)
        again.outputs = structure.map_structure(changed, node.outputs)
        node.layer._inbound_nodes.append(again)
    return structure.map_structure(changed, inputs), structure.map_structure(changed, outputs)


def _between(
    outputs: list[KerasTensor],
    begin: set[int],
    unconnected: Callable[[KerasTensor], None] | None = None,
) -> list[Node]:
    """The nodes from some tensors to the outputs, each after those it needs.

    Args:
        outputs: the outputs where they end.
        begin: the ids of the tensors where they begin.
        unconnected: is told each other tensor that no node gives.
    """
    done: set[int] = set()
    order: list[Node] = []
    waiting: list[tuple[Any, bool]] = [(x, False) for x in reversed(outputs)]
    while waiting:
        item, ready = waiting.pop()
        if ready:
            order.append(item)
            continue
        node = item.node
        if id(item) in begin or id(node) in done:
            continue
        if node is not None and node.inputs:
            done.add(id(node))
            waiting.append((node, True))
            waiting.extend((x, False) for x in reversed(node.inputs))
        elif unconnected is not None:
            unconnected(item)
    return order


def _twin(x: KerasTensor, node: Node) -> KerasTensor:
    """A tensor like this one, as another call's output."""
    made = copy.copy(x)
    made.name = f"{x.name}_clone"
    made.node = node
    return made


def fitted(
    value: Any, x: KerasTensor, *, any_sizes: bool = False, place: tuple[Any, int] | None = None
) -> Any:
    """A value with the rank of the input it is for, if a last axis of size 1 is all that differs.

    Args:
        value: the model's input.
        x: the input.
        any_sizes: whether axes may have other sizes than those of the input.
        place: the inputs of the model in their structure, and which of them it is, for the message.

    Raises:
        ValueError: its shape does not fit.
    """
    value = in_form(value, x.spec)
    if isinstance(value, KerasTensor) or not (isinstance(value, Operands) or is_composite(value)):
        return value
    # Keras: the batch size of an Input matters to stateful layers; a model takes any batch.
    shape, wanted = value.shape, x.spec.shape
    if wanted.rank:
        wanted = Shape((None, *wanted[1:]))
    kind = value.dtype
    if kind is not x.dtype and kind.is_numeric and x.dtype.is_numeric:
        mask = masks.mask_of(value)
        value = casting.cast(value, x.dtype)
        masks.attach(value, mask)
    if shape.rank is None or wanted.is_compatible_with(shape):
        return value
    if any_sizes and wanted.rank == shape.rank:
        return value
    if wanted.rank == shape.rank + 1 and wanted[-1] == 1:
        return reshaping.expand_dims(value, -1)
    if wanted.rank == shape.rank - 1 and shape[-1] == 1:
        return reshaping.squeeze(value, [-1])
    if wanted.rank == shape.rank:
        raise ValueError(
            f"Model: input {x.name!r} must have shape {wanted.text}, got {kind.name}{shape.text}: "
            f"expected shape={tuple(wanted)}, found shape={tuple(shape)}"
        )
    at = "" if place is None else f" and path {path_of(*place)!r}"
    raise ValueError(
        f"Model: input with name {x.name!r}{at} must have shape {wanted.text}, "
        f"got {kind.name}{shape.text}"
    )
