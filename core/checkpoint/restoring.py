"""Restores values to objects, including objects that are created later."""

from __future__ import annotations

import atexit
import contextlib
import logging
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint.keys import OBJECT_CONFIG, OBJECT_GRAPH_KEY, VARIABLE_VALUE, value_name
from pinnace.checkpoint.object_graph import (
    StoredTensor,
    kept_by_optimizers,
    own_children,
    tree_of,
    values_of,
)
from pinnace.checkpoint.stored import stored_objects, stored_under
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.listing import first_of
from pinnace.framework.trackable import Trackable, is_variable
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from pinnace.checkpoint.object_graph import ChildrenOf

_LISTED = 5  # names in an error
_TOLD = 20  # unmatched names listed in the warning

# Names of values that are no weights, and that only some versions store.
_UNCOUNTED = ("save_counter", "seed_generator_state")


class Restoration:
    """The restoration of one checkpoint, and its status.

    Objects match stored ones if the same path of names leads to them from the root. A child that is
    created later gets its value then.

    Args:
        reader: the checkpoint's values.
        root: the object to begin at.
        children_of: gives the children of an object.
    """

    def __init__(
        self, reader: BundleReader, root: Trackable, children_of: ChildrenOf = own_children
    ) -> None:
        self._reader = reader
        self._root = root
        self._children_of = children_of
        self._where = index_path(reader.prefix)
        self._graph = stored_objects(reader)
        self._found: dict[int, Trackable] = {}
        self._used: set[str] = set()
        self._has_slots = any(node.slots for node in self._graph)
        self._match(0, root)
        self._is_told = False
        _OPEN.add(self)

    def _match(self, number: int, target: Trackable) -> None:
        """Restore node `number` and everything below it into `target` and its children."""
        waiting = [(number, target)]
        while waiting:
            number, target = waiting.pop()
            if number in self._found:
                continue
            self._found[number] = target
            self._restore(number, target)
            waiting.extend(self._below(number, target))
            if any(child not in self._found for _, child in self._graph[number].children):
                self._wait_for_children(number, target)
        for number, kept in kept_by_optimizers(self._graph, self._found) if self._has_slots else ():
            self._found[number] = kept
            self._restore(number, kept)

    def _below(self, number: int, target: Trackable) -> list[tuple[int, Trackable]]:
        children = self._children_of(target)
        choose = getattr(target, "_children_as_stored", None)
        if choose is not None:
            stored = {
                name: (child, {n for _, n in self._graph[child].children})
                for name, child in self._graph[number].children
            }
            children = {**children, **choose(stored)}
        return [
            (child, children[name])
            for name, child in self._graph[number].children
            if child not in self._found and name in children
        ]

    def _wait_for_children(self, number: int, target: Trackable) -> None:
        def changed() -> bool:
            for child, appeared in self._below(number, target):
                self._match(child, appeared)
            return all(child in self._found for _, child in self._graph[number].children)

        target._when_children_change(changed)

    def _restore(self, number: int, target: Trackable) -> None:
        stored = {one.name: one for one in self._graph[number].tensors}
        if not stored:
            return
        if is_variable(target):
            one = stored.get(VARIABLE_VALUE)
            if one is not None:
                write_variable(target, self._read(one), f"{self._where}: {one.key!r}")
            return
        restore = getattr(target, "_restore_from_tensors", None)
        legacy = stored.get(getattr(target, "_legacy_saveable_name", ""))
        if restore is not None and legacy is not None:
            self._used.add(legacy.key)
            restore(stored_under(self._reader, legacy.key))
        elif restore is not None:
            # TensorFlow's hook for tables and the like.
            restore({name: self._read(one) for name, one in stored.items()})

    def _read(self, one: StoredTensor) -> Any:
        if one.key not in self._reader:
            raise NotFoundError(f"{self._where} has no value {one.key!r}, which its objects name")
        self._used.add(one.key)
        # A copy: the file may change, and variables outlive it.
        return np.array(self._reader.read(one.key))

    @property
    def stored_names(self) -> set[str]:
        """The names of the root's children in the checkpoint."""
        return {name for node in self._graph[:1] for name, _ in node.children}

    def missing(self) -> list[tuple[str, Trackable]]:
        """The paths of objects below the root that have values but were given none."""
        restored = {id(target) for target in self._found.values()}
        tree = tree_of(self._root, self._children_of)
        return [
            ("/".join(path) or "the root", target)
            for target, path in zip(tree.objects, tree.paths, strict=True)
            if id(target) not in restored and values_of(target)
        ]

    def lost(self, apart: Collection[str]) -> list[str]:
        """The keys of values that no object took, nor one will that is not built yet.

        Args:
            apart: names of children; objects below them do not count.
        """
        found: dict[str, None] = {}
        waiting = [(0, False)] if self._graph else []
        seen: set[tuple[int, bool]] = set()
        while waiting:
            number, later = waiting.pop()
            if (number, later) in seen:
                continue
            seen.add((number, later))
            target = self._found.get(number)
            later = later or (target is not None and getattr(target, "built", True) is False)
            if not later:
                keys = (one.key for one in self._graph[number].tensors)
                found.update(dict.fromkeys(key for key in keys if key not in self._used))
            waiting.extend(
                (n, later) for name, n in self._graph[number].children if name not in apart
            )
        return list(found)

    # The interface of TensorFlow's status objects.

    def assert_consumed(self) -> Restoration:
        """Check that every stored value went into an object and every variable got one.

        Raises:
            AssertionError: a value or a variable is left over.
        """
        self.assert_existing_objects_matched()
        left = self._left()
        if left:
            self._is_told = True
            raise AssertionError(
                f"{self._where} has {len(left)} values that no object took: {_listed(left)}"
            )
        return self

    def _left(self) -> list[str]:
        """The keys of values that no object took."""
        return [
            one.key
            for number, node in enumerate(self._graph)
            for one in node.tensors
            if one.name != OBJECT_CONFIG
            and (one.key not in self._used or number not in self._found)
        ]

    def assert_existing_objects_matched(self) -> Restoration:
        """Check that every variable below the root got a value.

        Raises:
            AssertionError: one did not.
        """
        left = [path for path, _ in self.missing()]
        if left:
            self._is_told = True
            raise AssertionError(
                f"{self._where} has no value for {len(left)} variables: {_listed(left)}"
            )
        return self

    def assert_nontrivial_match(self) -> Restoration:
        """Check that any object below the root was found in the checkpoint.

        Raises:
            AssertionError: only the root was.
        """
        if len(self._found) == 1 and len(self._graph) > 1:
            self._is_told = True
            known = _listed([name for name, _ in self._graph[0].children])
            raise AssertionError(f"{self._where}: nothing matches; stored are {known}")
        return self

    def expect_partial(self) -> Restoration:
        """Do not warn about unmatched values when this status is deleted, or the program ends."""
        self._is_told = True
        return self

    # Like TensorFlow, warn about unmatched values once nothing can be restored any more.

    _is_told = True  # the default if the constructor raised

    def _tell(self) -> None:
        """Warn, once, about values that were not used and variables that got none."""
        if self._is_told:
            return
        self._is_told = True
        lost = [value_name(key) for key in self._left()]
        missing = [path for path, one in self.missing() if _counts(one)]
        told = [
            f"  {what} ({len(names)}): {first_of(names, _TOLD)}"
            for what, names in (
                ("values that no object took", lost),
                ("variables that it has no value for", missing),
            )
            if names
        ]
        if told:
            head = f"checkpoint {self._where.removesuffix('.index')!r} was restored in part"
            hint = "  Try: status.expect_partial(), if that is meant"
            logging.getLogger("pinnace").warning("%s", "\n".join([head, *told, hint]))

    def __del__(self) -> None:
        """Warn about unmatched values."""
        # Objects may be half destroyed at this point: give up silently.
        with contextlib.suppress(Exception):
            self._tell()

    def initialize_or_restore(self, session: object = None) -> None:
        """Accepted for TensorFlow's sake: values are in place already."""

    def run_restore_ops(self, session: object = None) -> None:
        """Accepted for TensorFlow's sake: values are in place already."""


