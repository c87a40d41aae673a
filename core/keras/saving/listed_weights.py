"""Weights listed by layer and in order: in .h5 models and weight files, as in Keras 2.

layer_names           attribute: the layers, in the model's order
NAME/weight_names     attribute: a layer's weights, in the order of `weights_of`
NAME/PATH             an array
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.listing import first_of
from pinnace.framework.trackable import is_variable
from pinnace.keras.saving import hdf5, hdf5_files, older_weights
from pinnace.keras.weights import is_seed_state

if TYPE_CHECKING:
    from pinnace.framework.variable import Variable

# The group of the model's own weights, outside its layers.
TOP = "top_level_model_weights"
_LISTED = 8


def weights_for(
    model: Any, group: Any, *, by_name: bool = False, skip_mismatch: bool = False
) -> list[tuple[Variable, Any]]:
    """The variables of a model, each with its value in a group.

    Args:
        model: has layers.
        group: has `layer_names`.
        by_name: whether layers are found by their names, and those that only one side has are left
            out; else by their places.
        skip_mismatch: whether arrays of another shape are left out, with a warning; by name also
            layers with another number of weights.

    Raises:
        ValueError: weights do not fit.
    """
    names = hdf5_files.texts(group, "layer_names")
    groups = [(name, _group(group, name)) for name in names]
    form = older_weights.form_of(group, [n for _, g in groups for n in _names_of(g)])
    version = hdf5_files.text(group, "keras_version") or ""
    older = form.is_of_keras_1 or version.startswith(("1.", "2."))
    found: list[tuple[Variable, Any]] = []
    pairs = _pairs(model, groups, by_name)
    if by_name and not any(weights_of(layer) for layer, _, _ in pairs):
        told = first_of([repr(name) for name in names], _LISTED)
        warnings.warn(
            f"load_weights: by_name=True, and no layer of {model.name!r} that has weights has the "
            f"name of one in the file ({told}): nothing is loaded",
            stacklevel=5,
        )
    for layer, name, inner in pairs:
        who = f"layer {layer.name!r}, in the file {name!r}"
        listed = _names_of(inner)
        variables = in_order_of(layer, listed, older=older)
        if _needs_conversion(layer, inner, listed, form):
            found += _of_another_form(layer, inner, listed, variables, who, form)
        else:
            found += _listed(inner, variables, who, skip_mismatch, by_name and skip_mismatch)
    top = hdf5_files.entry(group, TOP)
    if top is not None:
        own = own_weights(model)
        found += _listed(top, own, "the model itself", skip_mismatch, by_name and skip_mismatch)
    return found


def _names_of(group: Any) -> list[str]:
    return hdf5_files.texts(group, "weight_names")


def _needs_conversion(layer: Any, group: Any, names: list[str], form: older_weights.Form) -> bool:
    if not names:
        return False
    if not form.is_todays:
        return True
    shapes = [getattr(hdf5_files.entry(group, name), "shape", ()) for name in names]
    return older_weights.is_of_cudnn(layer, shapes)


def _of_another_form(
    layer: Any,
    group: Any,
    names: list[str],
    variables: list[Variable],
    who: str,
    form: older_weights.Form,
) -> list[tuple[Variable, Any]]:
    entries = [hdf5_files.entry(group, name) for name in names]
    for name, data in zip(names, entries, strict=True):
        if data is None or not hdf5_files.is_plain(data):
            raise ValueError(f"{who}: variable {name!r} is not a plain array in the file")
    try:
        given = [hdf5_files.values(data, data.dtype) for data in entries]
        arrays = older_weights.converted(layer, given, form)
    except (ValueError, IndexError) as error:
        shapes = ", ".join(str(list(data.shape)) for data in entries)
        raise ValueError(
            f"{who}: arrays of shapes {shapes} do not match the layer: {error}"
        ) from None
    if len(arrays) != len(variables):
        raise ValueError(f"{who}: has {len(variables)} variables, the file has {len(arrays)}")
    for array, variable in zip(arrays, variables, strict=True):
        if array.shape != tuple(variable.shape):
            raise ValueError(
                f"{who}: variable {variable.name!r} must have shape {variable.shape.text}, the "
                f"file has {list(array.shape)}: the shapes must match"
            )
    return [
        (variable, np.ascontiguousarray(array, variable.dtype.numpy))
        for array, variable in zip(arrays, variables, strict=True)
    ]


def named(group: Any, name: str, variable: Variable, who: str) -> tuple[Variable, Any]:
    """A variable with the value of that name in a group.

    Raises:
        ValueError: the value does not fit.
    """
    try:
        return variable, hdf5.value_for(hdf5_files.entry(group, name), repr(name), variable)
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from None


def weights_of(layer: Any) -> list[Variable]:
    """The weights of a layer in the order of these files: trainable ones first.

    Source:
        Keras: what is trainable by itself, whether or not a layer around it is; reading a model
        that is frozen freezes all that is in it.
    """
    frozen = {
        id(variable)
        for model in layer._flatten_layers()
        if hasattr(model, "_topology") and not model.trainable
        for variable in model.weights
    }
    every = layer.weights
    trained = [v for v in every if v.trainable and id(v) not in frozen]
    own = {id(v) for v in trained}
    return trained + [v for v in every if id(v) not in own]


def own_weights(model: Any) -> list[Variable]:
    """The model's own weights in the order of these files."""
    own = [
        child
        for child in model._weight_store.own()
        if is_variable(child) and not is_seed_state(child)
    ]
    return [v for v in own if v.trainable] + [v for v in own if not v.trainable]


