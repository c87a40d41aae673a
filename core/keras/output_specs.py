"""The specs of a layer's outputs, given only the specs of its inputs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.functions.tracing import trace
from pinnace.keras import masks
from pinnace.keras.call_context import calls
from pinnace.keras.call_signature import CallSignature, as_shapes, as_specs
from pinnace.keras.forms import is_spec
from pinnace.keras.symbolic import KerasTensor, Node, spec_of

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer


def symbolic(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """KerasTensors for the outputs of a call, which is recorded as a node of the layer."""
    specs = layer.compute_output_spec(*args, **kwargs)
    node = Node(layer, args, kwargs)

    def output(spec: Any) -> Any:
        spec = spec_of(spec)
        if not is_spec(spec):
            return spec
        tensor = KerasTensor.of_spec(spec)
        tensor.node = node
        return tensor

    node.outputs = structure.map_structure(output, specs)
    masks.foresee(layer, args, kwargs, node.outputs)
    layer._inbound_nodes.append(node)
    return node.outputs


def traced(layer: Layer, specs: tuple[Any, ...], options: dict[str, Any], given: Any = None) -> Any:
    """The specs of `call`'s result, found by tracing; `given` may carry masks."""
    outer, known = state.scope, masks.foreseen(given or (specs, options))

    def call(held: Any, *inputs: Any, **others: Any) -> Any:
        state.scope = outer  # weights get the same names as in a call from here
        masks.attach((inputs, others), held)
        return layer(*inputs, **others)

    saved, calls.inferring_specs = calls.inferring_specs, True
    try:
        concrete, _ = trace(call, (known, *specs), options, f"{layer._name}_shapes")
    finally:
        calls.inferring_specs = saved
    if calls.entry is None:
        layer._penalty_store.begin()  # discard the losses of this trace
    layer._output_specs = concrete.structured_outputs
    return concrete.structured_outputs


def by_shapes(layer: Layer, specs: tuple[Any, ...]) -> Any:
    """The specs of the outputs, from the subclass's `compute_output_shape`."""
    if not layer.built:
        layer._build_for(CallSignature(type(layer).call), specs, {})
    given = [as_shapes(spec) for spec in specs]
    # Its parameters may omit the optional inputs of `call`.
    shapes = layer.compute_output_shape(*given[: _taken(layer.compute_output_shape)])
    found = as_specs(shapes, layer.compute_dtype)
    layer._output_specs = found
    return found


def _taken(function: Any) -> int | None:
    """The number of positional arguments of a function; None for any number."""
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(kind in places for kind in kinds)
