"""The functions of a SavedModel: made from its library, bound to the objects that they capture."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
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
    from pinnace.ops.shared_resources import Container


class SavedFunctions:
    """Creates the functions of one SavedModel.

    Args:
        saved: the file's description of objects and functions.
        objects: the objects by number; filled before the first function is made.
        library: the functions as graphs.
        where: the file, for errors.
        lock: held while a function is made.
        signature_inputs: the names that signatures have for their inputs, by their functions.
        container: the container of shared tables.
    """

    def __init__(
        self,
        saved: Objects,
        objects: Mapping[int, Any],
        library: FunctionLibrary,
        where: str,
        lock: threading.RLock,
        signature_inputs: Mapping[str, Collection[str]],
        container: Container,
    ) -> None:
        self._saved = saved
        self._objects = objects
        self._library = library
        self._where = where
        self._lock = lock
        self._signature_inputs = signature_inputs
        self._container = container
        # Weak: a function's owner refers to this object, and a cycle would keep the weights of a
        # model that is no longer used until the next garbage collection.
        self._concrete: weakref.WeakValueDictionary[tuple[str, bool], LazyConcrete] = (
            weakref.WeakValueDictionary()
        )

    def let_go(self) -> None:
        """Keep only the objects that functions may capture: the others refer to the functions."""
        kept = {number: one for number, one in self._objects.items() if _can_be_captured(one)}
        self._objects = kept

    def use_instead(self, pairs: Mapping[int, Variable]) -> None:
        """Capture other variables instead.

        Args:
            pairs: the replacement of each variable object, by its number.
        """
        self._objects = {**self._objects, **pairs}

    def lazy(self, name: str, *, by_name: bool) -> LazyConcrete:
        """A function that is built on first use; the same one while it is referenced.

        Args:
            name: the function's name.
            by_name: whether it is called by keywords only, as signatures are.

        Raises:
            InvalidArgumentError: no function has that name.
        """
        found = self._concrete.get((name, by_name))
        if found is None:
            info = self._saved.functions.get(name)
            if info is None or name not in self._library:
                raise InvalidArgumentError(
                    f"{self._where}: there is no function {name!r}, which an object refers to"
                )
            found = self._concrete[name, by_name] = LazyConcrete(
                name,
                lambda: self._arguments(name),
                lambda: self._concrete_function(name, by_name=by_name),
                self._lock,
            )
        return found

    def _arguments(self, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """`(args, kwargs)` of a function.

        Without a stored signature, as for the result of `prune` on a wrapped function, there is a
        tensor argument for each input of the graph, by position or by the keyword of its object.
        """
        info = self._saved.functions[name]
        if info.arguments.WhichOneof("kind") not in (None, "none_value"):
            return decode_arguments(info.arguments, f"{self._where}: function {name!r}")
        graph = self._library.graph(name)
        taken = len(graph.inputs) - len(info.bound)
        keywords = self._keywords(name)
        names = keywords if len(keywords) == taken else graph.input_names
        inputs = zip(graph.inputs[: max(taken, 0)], names, strict=False)
        return tuple(value.spec.with_name(key) for value, key in inputs), {}

    def _checked(self, name: str) -> tuple[Graph, Any, Any]:
        """A function's graph, its arguments and results, after checking that they match."""
        info = self._saved.functions[name]
        where = f"{self._where}: function {name!r}"
        arguments = self._arguments(name)
        results = decode_structure(info.results, f"{where}, results")
        graph = self._library.graph(name)
        taken = len(graph.inputs) - len(info.bound)
        if not _fits(taken, arguments) or not _fits(len(graph.outputs), results):
            raise InvalidArgumentError(
                f"{where} takes {len(graph.inputs)} tensors and returns {len(graph.outputs)}; its "
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
        aliases: dict[str, str] = {}
        if by_name:
            aliases = self._aliases(name, arguments[1])
            graph, arguments = _renamed(graph, arguments[1], aliases)
        made = ConcreteFunction(
            graph,
            [tensor for tensor, _ in bound],
            arguments,
            results,
            [variable for _, variable in bound if variable is not None],
            by_name=by_name,
            aliases=aliases,
        )
        made.kept_alive = self._container
        return made

    def gives_no_handle(self, function: FunctionObject) -> bool:
        """Whether a function that should create a resource returns something else."""
        results = [self._saved.functions[name].results for name in function.concrete]
        return bool(results) and all(
            one.tensor_spec_value.dtype != dtypes.resource.enum for one in results
        )

    def _keywords(self, name: str) -> tuple[str, ...]:
        """The names that the object of a concrete function has for its tensors, in order."""
        for item in self._saved.items:
            if isinstance(item.kind, ConcreteObject) and item.kind.name == name:
                return item.kind.keywords
        return ()

    def _aliases(self, name: str, specs: Mapping[str, Any]) -> dict[str, str]:
        """The names of a signature's inputs by those under which its function has them.

        TensorFlow makes a Python identifier from a name with special characters: `0/discount` is
        `arg_0_discount` in the function and unchanged in the signature.
        """
        keywords, wanted = self._keywords(name), self._signature_inputs.get(name, ())
        if set(specs) == set(wanted) or set(keywords) != set(wanted):
            return {}
        tensors = sorted(specs)
        return dict(zip(tensors, keywords, strict=True)) if len(tensors) == len(keywords) else {}

    def _check_bound(self, number: int, where: str) -> None:
        """Check that a function can capture an object, and that its file is there."""
        target = self._objects.get(number)
        if not _can_be_captured(target):
            raise UnimplementedError(
                f"{where} captures object {number}, not a variable, constant, asset or table"
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
            number: the object's number.
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
        # In order of creation: functions by name, their captures by number.
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
        if not isinstance(self._objects.get(number), RestoredResource):
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


def _can_be_captured(target: Any) -> bool:
    return isinstance(target, (Variable, Tensor, Asset, RestoredResource))


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


def _renamed(
    graph: Graph, specs: dict[str, Any], aliases: Mapping[str, str]
) -> tuple[Graph, tuple[tuple[()], dict[str, Any]]]:
    """A graph with arguments renamed and reordered by name, and its new arguments."""
    if not aliases:
        return graph, ((), specs)
    renamed = {aliases[name]: spec for name, spec in specs.items()}
    places = {aliases[name]: place for place, name in enumerate(sorted(specs))}
    order = [places[name] for name in sorted(renamed)]
    order += range(len(order), len(graph.inputs))
    graph = dataclasses.replace(
        graph,
        inputs=tuple(graph.inputs[place] for place in order),
        input_names=tuple(graph.input_names[place] for place in order),
    )
    return graph, ((), renamed)


def _fits(count: int, specs: Any) -> bool:
    """Whether a structure of specs may have this number of tensors."""
    least = _tensors_in(specs)
    leaves = structure.flatten(specs, expand_composites=True)
    # For an unknown class, older files do not contain the number of its tensors.
    is_exact = all(leaf.tensors for leaf in leaves if isinstance(leaf, OpaqueSpec))
    return count == least if is_exact else count >= least


def _tensors_in(specs: Any) -> int:
    """The number of tensors of a structure of specs, as far as known."""
    leaves = structure.flatten(specs, expand_composites=True)
    opaque = sum(leaf.tensors for leaf in leaves if isinstance(leaf, OpaqueSpec))
    return opaque + sum(isinstance(leaf, TensorSpec) for leaf in leaves)
