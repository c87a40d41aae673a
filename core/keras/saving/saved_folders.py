"""Keras 2's SavedModels: restored as models of layers, or else as functions.

The root's configuration defines the model, as in an .h5 file. Each layer's object lists its
weights, in the order of `layer.weights`, as its child `variables`; layers are the children
`layer-0`, `layer-1`, … of their model, in the order of its configuration.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import DataLossError, OpError
from pinnace.framework.trackable import is_variable, walk_variables
from pinnace.keras import registry, restoring
from pinnace.keras.layers.lookups import IndexLookup
from pinnace.keras.saving import listed_weights, older_configs
from pinnace.keras.saving.restored_models import RestoredModel
from pinnace.keras.weights import is_seed_state
from pinnace.ops.array.casting import cast
from pinnace.saved_model.keras_objects import load_keras_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.variable import Variable
    from pinnace.saved_model.keras_objects import KerasObjects


_CLASSES = {"_tf_keras_network": "Functional", "_tf_keras_sequential": "Sequential"}
_OWN = frozenset({"Functional", "Model", "Sequential"})
_LOOKUPS = frozenset({"TextVectorization", "StringLookup", "IntegerLookup"})
_INPUT = "_tf_keras_input_layer"
# Children of layers other than the weights that the file counts.
_MORE = 1 << 16
# Exceptions from a configuration that cannot be built here.
_UNBUILT = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(NotImplementedError, AssertionError, MemoryError, OpError),
)


def read(path: str, compiles: bool) -> Any:
    """The model of a folder: of layers if Keras 2 wrote it and they are known here.

    Raises:
        OpError: the folder cannot be loaded.
        DataLossError: Keras' metadata of the model is damaged.
    """
    found = load_keras_objects(path)
    told = _told(found, path)
    if told is None:
        return RestoredModel(found.root, path)
    try:
        model, pairs = _made(found, told)
    except _UNBUILT as error:
        warnings.warn(
            f"load_model: {path!r} is loaded by its functions, without its layers: "
            f"{str(error) or type(error).__name__}",
            stacklevel=3,
        )
        return RestoredModel(found.root, path)
    for number, variable in pairs.items():
        variable.assign(cast(found.object(number), variable.dtype))
    found.use_instead({one: v for one, v in pairs.items() if found.object(one).dtype is v.dtype})
    # Not tracked as a child: a model that is saved writes its own signatures.
    object.__setattr__(model, "signatures", found.root.signatures)
    if compiles:
        _compile(model, told.get("training_config"), found, path)
    return model


def _told(found: KerasObjects, path: str) -> dict[str, Any] | None:
    """Keras' metadata of the root; None unless it is a model of known layers."""
    about = found.described.get(0)
    if about is None or about.identifier not in _CLASSES:
        return None
    told = _json(about.metadata, path)
    config, kind = told.get("config"), told.get("class_name")
    if not isinstance(config, dict) or not isinstance(config.get("layers"), list):
        return None
    own = _CLASSES[about.identifier]
    # An unknown subclass that consists of layers only is loaded as its base class.
    known = kind in _OWN or (isinstance(kind, str) and _is_known(kind, config))
    return {**told, "class_name": kind if known else own, "config": config}


def _is_known(kind: str, config: dict[str, Any]) -> bool:
    try:
        return registry.find_class({"class_name": kind, "config": config}) is not None
    except (ValueError, TypeError):
        return False