def in_order_of(layer: Any, names: list[str], *, older: bool = False) -> list[Variable]:
    """The weights of a layer in the order of a file's names.

    For a nested model that was frozen layer by layer, Keras 3 does not list trainable weights
    first, and Keras 2 orders by frozen parts: arrays of the same shape would be exchanged silently.

    Args:
        layer: with weights.
        names: names of the file.
        older: whether Keras 2 wrote it.
    """
    orders = [weights_of(layer), list(layer.weights)]
    if older:
        trained, others = _as_in_keras_2(layer)
        orders.insert(0, list({id(v): v for v in [*trained, *others]}.values()))
    kinds = [_kind(name) for name in names]
    fitting = (order for order in orders if [_kind(v.node_name) for v in order] == kinds)
    return next(fitting, orders[0])


def _as_in_keras_2(layer: Any) -> tuple[list[Variable], list[Variable]]:
    """Trainable and non-trainable weights, each in Keras 2's order.

    Source:
        Keras 2: a layer lists its own weights before those of layers inside it, a model behind
        them. What is frozen lists all of it as not trained: a layer whole by whole, a model what
        is trained inside first.
    """
    own = [v for v in layer._weight_store.own_variables() if not is_seed_state(v)]
    first = [v for v in own if v.is_watched]
    rest = [v for v in own if not v.is_watched]
    is_model = hasattr(layer, "_topology")
    parts = [_as_in_keras_2(one) for one in (layer.layers if is_model else layer.layers_inside)]
    trained = [v for part in parts for v in part[0]]
    others = [v for part in parts for v in part[1]]
    if is_model:
        first, rest = [*trained, *first], [*others, *rest]
        return (first, rest) if layer.trainable else ([], [*first, *rest])
    if layer.trainable:
        return [*first, *trained], [*rest, *others]
    return [], [*first, *rest, *(v for part in parts for v in (*part[0], *part[1]))]


def _kind(name: str) -> str:
    """`kernel` of `block1_conv1/kernel:0`."""
    return name.partition(":")[0].rpartition("/")[2]


def _group(group: Any, name: str) -> Any:
    found = hdf5_files.entry(group, name)
    if found is None:
        raise ValueError(f"layer {name!r} is listed, but missing")
    return found


def _pairs(model: Any, groups: list[tuple[str, Any]], by_name: bool) -> list[tuple[Any, str, Any]]:
    """Layers with their groups in the file."""
    if by_name:
        return [
            (layer, name, inner)
            for name, inner in groups
            for layer in model.layers
            if layer.name == name
        ]
    layers = [layer for layer in model.layers if weights_of(layer)]
    groups = [(name, g) for name, g in groups if hdf5_files.texts(g, "weight_names")]
    if len(groups) != len(layers):
        raise ValueError(f"the model has {len(layers)} layers with weights, the file {len(groups)}")
    return [(layer, name, g) for layer, (name, g) in zip(layers, groups, strict=True)]


def _listed(
    group: Any, variables: list[Variable], who: str, skips_shapes: bool, skips_counts: bool
) -> list[tuple[Variable, Any]]:
    names = hdf5_files.texts(group, "weight_names")
    if len(names) != len(variables):
        message = f"{who}: has {len(variables)} variables, the file has {len(names)}"
        if not skips_counts:
            raise ValueError(message)
        warnings.warn(f"load_weights: {message}", stacklevel=6)
        return []
    found = []
    for name, variable in zip(names, variables, strict=True):
        data = hdf5_files.entry(group, name)
        if skips_shapes and not _fits(data, variable):
            warnings.warn(
                f"load_weights: {who}: variable {name!r} has shape {variable.shape.text}, the file "
                f"has {list(data.shape)}: it stays as it is",
                stacklevel=6,
            )
            continue
        found.append(named(group, name, variable, who))
    return found


def _fits(data: Any, variable: Variable) -> bool:
    """Whether it has the variable's shape, or is not an array."""
    if not hdf5_files.is_plain(data):
        return True
    return tuple(data.shape) == tuple(variable.shape)
