"""Module: an object that tracks its variables and its submodules."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import name_scope, state
from pinnace.framework.structure import flatten_with_paths
from pinnace.framework.trackable import is_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.variable import Variable

P = ParamSpec("P")
R = TypeVar("R")

_IDENTIFIER = re.compile(r"[a-zA-Z_]\w*", re.ASCII)


class Module(AutoTrackable):
    """An object whose attributes may be variables and further modules, at any depth of nesting.

    Args:
        name: a Python identifier; None takes the class's, in snake case.

    Raises:
        ValueError: `name` is no identifier.

    Source:
        TensorFlow `tf.Module`; the order of variables is that of its attributes' names, its own
        before those of its submodules.
    """

    # Attributes that `_flatten` skips, besides `_untracked`. A subclass adds to it.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset({"_tracked"})

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        if not _IDENTIFIER.fullmatch(str(name)):
            raise ValueError(
                f"Module: name must be a Python identifier, got {name!r}\n"
                f"  {name!r} is not a valid module name"
            )
        self._name = name
        self._scope_name = f"{state.scope}{name}/"

    @property
    def name(self) -> str:
        """The name given to, or made by, the constructor."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A context in which variables and nodes are named below this module."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of this module and its submodules, each once."""
        return tuple(self._flatten(predicate=is_variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones of `variables`."""
        return tuple(self._flatten(predicate=_is_trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Those of `variables` that are not trainable."""
        return tuple(self._flatten(predicate=_is_not_trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules below this one, each once."""
        return tuple(self._flatten(predicate=_is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[object], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """The attributes of this module and of its submodules that satisfy `predicate`.

        Args:
            recursive: whether to go on in submodules.
            predicate: says of a value whether it is wanted; None wants all.
            attribute_traversal_key: key by which attribute names are sorted.
            with_path: whether to yield (path, value) and, with it, a value once per path.
            expand_composites: whether ragged and sparse tensors count as the tensors they are made
                of.
        """
        walk = _Walk(recursive, predicate, attribute_traversal_key, with_path, expand_composites)
        walk.seen.add(id(self))
        return walk.module(self, ())

    @classmethod
    def with_name_scope(
        cls, method: Callable[Concatenate[Any, P], R]
    ) -> Callable[Concatenate[Any, P], R]:
        """The method, run inside the `name_scope` of its object."""

        @functools.wraps(method)
        def scoped(self: Module, /, *args: P.args, **kwargs: P.kwargs) -> R:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped


class _Walk:
    """One traversal of a module's attributes."""

    def __init__(
        self,
        recursive: bool,
        predicate: Callable[[object], bool] | None,
        key: Callable[[str], Any] | None,
        with_path: bool,
        expand_composites: bool,
    ) -> None:
        self.recursive = recursive
        self.predicate = predicate
        self.key = key
        self.with_path = with_path
        self.expand_composites = expand_composites
        self.seen: set[int] = set()
        self.above: list[Module] = []

    def module(self, module: Module, path: tuple[object, ...]) -> Iterator[Any]:
        below: list[tuple[tuple[object, ...], Module]] = []
        self.above.append(module)
        ignored = module._TF_MODULE_IGNORED_PROPERTIES | module._untracked
        attributes = vars(module)
        for name in sorted(attributes, key=self.key):
            if name in ignored:
                continue
            for way, leaf in self.leaves(module, name, attributes[name]):
                if not self.with_path:
                    if id(leaf) in self.seen:
                        continue
                    self.seen.add(id(leaf))
                where = (*path, name, *way)
                if self.predicate is None or self.predicate(leaf):
                    yield (where, leaf) if self.with_path else leaf
                # A module may recur on other paths, but not below itself.
                if (
                    self.recursive
                    and isinstance(leaf, Module)
                    and not any(leaf is one for one in self.above)
                ):
                    below.append((where, leaf))
        for where, leaf in below:
            yield from self.module(leaf, where)
        self.above.pop()

    def leaves(
        self, module: Module, name: str, value: object
    ) -> list[tuple[tuple[object, ...], object]]:
        try:
            return flatten_with_paths(value, self.expand_composites)
        except TypeError as error:
            raise ValueError(
                f"{type(module).__name__}: attribute {name!r} cannot be searched: {error}"
            ) from error


def _is_module(x: object) -> bool:
    return isinstance(x, Module)


def _is_trainable(x: object) -> bool:
    return is_variable(x) and bool(getattr(x, "trainable", False))


def _is_not_trainable(x: object) -> bool:
    return is_variable(x) and not getattr(x, "trainable", False)


def snake_case(name: str) -> str:
    """`MyDense` as `my_dense`, `HTTPServer2` as `http_server2`."""
    # TensorFlow: as tf.Module names its instances.
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()
