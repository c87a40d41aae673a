"""Keras 3's .weights.h5: one group per layer, named by the attribute that holds the layer.

layers/dense/vars/0        the first variable of the first Dense of a functional model
layers/lstm/cell/vars/2    the third of the cell that a layer has as `cell`
encoder/vars/0             the first of the layer that a subclassed model has as `encoder`
"""

from __future__ import annotations

import functools
import io
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pinnace.framework.listing import first_of
from pinnace.keras.layer import Layer
from pinnace.keras.names import class_name_in_snake_case
from pinnace.keras.saving import hdf5_checksum, hdf5_files, own_variables
from pinnace.keras.saving.own_variables import Store
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinnace.framework.variable import Variable
    from pinnace.keras.models.model import Model
    from pinnace.keras.optimizers.optimizer import Optimizer


def write(model: Model, path: str, skipped: tuple[Any, ...] = ()) -> None:
    """Write the weights of a model and its optimizer's state, atomically.

    Args:
        model: built.
        path: path of the file.
        skipped: layers that are left out.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    optimizer = optimizer_to_write(model, skipped)
    write_file(path, functools.partial(write_weights, model, optimizer=optimizer, skipped=skipped))


def optimizer_to_write(model: Any, skipped: tuple[Any, ...]) -> Any:
    """The optimizer whose state is saved; None if there is none."""
    optimizer = getattr(model, "optimizer", None)
    if any(one is optimizer for one in skipped) or not hasattr(optimizer, "save_own_variables"):
        return None
    return optimizer


def write_weights(
    model: Layer,
    file: IO[bytes],
    optimizer: Optimizer | None = None,
    skipped: tuple[Any, ...] = (),
) -> None:
    """Write the weights of a model, and the state of its optimizer, to an open file."""
    memory = io.BytesIO()
    with hdf5_checksum.create(memory) as opened:
        for place, layer in places(model, skipped):
            group = opened.create_group(f"{place}/vars" if place else "vars")
            group.attrs["name"] = layer.name
            layer.save_own_variables(Store(group))
        if optimizer is not None:
            group = opened.create_group("optimizer/vars")
            group.attrs["name"] = optimizer.name
            optimizer.save_own_variables(Store(group))
    file.write(memory.getbuffer())


def has_weights(model: Layer) -> bool:
    """Whether a model, or each of its layers, is built, even with unknown inputs."""
    inner = model.layers_inside
    return model.built or bool(inner and all(layer.built for layer in inner))


def weights_for(
    model: Layer, file: Any, *, skip_mismatch: bool = False, skipped: tuple[Any, ...] = ()
) -> list[tuple[Variable, Any]]:
    """The variables of a model, each with its value in an open file.

    Args:
        model: built.
        file: a file of this format.
        skip_mismatch: whether layers whose weights do not fit are left as they are.
        skipped: layers that are left as they are.

    Raises:
        ValueError: a layer's weights do not fit.
    """
    found: list[tuple[Variable, Any]] = []
    others: dict[int, list[str]] = {}
    older = _counts_of_older(model, file)
    known: set[str] = set()
    for place, layer in list(places(model, skipped, others, older=older)):
        group = _vars_of(file, place)
        # Keras: it may be stored under another attribute that holds the same layer.
        for other in others.get(id(layer), []) if group is None else []:
            group = group or _vars_of(file, other)
        if group is not None:
            known.add(str(group.name))
        try:
            if own_variables.says_itself(layer):
                found.extend(own_variables.values_of(layer, group))
            else:
                variables = layer._weight_store.own_variables()
                found.extend(zip(variables, values_for(group, variables), strict=True))
        except ValueError as error:
            message = f"load_weights: {place or 'the model'} ({layer.name!r}): {error}"
            if not skip_mismatch:
                raise ValueError(message) from None
            warnings.warn(message, stacklevel=5)
    left = [] if skipped else _left(file, known, dict(places(model, older=older)))
    if left:
        warnings.warn(
            f"load_weights: {len(left)} layers in the file are not in {model.name!r}, and their "
            f"values went nowhere: {first_of(left, _LISTED)}",
            stacklevel=5,
        )
    return found


# Groups of files besides the weights of layers.
_BESIDE = frozenset({"optimizer", "seed_generator", "metrics", "_metrics"})
_LISTED = 8


def _left(file: Any, known: set[str], layers: dict[str, Layer]) -> list[str]:
    """The paths of values in a file that no layer has.

    Args:
        file: a file of this format.
        known: the names of the groups that layers have.
        layers: layers of the model, by their positions.
    """
    found = []

    def visit(name: str, item: Any) -> None:
        path = name.replace("\\", "/")
        place = path.removesuffix(_OWN).rstrip("/")
        if (
            path.split("/")[-1] == _OWN
            and f"/{name}" not in known
            and hasattr(item, "keys")
            and len(item)
            and _BESIDE.isdisjoint(place.split("/"))
            and not _is_beside(place, layers)
        ):
            found.append(place or "the model itself")

    file.visititems(visit)
    return found


def _is_beside(place: str, layers: dict[str, Layer]) -> bool:
    """Whether a layer's attribute is a metric or seed generator, which contains no layers."""
    above, _, name = place.rpartition("/")
    held = getattr(layers.get(above), name, None) if name else None
    return held is not None and not isinstance(held, (Layer, list, tuple, dict))


