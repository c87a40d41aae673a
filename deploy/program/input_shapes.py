"""Shapes of inputs that the model leaves unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import as_shape
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.graph import Graph
from pinnace.graph.narrowing import narrowed


def with_shapes(concrete: ConcreteFunction, shapes: Mapping[str, Any]) -> ConcreteFunction:
    """Specialise the function for given input shapes.

    Args:
        concrete: the function, which is not changed.
        shapes: by input name; if empty, the function is returned unchanged.

    Raises:
        InvalidArgumentError: an input does not exist, or cannot have the shape.
    """
    if not shapes:
        return concrete
    graph = concrete.graph
    count = len(graph.inputs) - len(concrete.captured)
    if concrete.by_name:
        names = sorted(concrete.structured_input_signature[1])
    else:
        names = list(graph.input_names[:count])
    for name in shapes:
        if name not in names:
            raise InvalidArgumentError(
                f"export: there is no input {name!r}; the inputs are: {', '.join(names)}"
            )
    wanted = []
    for name, value in zip(names, graph.inputs, strict=False):
        shape = as_shape(shapes[name]) if name in shapes else value.shape
        if not value.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"export: input {name!r} is {value.spec.text}, not of shape {shape.text}"
            )
        wanted.append(shape)
    wanted += [value.shape for value in graph.inputs[count:]]
    try:
        made = narrowed(graph, wanted)
    except InvalidArgumentError as error:
        listed = ", ".join(f"{name} {as_shape(shapes[name]).text}" for name in shapes)
        raise InvalidArgumentError(
            f"export: the model does not take inputs of the shapes {listed}: {error.message}"
        ) from error
    if not concrete.by_name:
        return _by_name(concrete, made, names)
    inputs = zip(names, made.inputs, strict=False)
    outputs = zip(sorted(concrete.structured_outputs), made.outputs, strict=True)
    return ConcreteFunction(
        made,
        concrete.captured,
        ((), {name: value.spec.with_name(name) for name, value in inputs}),
        {name: value.spec.with_name(name) for name, value in outputs},
        concrete.variables,
        by_name=True,
    )


def _by_name(concrete: ConcreteFunction, graph: Graph, names: Sequence[str]) -> ConcreteFunction:
    """The traced function in the form that the export needs: flat inputs and results."""
    specs = {name: value.spec for name, value in zip(names, graph.inputs, strict=False)}
    results = [value.spec for value in graph.outputs]
    return ConcreteFunction(
        graph, concrete.captured, (tuple(specs.values()), {}), results, concrete.variables
    )
