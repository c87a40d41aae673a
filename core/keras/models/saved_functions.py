"""The functions of a model in a SavedModel: signatures and call functions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.containers import ListWrapper
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import Function
from pinnace.functions.tracing import trace
from pinnace.keras.call_context import calls
from pinnace.keras.forms import dense_spec, with_open_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.keras.models.model import Model


def default_signatures(model: Model) -> dict[str, ConcreteFunction]:
    """serving_default: by input names, training=False; returns output_0, … or a dict's keys.

    Empty for a model that was never called and has traced functions: these are saved.
    """
    if model._call_specs is None and _has_functions(model):
        return {}
    named, rebuild = _named_inputs(model)

    def serve(**inputs: Any) -> dict[str, Any]:
        return _named_outputs(model(*rebuild(inputs), training=False))

    concrete, _ = trace(serve, (), named, "serving_default")
    concrete.by_name = True
    return {"serving_default": concrete}


def exported_signatures(model: Model) -> dict[str, ConcreteFunction]:
    """The endpoint `serve`, also as serving_default, with training=False.

    Its inputs have the names of the KerasTensors; without KerasTensors they are named after the
    positional arguments, args_0 and so on. The batch may have any size.

    Raises:
        ValueError: the model was never called.

    Source:
        Keras `export_utils.get_input_signature`; as there, sparse and ragged inputs are passed as
        dense tensors.
    """
    arguments = (_known_specs(model), *model._more_call_specs)
    topology = model._topology
    given = [x.name for x in topology.flat_inputs] if topology is not None else []
    specs = [
        TensorSpec((None, *spec.shape[1:]) if spec.shape.rank else spec.shape, spec.dtype, name)
        for spec, name in itertools.zip_longest(structure.flatten(arguments), given)
    ]

    def call(*args: Any) -> Any:
        return model(*args, training=False)

    signature = structure.pack_sequence_as(arguments, specs)
    serve = Function(call, signature, autograph=False, name="serve").get_concrete_function()
    return {"serve": serve, "serving_default": serve}


def functions_for_saving(model: Model) -> dict[str, Any]:
    """The functions of a restored model: `call` for the inputs' specs, variables and losses.

    `call` and `__call__` are one function, traced for both values of `training`. A loss is a
    function without arguments, since its value changes with the weights.
    """
    parts: dict[str, Any] = {
        "variables": ListWrapper(model.variables),
        "trainable_variables": ListWrapper(model.trainable_variables),
        "non_trainable_variables": ListWrapper(model.non_trainable_variables),
    }
    specs = model._call_specs
    if specs is None:
        return parts
    if calls.exporting:
        specs = structure.map_structure(with_open_batch, specs)

    def call(inputs: Any, training: bool = False) -> Any:
        return model(inputs, training=training)

    def call_with_more(*inputs: Any, training: bool = False) -> Any:
        return model(*inputs, training=training)

    more = model._more_call_specs
    function = Function(call_with_more if more else call, name="__call__")
    for form in _forms((specs, *more)):
        for training in (False, True):
            function.get_concrete_function(*form, training=training)
    losses = ListWrapper(_loss_functions(model))
    # Keras: exported models have the endpoint `serve`.
    served = {"serve": function} if calls.exporting else {}
    return {"__call__": function, "call": function, **served, **parts, "losses": losses}


def _forms(specs: Any) -> list[Any]:
    """The specs and, if some are sparse or ragged, also all of them dense."""
    composite = any(isinstance(spec, CompositeSpec) for spec in structure.flatten(specs))
    return [specs, structure.map_structure(dense_spec, specs)] if composite else [specs]


def _has_functions(model: Model) -> bool:
    """Whether some methods or attributes are the result of `function`."""
    own = [vars(kind).values() for kind in type(model).__mro__]
    return any(isinstance(x, Function) for x in itertools.chain(vars(model).values(), *own))


def _loss_functions(model: Model) -> list[Function]:
    """The weights' penalties as functions."""

    def function(index: int) -> Function:
        return Function(lambda: model._penalty_store.of_weights()[index], [], name=f"loss_{index}")

    return [function(index) for index in range(len(model._penalty_store.of_weights()))]


def _known_specs(model: Model) -> Any:
    if model._call_specs is None:
        raise ValueError(
            f"{model._described()} does not know its inputs yet\n"
            "  Try: call it on data, fit it, or begin a Sequential with Input(shape). "
            "It must be built"
        )
    return model._call_specs


def _named_inputs(model: Model) -> tuple[dict[str, TensorSpec], Callable[[dict[str, Any]], Any]]:
    """The inputs by name, and how to get the arguments of `call` from them.

    Source:
        Keras: a signature takes sparse and ragged inputs as dense tensors.
    """
    specs = _known_specs(model)
    more = model._more_call_specs
    flat = structure.flatten((specs, *more))
    if more:
        names = [f"args_{index}" for index in range(len(flat))]
    elif isinstance(specs, dict) and len(specs) == len(flat):
        names = [str(key) for key in sorted(specs)]
    else:
        names = [_name_of(model, index, spec) for index, spec in enumerate(flat)]
        if len(set(names)) < len(names) or "" in names:
            only = len(names) == 1
            names = ["inputs"] if only else [f"inputs_{i}" for i in range(len(names))]
    named = {
        name: TensorSpec.of(spec.shape, spec.dtype, name)
        for name, spec in zip(names, flat, strict=True)
    }

    def rebuild(inputs: dict[str, Any]) -> Any:
        return structure.pack_sequence_as((specs, *more), [inputs[name] for name in names])

    return named, rebuild


def _name_of(model: Model, index: int, spec: Any) -> str:
    """The name given to an input; empty if none was given."""
    if not isinstance(spec, CompositeSpec):
        return spec.name or ""
    inputs = model._topology.flat_inputs if model._topology is not None else []
    x = inputs[index] if index < len(inputs) else None
    given = x is not None and x.node is not None and getattr(x.node.layer, "_given_name", None)
    return x.name if x is not None and given else ""


def _named_outputs(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, dict):
        return {str(key): value for key, value in outputs.items()}
    return {f"output_{index}": y for index, y in enumerate(structure.flatten(outputs))}