class NamedRestoration(Restoration):
    """A checkpoint of TensorFlow 1: its values belong to variables by name."""

    def __init__(
        self, reader: BundleReader, root: Trackable, children_of: ChildrenOf = own_children
    ) -> None:
        self._reader = reader
        self._root = root
        self._children_of = children_of
        self._where = index_path(reader.prefix)
        self._graph = ()
        self._found = {}
        self._used = set()
        for number, target in enumerate(tree_of(root, children_of).objects):
            if is_variable(target):
                key = target.node_name  # type: ignore[attr-defined]  # a variable has one
                if key in reader:
                    self._found[number] = target
                    self._used.add(key)
                    value = np.array(reader.read(key))
                    write_variable(target, value, f"{self._where}: {key!r}")
        self._is_told = False
        _OPEN.add(self)

    def _left(self) -> list[str]:
        return [key for key in self._reader.keys() if key not in self._used]  # noqa: SIM118 (no dict)


class NothingRestored(Restoration):
    """The status when there was no checkpoint to restore."""

    def __init__(self) -> None:
        self._graph = ()

    def assert_consumed(self) -> Restoration:
        """Always raises: nothing was restored.

        Raises:
            AssertionError: always.
        """
        raise AssertionError("no checkpoint was given (path is None): nothing was restored")

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed


# Restorations alive when the program ends; objects cannot be inspected later than that.
_OPEN: weakref.WeakSet[Restoration] = weakref.WeakSet()


@atexit.register
def _tell_all() -> None:
    for one in list(_OPEN):
        one._tell()


def _counts(target: Trackable) -> bool:
    """Whether a missing value of this object is worth reporting."""
    return not str(getattr(target, "node_name", "")).endswith(_UNCOUNTED)


def restore(
    path: str | os.PathLike[str], root: Trackable, children_of: ChildrenOf = own_children
) -> Restoration:
    """Restore the values of a checkpoint to the objects below `root`.

    Args:
        path: the checkpoint, without the endings of its files.
        root: the object to begin at.
        children_of: gives the children of an object.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: the file is damaged.
        InvalidArgumentError: a value does not fit its variable.
    """
    reader = BundleReader(path)
    kind = Restoration if OBJECT_GRAPH_KEY in reader else NamedRestoration
    return kind(reader, root, children_of)


def write_variable(variable: Any, value: Any, where: str) -> None:
    """Assign to a variable eagerly, even while a function is traced.

    Raises:
        InvalidArgumentError: the value does not fit.
    """
    if not variable.shape.is_compatible_with(value.shape):
        raise InvalidArgumentError(
            f"{where} has shape {list(value.shape)}, variable {variable.name!r} has "
            f"{variable.shape.text}"
        )
    if value.dtype not in {variable.dtype.numpy, variable.stored_dtype.numpy}:
        raise InvalidArgumentError(
            f"{where} is {value.dtype}, variable {variable.name!r} is {variable.dtype.name}"
        )
    variable.restore_value(value)


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
