"""check_layer: the properties of every layer, checked in one call."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnace.autodiff.tape import GradientTape
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import function
from pinnace.keras.layer import Layer
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from pinnace.ops.math.reduction import reduce_sum

_SPEC = re.compile(r"(\w+)\[(.*)\]")


def check_layer(
    layer: Layer,
    x: Any,
    weights: Mapping[str, Sequence[int]] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    training: bool | None = None,
    gradient: bool = True,
    low: float = -1.0,
    high: float = 1.0,
    rtol: float = 1e-5,
) -> None:
    """Check the common properties of a layer.

    Its inferred shapes are the actual ones; traced and eager calls agree; its gradient is the
    finite difference; it can be rebuilt from its configuration; its weights can be read and
    written.

    Args:
        layer: a layer that is not built yet.
        x: its input: `"float32[?, 5]"`, an array, or a list of these.
        weights: the name of each weight, without the layer's, and its shape, in order.
        reference: computes the expected output in float64 from the inputs and the weights.
        training: the argument of the call.
        gradient: whether the layer is differentiable.
        low: lower bound of random values for `x`.
        high: exclusive upper bound of random values.
        rtol: of comparisons with `reference`.
    """
    generator = np.random.default_rng(5)
    specs = structure.map_structure(_spec, x)
    inputs = structure.map_structure(lambda one: _drawn(one, generator, low, high), x)
    told = {} if training is None else {"training": training}

    inferred = layer.compute_output_spec(specs, **told)
    assert layer.built, "a layer is built once its shapes are inferred"
    if weights is not None:
        _check_names(layer, weights)
    state = [np.asarray(value) for value in (v.numpy() for v in layer.variables)]
    outputs = layer(inputs, **told)
    _check_specs(inferred, outputs)
    _restore(layer, state)

    traced = function(lambda *args: layer(structure.pack_sequence_as(inputs, list(args)), **told))
    again = traced(*[convert_to_tensor(one) for one in structure.flatten(inputs)])
    _check_equal(again, outputs, "traced and eager calls differ", rtol=1e-6)
    _restore(layer, state)

    if reference is not None:
        wide = [v.astype(np.float64) for v in layer.get_weights()]
        wanted = reference(*[_wide(one) for one in structure.flatten(inputs)], *wide)
        _check_equal(outputs, wanted, "the reference differs", rtol=rtol)
    _check_round_trips(layer, inputs, outputs, told, state)
    if gradient:
        _check_gradient(layer, inputs, told, generator)


def _spec(one: Any) -> TensorSpec:
    if not isinstance(one, str):
        return TensorSpec((None, *np.asarray(one).shape[1:]), np.asarray(one).dtype)
    found = _SPEC.fullmatch(one)
    assert found, f"a spec looks like float32[?, 5], got {one!r}"
    sizes = [
        None if size.strip() == "?" else int(size) for size in found[2].split(",") if size.strip()
    ]
    return TensorSpec(sizes, found[1])


def _drawn(one: Any, generator: np.random.Generator, low: float, high: float) -> NDArray[Any]:
    if not isinstance(one, str):
        return np.asarray(one)
    spec = _spec(one)
    shape = [3 if size is None else size for size in spec.shape]
    if spec.dtype.is_integer:
        return generator.integers(int(low), int(high), shape).astype(spec.dtype.numpy)
    return generator.uniform(low, high, shape).astype(spec.dtype.numpy)


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _check_names(layer: Layer, weights: Mapping[str, Sequence[int]]) -> None:
    found = {v.name: list(v.shape) for v in layer.weights}
    assert found == {name: list(shape) for name, shape in weights.items()}
    assert list(found) == list(weights), "weights come in another order"
    prefix = f"{layer.name}/"
    paths = [v.path for v in layer.weights]  # type: ignore[attr-defined]  # they are Keras's
    assert all(path.startswith(prefix) for path in paths), paths


def _check_specs(inferred: Any, outputs: Any) -> None:
    for spec, y in zip(structure.flatten(inferred), structure.flatten(outputs), strict=True):
        assert spec.dtype is y.dtype, f"inferred {spec.text}, gave {y.dtype.name}"
        assert spec.shape.is_compatible_with(y.shape), f"inferred {spec.text}, gave {y.shape.text}"


def _check_equal(found: Any, wanted: Any, what: str, rtol: float) -> None:
    for one, other in zip(structure.flatten(found), structure.flatten(wanted), strict=True):
        np.testing.assert_allclose(
            np.asarray(one), np.asarray(other), rtol=rtol, atol=rtol, err_msg=what
        )


def _restore(layer: Layer, state: Sequence[NDArray[Any]]) -> None:
    for variable, value in zip(layer.variables, state, strict=True):
        variable.assign(value)


def _check_round_trips(
    layer: Layer, inputs: Any, outputs: Any, told: dict[str, Any], state: list[NDArray[Any]]
) -> None:
    config = layer.get_config()
    stored = serialize_keras_object(layer)
    json.dumps(stored)
    for copy in (type(layer).from_config(config), deserialize_keras_object(stored)):
        assert copy.get_config() == config
        copy(inputs, **told)
        copy.set_weights(layer.get_weights())
        _restore(copy, state)
        _check_equal(
            copy(inputs, **told), outputs, "the layer made from its configuration differs", 1e-7
        )


def _widened(config: Any) -> Any:
    """A configuration with float64 everywhere, also in nested layers."""
    if isinstance(config, dict):
        wide = {key: _widened(value) for key, value in config.items()}
        return {**wide, "dtype": "float64"} if "dtype" in config else wide
    return [_widened(one) for one in config] if isinstance(config, list) else config


def _check_gradient(
    layer: Layer, inputs: Any, told: dict[str, Any], generator: np.random.Generator
) -> None:
    """Check gradients in float64, along one random direction of the inputs and weights."""
    wide = type(layer).from_config(_widened(layer.get_config()))
    xs = structure.map_structure(_wide, inputs)
    wide(xs, **told)
    wide.set_weights(layer.get_weights())
    state = [v.numpy() for v in wide.variables]
    variables = wide.trainable_variables
    leaves = [convert_to_tensor(one) for one in structure.flatten(xs)]
    floats = [leaf for leaf in leaves if leaf.dtype.is_floating]

    def run(tensors: Sequence[Any]) -> Any:
        return structure.flatten(wide(structure.pack_sequence_as(xs, list(tensors)), **told))

    with GradientTape() as tape:
        for leaf in floats:
            tape.watch(leaf)
        outputs = run(leaves)
        dys = [generator.standard_normal(y.shape.as_list()) for y in outputs]
        products = [y * convert_to_tensor(dy) for y, dy in zip(outputs, dys, strict=True)]
        total = sum((reduce_sum(one) for one in products), start=0.0)
    sources = [*floats, *variables]
    if not sources:
        return
    found = tape.gradient(total, sources, unconnected_gradients="zero")
    gradients = [convert_to_tensor(g) for g in found]
    steps = [generator.standard_normal(np.asarray(source).shape) for source in sources]
    exact = sum(float(np.sum(np.asarray(g) * s)) for g, s in zip(gradients, steps, strict=True))

    def at(size: float) -> float:
        _restore(wide, state)
        moved = iter(steps)
        shifted = [
            convert_to_tensor(np.asarray(x) + size * next(moved)) if x.dtype.is_floating else x
            for x in leaves
        ]
        for variable in variables:
            variable.assign(variable.numpy() + size * next(moved))
        return sum(
            float(np.sum(np.asarray(y) * dy)) for y, dy in zip(run(shifted), dys, strict=True)
        )

    size = 1e-6
    numeric = (at(size) - at(-size)) / (2 * size)
    np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-6, err_msg="the gradient differs")
