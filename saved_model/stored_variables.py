"""Variables of a loaded model, whose values are read from the bundle on first use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.keys import VARIABLE_VALUE
from pinnace.checkpoint.object_graph import ObjectGraph, matched
from pinnace.checkpoint.stored import stored_under
from pinnace.framework.errors import DataLossError, NotFoundError
from pinnace.framework.variable import Variable
from pinnace.saved_model.restored import RestoredResource
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array
    from pinnace.framework.trackable import Trackable
    from pinnace.saved_model.codecs.objects import Objects


def restore_variables(
    reader: BundleReader,
    stored: ObjectGraph,
    root: Any,
    saved: Objects,
    objects: Mapping[int, Any],
) -> None:
    """Make every variable read its value from the bundle on first use.

    Both object graphs are walked from the root along the names of children, so that a path leads
    to the same variable in both.
    """
    numbers = {id(one): number for number, one in objects.items()}

    def children_of(target: Trackable) -> dict[str, Any]:
        number = numbers.get(id(target))
        if number is None:
            return {}
        return {name: objects[child] for name, child in saved.items[number].children}

    for number, target in matched(stored, root, children_of):
        if isinstance(target, RestoredResource):
            for tensor in stored[number].tensors:
                if tensor.name == target._legacy_saveable_name:
                    target.restore_when_made(functools.partial(stored_under, reader, tensor.key))
        if not isinstance(target, Variable) or target.is_initialized():
            continue
        for tensor in stored[number].tensors:
            if tensor.name == VARIABLE_VALUE:
                attach_value(reader, tensor.key, target)


def attach_value(reader: BundleReader, key: str, variable: Variable) -> None:
    """Make a variable read its value from a bundle on first use.

    Raises:
        NotFoundError: the bundle has no such value, or the file with it is missing.
        DataLossError: the value does not match the variable, or is truncated.
    """
    where = index_path(reader.prefix)
    if key not in reader:
        raise NotFoundError(f"{where} has no value {key!r} for variable {variable.name!r}")
    entry = reader.entry(key)
    if entry.dtype is not variable.dtype or not variable.shape.is_compatible_with(entry.shape):
        raise DataLossError(
            f"{where}: variable {variable.name!r} is {variable.dtype.name}{variable.shape.text}, "
            f"its value {key!r} is {entry.dtype.name}{list(entry.shape)}"
        )
    reader.check_present(key)

    def read() -> Array:
        value = reader.read(key).view()
        value.flags.writeable = False
        return value

    variable.resource.source = read