def _json(text: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
        plain = _plain(found)
    except (ValueError, RecursionError) as error:
        raise DataLossError(
            f"load_model: {path!r}: the model's Keras metadata is not valid JSON: {error}\n"
            "  Try: saved_model.load, which gives the functions"
        ) from None
    if not isinstance(plain, dict):
        raise DataLossError(
            f"load_model: {path!r}: the model's Keras metadata is not a JSON object\n"
            "  Try: saved_model.load, which gives the functions"
        )
    return plain


def _plain(value: Any) -> Any:
    """The JSON of these files in the form of .h5 files, with tuples and shapes as lists."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") in {"__tuple__", "TensorShape"} and "items" in value:
        return _plain(value["items"])
    return {key: _plain(item) for key, item in value.items() if key != "shared_object_id"}


# Building the model.


def _made(found: KerasObjects, told: dict[str, Any]) -> tuple[Any, dict[int, Variable]]:
    """The model, and its variables by number in the file."""
    stored = [one for one, _ in _variables_in(found.root)]
    budget = sum((one.shape.num_elements() or 0) * one.dtype.size for one in stored) + _MORE
    _fill_vocabularies(found, 0, told["config"])
    config = {key: told[key] for key in ("class_name", "config")}
    converted = older_configs.converted(older_configs.with_older_rules(config))
    with restoring.reading(restoring.Restoring(budget, compiles=False)):
        model = registry.deserialize_keras_object(converted)
    _check_vocabularies(model)
    pairs = dict(_pairs(found, 0, model, told["config"]))
    taken = {id(variable) for variable in pairs.values()}
    missing = [v.name for v in model.weights if id(v) not in taken and not is_seed_state(v)]
    if missing or not model.built:
        raise ValueError(
            f"the file has no value for {', '.join(missing[:5])}" if missing else "it is not built"
        )
    return model, pairs


def _variables_in(root: Any) -> list[tuple[Variable, tuple[str, ...]]]:
    return list(walk_variables(root))  # type: ignore[arg-type]  # they are variables


def _fill_vocabularies(found: KerasObjects, number: int, config: dict[str, Any]) -> None:
    """Add adapted vocabularies to the configuration: the file stores them as tables."""
    for node, entry in _layers(found, number, config):
        inner = entry["config"]
        if isinstance(inner.get("layers"), list):
            _fill_vocabularies(found, node, inner)
        elif entry.get("class_name") in _LOOKUPS and not inner.get("vocabulary"):
            children = found.children(node)
            children = found.children(children.get("_lookup_layer", node))
            table = found.table(children["lookup_table"]) if "lookup_table" in children else None
            if table:
                if inner.get("invert"):
                    table = {token: place for place, token in table.items()}
                special = (inner.get("mask_token", ""), inner.get("oov_token", "[UNK]"))
                order = sorted(table, key=table.__getitem__)
                inner["vocabulary"] = [token for token in order if token not in special]


def _check_vocabularies(model: Any) -> None:
    names = [
        layer.name
        for layer in model._flatten_layers()
        if isinstance(layer, IndexLookup) and not layer.get_vocabulary(False)
    ]
    if names:
        raise ValueError(f"the configuration holds no vocabulary of {', '.join(names)}")


def _layers(
    found: KerasObjects, number: int, config: dict[str, Any]
) -> list[tuple[int, dict[str, Any]]]:
    """The layers of a model, as pairs of number and configuration."""
    children = found.children(number)
    places = sorted(
        (int(name[6:]), child)
        for name, child in children.items()
        if name.startswith("layer-") and name[6:].isdecimal()
    )
    nodes = [child for _, child in places if not _is_input(found, child)]
    entries = [one for one in config["layers"] if one.get("class_name") != "InputLayer"]
    if len(nodes) != len(entries):
        raise ValueError(f"a model has {len(entries)} layers, the file has {len(nodes)} for it")
    return list(zip(nodes, entries, strict=True))


def _pairs(
    found: KerasObjects, number: int, model: Any, config: dict[str, Any]
) -> Iterator[tuple[int, Variable]]:
    """The variables of a model, each with the number of its value in the file."""
    for node, entry in _layers(found, number, config):
        inner = entry["config"]
        name = entry.get("name") or inner["name"]
        _check_name(found, node, name)
        layer = _layer(model, name)
        if layer is None:  # an operation
            _check_no_weights(found, node, name)
        elif isinstance(inner.get("layers"), list) and hasattr(layer, "layers"):
            yield from _pairs(found, node, layer, inner)
        else:
            yield from _weights(found, node, layer)


def _is_input(found: KerasObjects, number: int) -> bool:
    about = found.described.get(number)
    return about is not None and about.identifier == _INPUT


def _check_name(found: KerasObjects, number: int, name: str) -> None:
    about = found.described.get(number)
    told = None if about is None else json.loads(about.metadata).get("name")
    if told is not None and told != name:
        raise ValueError(f"the file has layer {told!r} in the place of {name!r}")


def _layer(model: Any, name: str) -> Any:
    return next((layer for layer in model.layers if layer.name == name), None)


def _listed(found: KerasObjects, number: int) -> list[int] | None:
    """The numbers of a layer's weights in order; None if the file does not list them."""
    place = found.children(number).get("variables")
    if place is None:
        return None
    inside = found.children(place)
    return [inside[name] for name in sorted(filter(str.isdecimal, inside), key=int)]


def _by_paths(found: KerasObjects, number: int, layer: Any) -> Iterator[tuple[int, Variable]]:
    """A layer's weights by attribute: files saved without traces do not list them."""
    for variable, path in _variables_in(layer):
        if is_seed_state(variable):
            continue
        place: int | None = number
        for name in path:
            place = None if place is None else found.children(place).get(name)
        if place is None:
            raise ValueError(f"the file has no {'.'.join(path)} of layer {layer.name!r}")
        yield place, variable


def _check_no_weights(found: KerasObjects, number: int, name: str) -> None:
    if _listed(found, number):
        raise ValueError(f"the file has weights for {name!r}, and the model has no such layer")


def _weights(found: KerasObjects, number: int, layer: Any) -> Iterator[tuple[int, Variable]]:
    """The weights of one layer.

    Raises:
        ValueError: the layer's weights are not those of the file.
    """
    numbers = _listed(found, number)
    if numbers is None:
        pairs = list(_by_paths(found, number, layer))
    else:
        names = [getattr(found.object(one), "name", "") for one in numbers]
        ordered = listed_weights.in_order_of(layer, names)
        variables = [one for one in ordered if not is_seed_state(one)]
        if len(variables) != len(numbers):
            raise ValueError(
                f"layer {layer.name!r} has {len(variables)} variables, the file has {len(numbers)}"
            )
        pairs = list(zip(numbers, variables, strict=True))
    for one, variable in pairs:
        stored = found.object(one)
        if not is_variable(stored):
            raise ValueError(
                f"layer {layer.name!r}: {variable.name!r} is not a variable in the file"
            )
        if tuple(stored.shape) != tuple(variable.shape) or not _is_alike(stored, variable):
            raise ValueError(
                f"layer {layer.name!r}: variable {variable.name!r} is a {variable.dtype.name}"
                f"{variable.shape.text}, in the file a {stored.dtype.name}{stored.shape.text}"
            )
        yield one, variable


def _is_alike(stored: Variable, variable: Variable) -> bool:
    """Whether dtypes match; counters, int64 in Keras 2, may have any integer dtype."""
    both = stored.dtype, variable.dtype
    return both[0] is both[1] or all(dtype.is_integer for dtype in both)


# Compile arguments.


def _compile(model: Any, training: Any, found: KerasObjects, path: str) -> None:
    if not isinstance(training, dict):
        return
    try:
        model.compile_from_config(older_configs.compilation(training))
    except _UNBUILT as error:
        warnings.warn(
            f"load_model: {path!r} is not compiled as it was: {str(error) or type(error).__name__}"
            "\n  Try: compile it, or pass unknown classes as custom_objects",
            stacklevel=4,
        )
        return
    optimizer = found.children(0).get("optimizer")
    if optimizer is not None and hasattr(found.object(optimizer), "get_slot"):
        warnings.warn(
            f"load_model: {path!r}: the state of the optimizer is not restored, as Keras does not "
            "restore that of a SavedModel: training begins anew",
            stacklevel=4,
        )
