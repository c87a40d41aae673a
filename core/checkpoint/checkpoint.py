"""Checkpoint: the values below some objects, written to a bundle and read back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY
from pinnace.checkpoint.object_graph import describe, encode_object_graph, own_children, tree_of
from pinnace.checkpoint.restoring import NothingRestored, Restoration, restore
from pinnace.checkpoint.state_file import write_state
from pinnace.framework import dtypes, jobs
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.no_effect import ignored
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.storage.bundle_writer import BundleWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.checkpoint.object_graph import ChildrenOf

_COUNTER = "save_counter"


@dataclass(eq=False, slots=True)
class CheckpointOptions:
    """Options for writing a checkpoint; names and defaults are TensorFlow's.

    Attributes:
        experimental_io_device: accepted; there is one machine.
        experimental_enable_async_checkpoint: accepted; writing is done when the call returns.
        experimental_write_callbacks: called with the path, or nothing, after writing.
        enable_async: accepted, as above.
        experimental_skip_slot_variables: accepted; slots are children here.
        experimental_sharding_callback: accepted; see `max_shard_bytes`.
        max_shard_bytes: begin another data file before one would grow beyond this.
    """

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None
    enable_async: bool = False
    experimental_skip_slot_variables: bool = False
    experimental_sharding_callback: Callable[..., Any] | None = None
    max_shard_bytes: int | None = None

    def __post_init__(self) -> None:
        """Warn about options without effect."""
        why = "files are written here and now, all of them"
        ignored(
            "CheckpointOptions",
            why,
            experimental_io_device=self.experimental_io_device,
        )
        ignored(
            "CheckpointOptions",
            "max_shard_bytes says how large a data file becomes",
            experimental_sharding_callback=self.experimental_sharding_callback,
        )
        ignored(
            "CheckpointOptions",
            why,
            False,
            experimental_enable_async_checkpoint=self.experimental_enable_async_checkpoint,
            enable_async=self.enable_async,
            experimental_skip_slot_variables=self.experimental_skip_slot_variables,
        )


class Checkpoint(AutoTrackable):
    """A group of objects whose variables are saved and restored together.

    Args:
        root: the object whose children they are; None makes this object the root.
        **kwargs: objects, by the names under which they are stored.

    Raises:
        ValueError: an object has no named children.

    Source:
        TensorFlow `tf.train.Checkpoint`; the files are those it writes.
    """

    if TYPE_CHECKING:  # its attributes are the objects it was given, whatever their names

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, root: Trackable | None = None, **kwargs: Any) -> None:
        if root is not None:
            kwargs["root"] = root
        attached: dict[str, Trackable] = {}
        for name in sorted(kwargs):
            setattr(self, name, kwargs[name])
            child = getattr(self, name)
            if not isinstance(child, Trackable):
                raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
                    f"Checkpoint: {name!r} must be a Module, a Variable or another Trackable, got "
                    f"{type(child).__name__}"
                )
            if root is not None:
                known = root._trackable_children().get(name)
                if known is not None and known is not child:
                    raise ValueError(
                        f"Checkpoint: the root has another child {name!r} ({type(known).__name__})"
                    )
                attached[name] = child
        # Set past `__setattr__`, which would make them children.
        object.__setattr__(self, "_attached", attached)
        object.__setattr__(self, "_top", root if root is not None else self)

    @property
    def save_counter(self) -> Variable:
        """The number of saves: int64, saved with the rest."""
        top: Trackable = self._top
        found = self._children_of_all(top).get(_COUNTER)
        if found is None:
            with init_scope():
                found = Variable(0, trainable=False, name=_COUNTER, dtype=dtypes.int64)
            if top is self:
                self._track(_COUNTER, found)
            else:
                self._attached[_COUNTER] = found
        if not isinstance(found, Variable):
            raise TypeError(f"Checkpoint: {_COUNTER!r} must be a Variable, got {found!r}")
        return found

    def write(
        self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None
    ) -> str:
        """Write the values, without counting.

        Args:
            file_prefix: path of the checkpoint, without the endings of its files.
            options: see `CheckpointOptions`.

        Returns:
            The path.
        """
        path = os.fspath(file_prefix)
        chosen = options or CheckpointOptions()
        with jobs.chief_path(f"writing checkpoint {path!r}", path) as own:
            write_objects(own, self._top, self._children_of_all, chosen.max_shard_bytes)
        for callback in chosen.experimental_write_callbacks or ():
            _notify(callback, path)
        return path

    def save(
        self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None
    ) -> str:
        """Write the values under the next number, and note it as the latest checkpoint.

        Args:
            file_prefix: path to which `-1`, `-2`, ... is added.
            options: see `CheckpointOptions`.

        Returns:
            The path with the number.
        """
        counter = self.save_counter
        with init_scope():
            counter.assign_add(np.int64(1))
        with jobs.chief_writes(f"saving checkpoint {os.fspath(file_prefix)!r}") as writes:
            path = self.write(f"{os.fspath(file_prefix)}-{int(counter.numpy())}", options)
            if writes:
                write_state(os.path.dirname(path), path, [path])  # noqa: PTH120 (a text)
        return path

    def read(
        self, save_path: str | os.PathLike[str] | None, options: CheckpointOptions | None = None
    ) -> Restoration:
        """Put the values of a checkpoint into the objects; see `restore`."""
        ignored("Checkpoint.read", "values are read when they are needed", options=options)
        if save_path is None:
            return NothingRestored()
        with init_scope():
            return restore(bundle_prefix(save_path), self._top, self._children_of_all)

    def restore(
        self, save_path: str | os.PathLike[str] | None, options: CheckpointOptions | None = None
    ) -> Restoration:
        """Restore the values of a checkpoint, written by `save`, to the objects.

        Objects and variables that do not exist yet get their values when they are made.

        Args:
            save_path: the checkpoint, without the endings of its files, or a SavedModel; None
                restores nothing.
            options: see `CheckpointOptions`.

        Returns:
            A status, with `assert_consumed()` and the like.

        Raises:
            NotFoundError: there is no such checkpoint.
            DataLossError: the file is damaged.
            InvalidArgumentError: a value does not fit its variable.
        """
        _ = self.save_counter  # so that it is restored too
        return self.read(save_path, options)

    def _children_of_all(self, target: Trackable) -> Mapping[str, Trackable]:
        children = own_children(target)
        if target is self._top and self._attached:
            return {**children, **self._attached}
        return children

    _top: Trackable
    _attached: dict[str, Trackable]


def write_objects(
    path: str,
    root: Trackable,
    children_of: ChildrenOf = own_children,
    max_shard_bytes: int | None = None,
) -> None:
    """Write every value below `root`, and by which names it is found.

    Args:
        path: the bundle, without the endings of its files.
        root: the object to begin at.
        children_of: gives the children of an object.
        max_shard_bytes: begin another data file before one would grow beyond this.
    """
    graph, values = describe(tree_of(root, children_of))
    objects = np.empty((), object)
    objects[()] = encode_object_graph(graph).SerializeToString(deterministic=True)
    with BundleWriter(path, max_shard_bytes=max_shard_bytes) as bundle:
        for key, read in values.items():
            bundle.add(key, read())
        bundle.add(OBJECT_GRAPH_KEY, objects)


def bundle_prefix(path: str | os.PathLike[str]) -> str:
    """The bundle for a path; for a SavedModel's folder, the bundle of its variables."""
    text = os.fspath(path)
    inside = os.path.join(text, "variables", "variables")  # noqa: PTH118 (stays a text)
    if os.path.isfile(f"{inside}.index"):  # noqa: PTH113 (as above)
        return inside
    return text


def _notify(callback: Callable[..., Any], path: str) -> None:
    import inspect

    if inspect.signature(callback).parameters:
        callback(path)
    else:
        callback()
