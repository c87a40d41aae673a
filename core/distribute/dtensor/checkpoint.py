"""Tensors with layouts in files: DTensorCheckpoint, and tensors by name.

A file has whole values, as any checkpoint; whoever restores has the layout.
"""

from __future__ import annotations

import collections
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint.checkpoint import Checkpoint
from pinnace.distribute.dtensor.api import fetch_layout
from pinnace.distribute.dtensor.values import check_fits, laid_out_array
from pinnace.distribute.dtensor.variable import DVariable
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinnace.distribute.dtensor.layout import Layout
    from pinnace.distribute.dtensor.mesh import Mesh
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.trackable import Trackable
    from pinnace.framework.variable import Variable


class DTensorCheckpoint(Checkpoint):
    """A `train.Checkpoint`, which keeps layouts too; TensorFlow has both.

    Args:
        mesh: the mesh of the variables.
        root: the object whose children they are; None makes this object the root.
        **kwargs: objects, by the names under which they are stored.

    Raises:
        ValueError: an object has no named children.
    """

    def __init__(self, mesh: Mesh, root: Trackable | None = None, **kwargs: Any) -> None:
        super().__init__(root, **kwargs)
        # Not as attributes are set: this would become a child.
        object.__setattr__(self, "_mesh", mesh)


def enable_save_as_bf16(variables: Iterable[Variable]) -> None:
    """Have checkpoints keep float32 variables as bfloat16: half the bytes, and fewer digits.

    Args:
        variables: those that are DVariables are changed.
    """
    for variable in variables:
        if isinstance(variable, DVariable):
            variable.save_as_bf16 = True


def sharded_save(
    mesh: Mesh,
    file_prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Tensor | Variable],
) -> None:
    """Write tensors by their names.

    Args:
        mesh: the mesh of the tensors.
        file_prefix: the path, without the endings of its files.
        tensor_names: a name for each tensor.
        shape_and_slices: for each tensor "", which is the whole.
        tensors: the tensors.

    Raises:
        InvalidArgumentError: not as many names as tensors, or a part of a tensor is asked for.
    """
    del mesh
    names = [_text(name) for name in _items(tensor_names)]
    slices = [_text(part) for part in _items(shape_and_slices)]
    if not len(names) == len(slices) == len(tensors):
        raise InvalidArgumentError(
            f"sharded_save: there must be a name and a slice for each tensor, got {len(names)} "
            f"names, {len(slices)} slices and {len(tensors)} tensors"
        )
    if any(slices):
        raise InvalidArgumentError(
            f'sharded_save: whole tensors are written, and slices must be "", got {slices}'
        )
    prefix = _text(_items(file_prefix)[0]) if not isinstance(file_prefix, str) else file_prefix
    with BundleWriter(prefix) as bundle:
        for name, tensor in zip(names, tensors, strict=True):
            value = convert_to_tensor(tensor)
            bundle.add(name, value._array, value.dtype)


def _items(given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, os.PathLike)):
        return [given]
    if isinstance(given, (list, tuple)):
        return list(given)
    return np.atleast_1d(np.asarray(convert_to_tensor(given)._array)).tolist()  # type: ignore[no-any-return]


def _text(given: Any) -> str:
    return given.decode() if isinstance(given, bytes) else str(given)


def name_based_save(
    mesh: Mesh, checkpoint_prefix: Any, name_tensor_dict: Mapping[str, Tensor | Variable]
) -> None:
    """Write tensors by their names.

    Args:
        mesh: the mesh of the tensors.
        checkpoint_prefix: the path, without the endings of its files.
        name_tensor_dict: the tensors by their names.

    Raises:
        ValueError: a function is being traced.
    """
    if state.tracer is not None:
        raise ValueError("name based save must run eagerly.")
    names = list(name_tensor_dict)
    tensors = list(name_tensor_dict.values())
    sharded_save(mesh, checkpoint_prefix, names, [""] * len(names), tensors)


def name_based_restore(
    mesh: Mesh, checkpoint_prefix: str, name_tensor_dict: Mapping[str, Tensor | Variable]
) -> collections.OrderedDict[str, Tensor]:
    """Read tensors by their names.

    Args:
        mesh: the mesh of the tensors.
        checkpoint_prefix: the path, without the endings of its files.
        name_tensor_dict: for each name a tensor or variable, whose layout what is read gets.

    Returns:
        The tensors by their names.

    Raises:
        ValueError: a tensor has no layout, or a function is being traced.
        NotFoundError: there is no such file, or no tensor of a name.
        InvalidArgumentError: a tensor in the file has another shape or dtype.
    """
    del mesh
    if state.tracer is not None:
        raise ValueError("name based restore must run eagerly.")
    found: collections.OrderedDict[str, Tensor] = collections.OrderedDict()
    layouts: dict[str, Layout] = {}
    for name, like in name_tensor_dict.items():
        try:
            layout = fetch_layout(like)
        except InvalidArgumentError:
            layout = None
        if layout is None:
            raise ValueError(f"Saving/Restoring tensor must be a DTensor, {name!r} is {like!r}")
        layouts[name] = layout
    with BundleReader(checkpoint_prefix) as bundle:
        for name, like in name_tensor_dict.items():
            array = bundle.read(name)
            if not like.shape.is_compatible_with(array.shape) or array.dtype != like.dtype.numpy:
                raise InvalidArgumentError(
                    f"name_based_restore: {name!r} must be {like.dtype.name}{like.shape.text}, the "
                    f"file has {array.dtype}{list(array.shape)}"
                )
            check_fits("name_based_restore", array.shape, layouts[name])
            found[name] = laid_out_array(np.array(array), layouts[name])
    return found
