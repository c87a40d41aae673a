"""Checkpoint ops: SaveV2, RestoreV2, MergeV2Checkpoints.

Programs use `tf.train.Checkpoint`; these are in the graphs that TensorFlow writes into SavedModels
and in programs that save without objects.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.io.files import text
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.storage.bundle import BundleReader, data_path, index_path
from pinnace.storage.bundle_writer import BundleWriter
from pinnace.storage.slice_keys import parse_slice
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.storage.bundle import Box

__all__: list[str] = []


def _strings(array: Array) -> list[str]:
    found = np.asarray(array, object).reshape(-1).tolist()
    return [item.decode("utf-8", "surrogateescape") for item in found]


def _names(op: str, tensor_names: Array, slices: Array, wanted: int) -> list[tuple[str, str]]:
    names, parts = _strings(tensor_names), _strings(slices)
    if not len(names) == len(parts) == wanted:
        raise InvalidArgumentError(
            f"{op}: tensor_names and shape_and_slices must have one entry for each of {wanted} "
            f"tensors, got {len(names)} and {len(parts)}"
        )
    return list(zip(names, parts, strict=True))


def _part(op: str, name: str, text: str) -> tuple[tuple[int, ...], Box]:
    """The shape of a whole tensor and the requested slice."""
    try:
        return parse_slice(text)
    except ValueError:
        raise InvalidArgumentError(
            f"{op}: shape_and_slices of {name!r} must be like '4 3 0,2:-', got {text!r}"
        ) from None


def _save_kernel(
    prefix: Array,
    tensor_names: Array,
    shape_and_slices: Array,
    tensors: tuple[Array, ...],
    *,
    dtypes: tuple[DType, ...],
) -> None:
    op, path = "SaveV2", text(prefix)
    named = _names(op, tensor_names, shape_and_slices, len(tensors))
    with explained("write", path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    with BundleWriter(path) as writer:
        for (name, part), value, dtype in sorted(
            zip(named, tensors, dtypes, strict=True), key=lambda one: one[0][0].encode()
        ):
            if part:
                writer.add_part(name, *_part(op, name, part), value, dtype)
            else:
                writer.add(name, value, dtype)


def _nothing(call: InferCall) -> tuple[Shape, ...]:
    for index, arg in enumerate(call.op.inputs):
        rank = 0 if arg.name in {"prefix", "destination_prefix"} else 1
        if not arg.is_list and call.spec(index).shape.rank not in {None, rank}:
            call.fail(f"{arg.name} must be a {'scalar' if rank == 0 else 'vector'}")
    return ()


_GIVEN = "prefix: string, tensor_names: string, shape_and_slices: string"
SAVE = define(
    name="SaveV2",
    signature=f"{_GIVEN}, tensors: (dtypes) ->",
    infer=_nothing,
    kernel=_save_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
)


def _restore_kernel(
    prefix: Array, tensor_names: Array, shape_and_slices: Array, *, dtypes: tuple[DType, ...]
) -> tuple[Array, ...]:
    op = "RestoreV2"
    named = _names(op, tensor_names, shape_and_slices, len(dtypes))
    found = []
    with BundleReader(text(prefix)) as reader:
        for (name, part), dtype in zip(named, dtypes, strict=True):
            there = reader.entry(name)
            if there.dtype is not dtype:
                raise InvalidArgumentError(
                    f"{op}: tensor_name = {name}; expected dtype {dtype.name} does not equal "
                    f"original dtype {there.dtype.name}"
                )
            place: tuple[Any, ...] = ()
            if part:
                shape, box = _part(op, name, part)
                place = tuple(slice(start, start + length) for start, length in box)
                if shape != there.shape:
                    raise InvalidArgumentError(
                        f"{op}: {name!r} has shape {list(there.shape)}, shape_and_slices says "
                        f"{list(shape)}"
                    )
            found.append(np.array(reader.read(name)[(*place, ...)]))
    return tuple(found)


def _infer_restore(call: InferCall) -> tuple[Shape, ...]:
    _nothing(call)
    parts = call.constant(2)
    if parts is None:
        return (Shape(None),) * len(call.attrs["dtypes"])
    shapes = []
    for part in _strings(parts):
        box = _part("RestoreV2", "a tensor", part)[1] if part else None
        shapes.append(Shape(None) if box is None else Shape([length for _, length in box]))
    return tuple(shapes)


RESTORE = define(
    name="RestoreV2",
    signature=f"{_GIVEN} -> tensors: (dtypes)",
    attrs={"dtypes": attr("list(type)")},
    infer=_infer_restore,
    kernel=_restore_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
)


def _merge_kernel(
    checkpoint_prefixes: Array,
    destination_prefix: Array,
    *,
    delete_old_dirs: bool,
    allow_missing_files: bool,
) -> None:
    sources, target = _strings(checkpoint_prefixes), text(destination_prefix)
    if allow_missing_files:
        sources = [one for one in sources if Path(index_path(one)).exists()]
    with explained("write", target):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    readers = [BundleReader(one) for one in sources]
    try:
        with BundleWriter(target) as writer:
            for one in readers:
                writer.begin_shard()  # as many data files as before
                for name in one.keys():  # noqa: SIM118 (no dict)
                    writer.add(name, one.read(name), one.entry(name).dtype)
        old = [path for one in readers for path in _files(one)]
    finally:
        for one in readers:
            one.close()
    kept = set(_written(target))
    for path in old:
        if path not in kept:
            Path(path).unlink(missing_ok=True)
    if delete_old_dirs:
        for folder in {Path(one).parent for one in sources} - {Path(target).parent}:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _files(reader: BundleReader) -> list[str]:
    shards = [data_path(reader.prefix, shard, reader.shards) for shard in range(reader.shards)]
    return [index_path(reader.prefix), *shards]


def _written(prefix: str) -> Iterator[str]:
    with BundleReader(prefix) as reader:
        yield from _files(reader)


MERGE = define(
    name="MergeV2Checkpoints",
    signature="checkpoint_prefixes: string, destination_prefix: string ->",
    attrs={
        "delete_old_dirs": attr("bool", default=True),
        "allow_missing_files": attr("bool", default=False),
    },
    infer=_nothing,
    kernel=_merge_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
)