_OWN = "vars"
_DEPENDENCIES = "_layer_checkpoint_dependencies"


def _counts_of_older(model: Layer, file: Any) -> int:
    """The number of a layer in the paths of a file of Keras 2.12 to 2.14; 0 for other files.

    There, layers with weights are children of their model under two names: 2.13 counts both, 2.14
    one.
    """
    if not any(str(name).replace("\\", "/").split("/")[0] == _DEPENDENCIES for name in file):
        return 0
    twice = (
        _vars_of(file, place) is not None
        for place, layer in places(model, older=2)
        if layer._weight_store.own_variables()
    )
    return 2 if all(twice) else 1


def _vars_of(file: Any, place: str) -> Any:
    """The group of a layer's own values; Keras 2 on Windows writes paths with backslashes."""
    found = hdf5_files.entry(file, f"{place}/vars" if place else "vars")
    if found is not None or not place:
        return found
    there = place.replace("/", "\\")
    for name in (f"{there}\\vars", f"{there}/vars"):
        found = hdf5_files.entry(file, name)
        if found is not None:
            return found
    return None


def values_for(group: Any, variables: Sequence[Variable]) -> list[Any]:
    """The values of a group for some variables; nothing is read unless they fit."""
    if group is not None and not hasattr(group, "keys"):
        raise ValueError("the file has an array in the place of a group")
    count = 0 if group is None else len(group)
    if count != len(variables):
        raise ValueError(f"has {len(variables)} variables, the file has {count}")
    values = []
    for name, variable in zip(in_order(group or ()), variables, strict=True):
        values.append(value_for(hdf5_files.entry(group, name), name, variable))
    return values


def in_order(group: Iterable[str]) -> list[str]:
    """The names of a group's values in numerical order."""
    return sorted(group, key=lambda name: (len(name), name))


def value_for(data: Any, name: str, variable: Variable) -> Any:
    """The value for a variable from an array of the file."""
    if data is None or not hdf5_files.is_plain(data):
        raise ValueError(f"variable {name} is not a plain array in the file")
    if tuple(data.shape) != tuple(variable.shape):
        raise ValueError(
            f"variable {name} must have shape {variable.shape.text}, "
            f"the file has {list(data.shape)}: the shapes must match"
        )
    return hdf5_files.values(data, variable.dtype.numpy)


# Paths of layers.


