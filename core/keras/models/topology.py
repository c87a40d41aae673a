"""Topology: the calls of layers between the inputs and the outputs of a functional model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.tensor import Operands
from pinnace.keras import masks
from pinnace.keras.call_context import calls
from pinnace.keras.forms import in_form
from pinnace.keras.symbolic import KerasTensor, Node
from pinnace.ops.array import casting, reshaping

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer


class Topology:
    """What to call, in order, to get from inputs to outputs.

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
        self.inputs = inputs
        self.outputs = outputs
        self.flat_inputs: list[KerasTensor] = structure.flatten(inputs)
        self.flat_outputs: list[KerasTensor] = structure.flatten(outputs)
        self._begin = {id(x) for x in self.flat_inputs}
        self.nodes = self._ordered()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: the calls, which give the tensors, one after the other."""
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
        """The nodes between, each after those it needs."""
        begin = self._begin
        done: set[int] = set()
        order: list[Node] = []
        waiting: list[tuple[Any, bool]] = [(x, False) for x in reversed(self.flat_outputs)]
        while waiting:
            item, ready = waiting.pop()
            if ready:
                order.append(item)
                continue
            node = item.node
            if id(item) in begin or id(node) in done:
                continue
            if node is None or not node.inputs:
                raise ValueError(
                    f"Model: Output is not connected to `inputs`: {item!r} is needed for the "
                    f"outputs and is not among the inputs {self.flat_inputs}"
                )
            done.add(id(node))
            waiting.append((node, True))
            waiting.extend((x, False) for x in reversed(node.inputs))
        return order

    def layers(self) -> list[Layer]:
        """The layers, each once: what is furthest from the outputs first.

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
        for x in self.flat_inputs:  # those that nothing needs
            if x.node is not None and not x.node.inputs and id(x.node.layer) not in layers:
                layers[id(x.node.layer)] = x.node.layer
        return sorted(layers.values(), key=lambda x: (-far.get(id(x), 0), met.get(id(x), -1)))

    def _met(self) -> tuple[dict[int, int], list[Node]]:
        """Layers as they are met on the way from the outputs; nodes, each after those it needs."""
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
            ValueError: another number of inputs, or a missing name.
        """
        values = {
            id(x): fitted(value, x)
            for x, value in zip(self.flat_inputs, self._flat(given), strict=True)
        }

        told = calls.training is not None

        def value_of(x: Any) -> Any:
            return values[id(x)] if isinstance(x, KerasTensor) else x

        for node in self.nodes:
            args = structure.map_structure(value_of, node.args)
            kwargs = structure.map_structure(value_of, node.kwargs) if node.kwargs else {}
            if told and "training" in kwargs:
                # Keras: what the model is told counts, not what a layer was told before.
                del kwargs["training"]
            results = node.layer(*args, **kwargs)
            for x, result in zip(
                structure.flatten(node.outputs), structure.flatten(results), strict=True
            ):
                if isinstance(x, KerasTensor):
                    values[id(x)] = result
        return structure.map_structure(value_of, self.outputs)

    def _flat(self, given: Any) -> list[Any]:
        """The inputs in order: by name from a dict, else by place."""
        if isinstance(given, dict):
            names = (
                sorted(self.inputs)
                if isinstance(self.inputs, dict)
                else [x.name for x in self.flat_inputs]
            )
            missing = [name for name in names if name not in given]
            if missing:
                raise ValueError(
                    f"Model: inputs {', '.join(missing)} are missing, "
                    f"got {', '.join(sorted(given))}"
                )
            return [given[name] for name in names]
        flat = structure.flatten(given)
        if len(flat) != len(self.flat_inputs):
            raise ValueError(f"Model takes {len(self.flat_inputs)} inputs, got {len(flat)}")
        return flat


def fitted(value: Any, x: KerasTensor, *, any_sizes: bool = False) -> Any:
    """A value with the rank of the input it is for, if a last axis of size 1 is all that differs.

    Args:
        value: what the model is called on.
        x: the input.
        any_sizes: whether axes may have other sizes than those of the input.

    Raises:
        ValueError: its shape does not fit.
    """
    value = in_form(value, x.spec)
    if isinstance(value, KerasTensor) or not (isinstance(value, Operands) or is_composite(value)):
        return value
    shape, wanted = value.shape, x.shape
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
    raise ValueError(
        f"Model: input {x.name!r} must have shape {wanted.text}, got {kind.name}{shape.text}"
    )
