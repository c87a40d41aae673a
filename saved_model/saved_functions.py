"""The functions of a SavedModel: made from its library, bound to the objects that they capture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import init_scope
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.saved_model import layout
from pinnace.saved_model.assets import Asset
from pinnace.saved_model.codecs.objects import ConcreteObject, FunctionObject, Objects
from pinnace.saved_model.codecs.structures import OpaqueSpec, decode_structure
from pinnace.saved_model.restored import LazyConcrete, RestoredResource

if TYPE_CHECKING:
    import threading

    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import Graph


class SavedFunctions:
    """Makes the functions of one SavedModel.

    Args:
        saved: what its file says of objects and functions.
        objects: the objects by number; filled before the first function is made.
        library: the functions as graphs.
        where: the file, for errors.
        lock: held while one is made.
    """

    def __init__(
        self,
        saved: Objects,
        objects: Mapping[int, Any],
        library: FunctionLibrary,
        where: str,
        lock: threading.RLock,
    ) -> None:
        self._saved = saved
        self._objects = objects
        self._library = library
        self._where = where
        self._lock = lock
        self._concrete: dict[tuple[str, bool], LazyConcrete] = {}

    def lazy(self, name: str, *, by_name: bool) -> LazyConcrete:
        """A function that is built on first use, and memoised.

        Args:
            name: of the function.
            by_name: whether it is called by keywords only, as signatures are.

        Raises:
            InvalidArgumentError: there is no such function.
        """
        found = self._concrete.get((name, by_name))
        if found is None:
            info = self._saved.functions.get(name)
            if info is None or name not in self._library:
                raise InvalidArgumentError(
                    f"{self._where}: there is no function {name!r}, which an object refers to"
                )
            where = f"{self._where}: function {name!r}"
            found = self._concrete[name, by_name] = LazyConcrete(
                name,
                lambda: decode_arguments(info.arguments, where),
                lambda: self._concrete_function(name, by_name=by_name),
                self._lock,
            )
        return found

    def _checked(self, name: str) -> tuple[Graph, Any, Any]:
        """A function's graph, checked against its arguments and results; and these."""
        info = self._saved.functions[name]
        where = f"{self._where}: function {name!r}"
        arguments = decode_arguments(info.arguments, where)
        results = decode_structure(info.results, f"{where}, results")
        graph = self._library.graph(name)
        taken = len(graph.inputs) - len(info.bound)
        if not _fits(taken, arguments) or not _fits(len(graph.outputs), results):
            raise InvalidArgumentError(
                f"{where} takes {len(graph.inputs)} tensors and gives {len(graph.outputs)}; its "
                f"signature has {_tensors_in(arguments)} and {_tensors_in(results)}, and "
                f"{len(info.bound)} are bound to it"
            )
        return graph, arguments, results

    def _concrete_function(self, name: str, *, by_name: bool) -> ConcreteFunction:
        where = f"{self._where}: function {name!r}"
        graph, arguments, results = self._checked(name)
        numbers = self._saved.functions[name].bound
        with init_scope():
            bound = [self._bound(number, where) for number in numbers]
        taken = len(graph.inputs) - len(numbers)
        for (tensor, _), value in zip(bound, graph.inputs[taken:], strict=True):
            if tensor.dtype is not value.dtype:
                raise InvalidArgumentError(
                    f"{where}: argument {value.node.name!r} is a {value.dtype.name}, bound to it "
                    f"is a {tensor.dtype.name}"
                )
        for (_, variable), value in zip(bound, graph.inputs[taken:], strict=True):
            if variable is not None and value.handle is None:
                value.handle = TensorSpec.of(variable.shape, variable.dtype)
        if by_name:
            by_name = not arguments[0] and isinstance(results, Mapping)
        return ConcreteFunction(
            graph,
            [tensor for tensor, _ in bound],
            arguments,
            results,
            [variable for _, variable in bound if variable is not None],
            by_name=by_name,
        )

    def _check_bound(self, number: int, where: str) -> None:
        """Check that a function can capture an object, and that its file is there."""
        target = self._objects[number]
        if not isinstance(target, (Variable, Tensor, Asset, RestoredResource)):
            raise UnimplementedError(
                f"{where} captures object {number}, which is no variable, constant, asset or table"
            )
        if isinstance(target, Asset) and not Path(target.path).is_file():
            raise NotFoundError(f"{where} needs the asset {target.path}, which is missing")

    def _bound(self, number: int, where: str) -> tuple[Tensor, Variable | None]:
        """The tensor of a captured object, and the variable if it is one."""
        self._check_bound(number, where)
        target = self._objects[number]
        if isinstance(target, Variable):
            return target.handle, target
        if isinstance(target, Asset):
            return target.asset_path, None
        found: Tensor = target if isinstance(target, Tensor) else target.resource_handle
        return found, None

    def bound_tensor(self, number: int, where: str) -> Tensor:
        """The tensor of an object that a function captures.

        Args:
            number: of the object.
            where: the function, for errors.
        """
        with init_scope():
            return self._bound(number, where)[0]

    def graphs_behind(self, name: str) -> list[Graph]:
        """A function, and the functions that create and fill its tables; nothing of it runs.

        Raises:
            OpError: the function cannot be made.
        """
        found: list[Graph] = []
        # In the order in which they are made: functions by name, what is bound to them by number.
        waiting: list[tuple[str, int | None]] = [(name, None)]
        seen: set[str] = set()
        while waiting:
            one, number = waiting.pop()
            if number is not None:
                self._check_bound(number, f"{self._where}: function {one!r}")
                waiting += [(maker, None) for maker in reversed(self._makers_of(number))]
            elif one not in seen:
                seen.add(one)
                found.append(self._checked(one)[0])
                bound = self._saved.functions[one].bound
                waiting += [(one, number) for number in reversed(bound)]
        return found

    def _makers_of(self, number: int) -> list[str]:
        """The functions that create and fill an object, if it is a table."""
        if not isinstance(self._objects[number], RestoredResource):
            return []
        names: list[str] = []
        for name, child in self._saved.items[number].children:
            kind = self._saved.items[child].kind
            if name in (layout.CREATE, layout.INITIALIZE):
                if isinstance(kind, FunctionObject):
                    names += kind.concrete[:1]
                elif isinstance(kind, ConcreteObject):
                    names.append(kind.name)
        return [name for name in names if name in self._saved.functions]


def decode_arguments(message: Any, where: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`(args, kwargs)`."""
    found = decode_structure(message, f"{where}, arguments")
    if (
        not isinstance(found, tuple)
        or len(found) != 2
        or not isinstance(found[0], tuple)
        or not isinstance(found[1], dict)
    ):
        raise InvalidArgumentError(f"{where}: the arguments are not a tuple and a dict")
    return found


def _fits(count: int, specs: Any) -> bool:
    """Whether a structure of specs may consist of so many tensors."""
    least = _tensors_in(specs)
    leaves = structure.flatten(specs, expand_composites=True)
    # Of a class that is not known here, older files do not say of how many tensors it consists.
    is_exact = all(leaf.tensors for leaf in leaves if isinstance(leaf, OpaqueSpec))
    return count == least if is_exact else count >= least


def _tensors_in(specs: Any) -> int:
    """How many tensors a structure of specs consists of, as far as known."""
    leaves = structure.flatten(specs, expand_composites=True)
    opaque = sum(leaf.tensors for leaf in leaves if isinstance(leaf, OpaqueSpec))
    return opaque + sum(isinstance(leaf, TensorSpec) for leaf in leaves)