def places(  # noqa: C901 (a walk through layers and one through containers, each calls the other)
    model: Layer,
    skipped: tuple[Any, ...] = (),
    others: dict[int, list[str]] | None = None,
    *,
    older: int = 0,
) -> Iterator[tuple[str, Layer]]:
    """Each layer once, with its path in the file, in the order of Keras' traversal of attributes.

    Args:
        model: the outermost one.
        skipped: layers that are left out, with the layers that occur only in them.
        others: filled, by the id of a layer, with the further paths that it has.
        older: see `_counts_of_older`.
    """
    seen = {id(layer) for layer in skipped}

    def visit(layer: Layer, path: str) -> Iterator[tuple[str, Layer]]:
        if id(layer) in seen:
            if others is not None:
                others.setdefault(id(layer), []).append(path)
            return
        seen.add(id(layer))
        yield path, layer
        for name, child in _attributes(layer, older):
            inner = f"{path}/{name}" if path else name
            if isinstance(child, Layer):
                yield from visit(child, inner)
            elif isinstance(child, (list, tuple, dict)):
                yield from visit_all(child, inner)

    def visit_all(
        container: Any, path: str, outer: tuple[int, ...] = ()
    ) -> Iterator[tuple[str, Layer]]:
        if id(container) in outer:  # it contains itself
            return
        outer = (*outer, id(container))
        counts: dict[str, int] = {}
        for child in container.values() if isinstance(container, dict) else container:
            if isinstance(child, Layer):
                kind = getattr(child, "_read_as", type(child).__name__)
                name = class_name_in_snake_case(kind)
                count = counts[name] = counts.get(name, -1) + 1
                yield from visit(child, f"{path}/{name}_{count}" if count else f"{path}/{name}")
            elif isinstance(child, (list, tuple, dict)):
                count = counts["container"] = counts.get("container", -1) + 1
                inner = f"{path}/container" + (f"_{count}" if count else "")
                yield from visit_all(child, inner, outer)

    return visit(model, "")


def _attributes(layer: Layer, older: int = 0) -> Iterator[tuple[str, Any]]:
    listed = getattr(layer, "_lists_layers", False) or getattr(layer, "_topology", None)
    if listed and older:
        layers = layer.layers  # type: ignore[attr-defined]  # models have it
        yield _DEPENDENCIES, [one for x in layers for one in [x] * (older if x.weights else 1)]
    elif listed:
        yield "layers", layer.layers  # type: ignore[attr-defined]  # models have it
    names = [name for name in dir(layer) if not name.startswith("__") and name not in _of_all()]
    for name in sorted(names, key=lambda name: f"~{name}" if name.startswith("_") else name):
        try:
            yield name, getattr(layer, name)
        except Exception:
            continue


@functools.cache
def _of_all() -> frozenset[str]:
    """The attributes of every layer, and those in which models keep their layers."""
    return frozenset(dir(Layer())) | {*("_layers", "_topology", "_tracked")}


def optimizer_values(
    model: Any, file: Any, *, skip_mismatch: bool = False, skipped: tuple[Any, ...] = ()
) -> list[tuple[Variable, Any]]:
    """The variables of a model's optimizer, each with its value in a file; a warning if others are.

    Args:
        model: the model whose optimizer is not built for it.
        file: open.
        skip_mismatch: whether an optimizer whose values do not fit is left as it is.
        skipped: layers, and an optimizer, that are left as they are.

    Raises:
        ValueError: its values do not fit.
    """
    group = hdf5_files.entry(file, "optimizer/vars")
    optimizer: Any = getattr(model, "optimizer", None)
    if any(one is optimizer for one in skipped) or not hasattr(optimizer, "variables"):
        return []
    if group is not None and not hasattr(group, "keys"):
        return []
    group = () if group is None else group
    if len(group) and own_variables.says_itself(optimizer):
        return own_variables.values_of(optimizer, group)
    variables = optimizer.variables
    if len(group) != len(variables):
        warnings.warn(
            f"load_weights: Skipping variable loading for optimizer {optimizer.name!r}, because it "
            f"has {len(variables)} variables whereas the saved optimizer has {len(group)} "
            "variables.\n  Try: optimizer.build(model.trainable_variables) first",
            stacklevel=6,
        )
        return []
    try:
        return list(zip(variables, values_for(group, variables), strict=True))
    except ValueError as error:
        message = f"load_weights: optimizer {optimizer.name!r}: {error}"
        if not skip_mismatch:
            raise ValueError(message) from None
        warnings.warn(message, stacklevel=6)
        return []


def optimizer_to_restore(model: Any) -> Any:
    """The optimizer of a compiled model, with its variables created; None if there is none."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return None
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    return optimizer
