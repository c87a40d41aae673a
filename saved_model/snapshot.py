"""A frozen view of the objects to save: the kind of each, and what functions capture."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.checkpoint.object_graph import Tree, tree_of
from pinnace.framework import dtypes, structure
from pinnace.framework.containers import DictWrapper, ListWrapper, TupleWrapper
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.places import for_files
from pinnace.framework.resources import TrackableResource
from pinnace.framework.specs import TensorSpec
from pinnace.framework.storage import Resource
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.trackable import Trackable, is_variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import Function
from pinnace.saved_model.assets import Asset
from pinnace.saved_model.codecs.objects import (
    DICT,
    LIST,
    SIGNATURE_MAP,
    TUPLE,
    AssetObject,
    CallSpec,
    ConcreteObject,
    ConstantObject,
    FunctionObject,
    Kind,
    ResourceObject,
    SavedItem,
    UserObject,
    VariableObject,
)
from pinnace.saved_model.codecs.structures import encodable
from pinnace.saved_model.custom_gradients import GradientFunction, gradient_functions
from pinnace.saved_model.layout import SIGNATURES
from pinnace.saved_model.restored import RestoredFunction, RestoredOptimizer, SignatureMap
from pinnace.saved_model.saveables import saveable_functions
from pinnace.saved_model.signatures import signatures_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Graph, Value

_log = logging.getLogger("pinnace")

AnyFunction: TypeAlias = Function | RestoredFunction | ConcreteFunction
_FUNCTIONS = (Function, RestoredFunction, ConcreteFunction)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects to save, and their references to each other.

    Attributes:
        tree: the objects, including variables: the content of the checkpoint.
        objects: every object by its number: those of the tree first, then functions, their traces,
            the signatures, captured constants.
        children: the children of each object, name -> number.
        concrete: the number of each concrete function.
        signatures: by name.
        captures: the numbers of the objects bound to each concrete function's last arguments.
        constants: captured tensors by number.
        variables: by number.
        assets: by number.
        resources: tables and the like, by number.
        saveables: functions that save and restore the contents of a resource, by its number.
        gradients: the functions of custom gradients, each with the numbers of the objects bound to
            its last arguments.
        inner: tensors within functions that gradients capture, by number.
    """

    tree: Tree
    objects: tuple[object, ...]
    children: tuple[dict[str, int], ...]
    concrete: dict[int, ConcreteFunction]
    signatures: dict[str, ConcreteFunction]
    captures: dict[int, tuple[int, ...]]
    constants: dict[int, Tensor]
    variables: dict[int, Any]
    assets: dict[int, Asset]
    resources: dict[int, TrackableResource]
    saveables: dict[int, tuple[int, int]]
    gradients: tuple[tuple[GradientFunction, tuple[int, ...]], ...]
    inner: dict[int, InnerTensor]

    def number_of(self, function: ConcreteFunction) -> int:
        """The number of a concrete function."""
        return next(number for number, one in self.concrete.items() if one is function)


@dataclass(frozen=True, slots=True)
class InnerTensor:
    """A tensor within a function, as one of the objects."""

    value: Value
    graph: Graph


class Signatures:
    """The map of signatures, as one of the objects."""


@dataclass(slots=True)
class _Collection:
    """Assigns numbers to objects, without duplicates."""

    objects: list[object] = field(default_factory=list)
    children: list[dict[str, int]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)

    def add(self, one: object) -> int:
        number = self.numbers.get(id(one))
        if number is None:
            number = self.numbers[id(one)] = len(self.objects)
            self.objects.append(one)
            self.children.append({})
        return number


def take_snapshot(
    root: Trackable, signatures: Any = None, *, custom_gradients: bool = True
) -> Snapshot:
    """The snapshot of all objects below `root`.

    Functions with an input signature that were never called are traced.

    Args:
        root: the object.
        signatures: as `save` takes them.
        custom_gradients: whether custom gradients are included.

    Raises:
        FailedPreconditionError: a function captures a variable that no object below `root` has.
        ValueError: a function cannot be a signature.
    """
    view = View()
    _trace_declared(root, view)
    tree = tree_of(root, view.children)
    found = _Collection(list(tree.objects), [dict(c) for c in tree.children])
    found.numbers = {id(one): number for number, one in enumerate(tree.objects)}
    named: dict[int, dict[str, AnyFunction]] = {}
    for number, one in enumerate(tree.objects):
        named[number] = view.functions(one)
        for name, function in named[number].items():
            found.children[number][name] = found.add(function)
    concrete = _add_traces(found)
    chosen = signatures_of(root, signatures, named[0])
    marker = Signatures()
    if SIGNATURES in found.children[0]:
        raise ValueError(
            "save: the root has an attribute 'signatures', the place of a SavedModel's signatures\n"
            "  Try: another name for it, or del obj.signatures"
        )
    map_number = found.children[0][SIGNATURES] = found.add(marker)
    for name, function in chosen.items():
        number = found.children[map_number][name] = found.add(function)
        concrete[number] = function
    saveables = _add_saveables(found, concrete, tree)
    owners = _owners(tree)
    constants: dict[int, Tensor] = {}
    captures = _captured(found, concrete, owners, constants)
    inner: dict[int, InnerTensor] = {}
    gradients = [
        (function, _captured_by_gradient(found, function, owners, constants, inner))
        for function in _gradients(concrete, custom_gradients)
    ]
    return Snapshot(
        tree,
        tuple(found.objects),
        tuple(found.children),
        concrete,
        chosen,
        captures,
        constants,
        {n: one for n, one in enumerate(tree.objects) if is_variable(one)},
        {n: one for n, one in enumerate(tree.objects) if isinstance(one, Asset)},
        {n: one for n, one in enumerate(tree.objects) if isinstance(one, TrackableResource)},
        saveables,
        tuple(gradients),
        inner,
    )


def _gradients(concrete: Mapping[int, ConcreteFunction], wanted: bool) -> list[GradientFunction]:
    return gradient_functions(one.graph for one in concrete.values()) if wanted else []


def _add_saveables(
    found: _Collection, concrete: dict[int, ConcreteFunction], tree: Tree
) -> dict[int, tuple[int, int]]:
    """Assign numbers to the functions that save and restore the contents of tables."""
    added: dict[int, tuple[int, int]] = {}
    for number, one in enumerate(tree.objects):
        functions = saveable_functions(one) if isinstance(one, TrackableResource) else None
        if functions is not None:
            saves, restores = (found.add(function) for function in functions)
            concrete[saves], concrete[restores] = functions
            added[number] = saves, restores
    return added


class View:
    """The children and functions that objects save; cached, as the look-up may trace."""

    def __init__(self) -> None:
        self._offers: dict[int, Mapping[str, Any] | None] = {}

    def _offer(self, parent: Trackable) -> Mapping[str, Any] | None:
        """The functions that an object selects for saving, None if it does not select."""
        if id(parent) not in self._offers:
            ask = getattr(parent, "_functions_for_saving", None)
            self._offers[id(parent)] = None if ask is None else ask()
        return self._offers[id(parent)]

    def children(self, parent: Trackable) -> Mapping[str, Trackable]:
        """The children that are saved as objects: all but functions and the old signatures."""
        if is_variable(parent):
            return {}
        children = {**parent._trackable_children(), **(self._offer(parent) or {})}
        return {
            name: child
            for name, child in children.items()
            if not isinstance(child, (*_FUNCTIONS, SignatureMap))
        }

    def functions(self, parent: Trackable) -> dict[str, AnyFunction]:
        """The functions that are saved with an object.

        Every `function` among its attributes and methods, and those that it creates for saving
        (`_functions_for_saving`), which override others of the same name.
        """
        if is_variable(parent):
            return {}
        found: dict[str, AnyFunction] = {}
        for kind in reversed(type(parent).__mro__):
            for name, value in vars(kind).items():
                found.pop(name, None)
                if isinstance(value, Function):
                    bound = getattr(parent, name, None)
                    if isinstance(bound, _FUNCTIONS):
                        found[name] = bound
        own: dict[str, Any] = {
            **parent._trackable_children(),
            **getattr(parent, "__dict__", {}),
            **(self._offer(parent) or {}),
        }
        found.update((name, value) for name, value in own.items() if isinstance(value, _FUNCTIONS))
        return dict(sorted(found.items()))


def _trace_declared(root: Trackable, view: View) -> None:
    """Trace declared functions that have no trace yet; first, as this may create variables."""
    for one in tree_of(root, view.children).objects:
        for function in view.functions(one).values():
            if not isinstance(function, Function):
                continue
            if function.input_signature is not None and not function.concrete_functions():
                function.get_concrete_function()
            function.trace_for_files()


def _add_traces(found: _Collection) -> dict[int, ConcreteFunction]:
    """Assign numbers to the traces of all functions."""
    concrete: dict[int, ConcreteFunction] = {}
    for number, one in enumerate(list(found.objects)):
        if isinstance(one, ConcreteFunction):
            concrete[number] = one
        elif isinstance(one, (Function, RestoredFunction)):
            for index, trace in enumerate(saved_traces(one)):
                child = found.children[number][f"trace_{index}"] = found.add(trace)
                concrete[child] = trace
    return concrete


def saved_traces(function: Function | RestoredFunction) -> list[ConcreteFunction]:
    """The traces of a function that can be saved, more specific ones first, as calls try them."""
    if isinstance(function, RestoredFunction):
        traces = function.concrete_functions
    else:
        traces = function.concrete_functions()
    kept: list[ConcreteFunction] = []
    for trace in traces:
        again = for_files(trace.place) != trace.place  # and it was traced for that place, too
        if again or any(trace is one for one in kept):
            continue
        if not encodable(trace.structured_input_signature):
            _log.info(
                "save: a trace of %s is left out, its arguments cannot be written: %s",
                function.name,
                trace.structured_input_signature,
            )
        elif not any(isinstance(tensor, SymbolicTensor) for tensor in trace.captured):
            kept.append(trace)
    return sorted(kept, key=_open_axes)


def _open_axes(trace: ConcreteFunction) -> int:
    """The number of unknown axes in a trace's argument shapes."""
    total = 0
    for leaf in structure.flatten(trace.structured_input_signature):
        if isinstance(leaf, TensorSpec):
            dims = leaf.shape.dims
            total += 1000 if dims is None else dims.count(None)
    return total


def _captured(
    found: _Collection,
    concrete: Mapping[int, ConcreteFunction],
    owners: dict[int, int],
    constants: dict[int, Tensor],
) -> dict[int, tuple[int, ...]]:
    """The objects of every function's captures; tensors become constants."""
    captures: dict[int, tuple[int, ...]] = {}
    for place, function in concrete.items():
        numbers = []
        for index, tensor in enumerate(function.captured):
            number = _number_of(found, tensor, function.name, owners, constants)
            if number in constants:
                found.children[place][f"capture_{index}"] = number
            numbers.append(number)
        captures[place] = tuple(numbers)
    return captures


def _number_of(
    found: _Collection,
    tensor: Tensor,
    function: str,
    owners: dict[int, int],
    constants: dict[int, Tensor],
) -> int:
    """The number of the object that owns a captured tensor."""
    is_handle = tensor.dtype is dtypes.resource
    number = owners.get(id(_resource(tensor) if is_handle else tensor))
    if number is None:
        if is_handle:
            raise _untracked(function, _resource(tensor))
        number = owners[id(tensor)] = found.add(tensor)
        constants[number] = tensor
    return number


def _captured_by_gradient(
    found: _Collection,
    function: GradientFunction,
    owners: dict[int, int],
    constants: dict[int, Tensor],
    inner: dict[int, InnerTensor],
) -> tuple[int, ...]:
    """The objects of a gradient's captures."""
    numbers = []
    for one in function.captured:
        if isinstance(one, Tensor):
            number = _number_of(found, one, function.graph.name, owners, constants)
        else:
            tensor = InnerTensor(one, function.owner)
            number = found.add(tensor)
            inner[number] = tensor
        numbers.append(number)
    return tuple(numbers)


def _owners(tree: Tree) -> dict[int, int]:
    """Ids of resources and tensors -> numbers of their owners."""
    owners: dict[int, int] = {}
    for number, one in enumerate(tree.objects):
        if is_variable(one):
            for resource in one.stored_as():  # type: ignore[attr-defined]  # a variable has them
                owners[id(resource)] = number
        elif isinstance(one, TrackableResource):
            owners[id(_resource(one.resource_handle))] = number
        elif isinstance(one, Asset):
            owners[id(one.asset_path)] = number
    return owners


def _resource(handle: Tensor) -> object:
    return np.asarray(handle._array)[()]


def _untracked(function: str, resource: object) -> FailedPreconditionError:
    what = f"variable {resource.name!r}" if isinstance(resource, Resource) else f"{resource!r}"
    return FailedPreconditionError(
        f"save: function {function!r} uses {what}, which no saved object has as a child\n"
        "  Try: make it an attribute of the saved object, or of one of its children"
    )


def describe_item(snapshot: Snapshot, number: int, names: Mapping[int, str]) -> SavedItem:
    """The message for one object.

    Args:
        snapshot: the snapshot with the object.
        number: the object's number.
        names: names of concrete functions and Const nodes, by number.
    """
    one = snapshot.objects[number]
    children = tuple(snapshot.children[number].items())
    needed = children if isinstance(one, _FUNCTIONS) else ()
    saveables: tuple[tuple[str, int, int], ...] = ()
    if isinstance(one, TrackableResource) and number in snapshot.saveables:
        saveables = ((one._legacy_saveable_name, *snapshot.saveables[number]),)
    slots = tuple((s.original, s.name, s.variable) for s in snapshot.tree.slots.get(number, ()))
    kind = _kind(snapshot, number, one, names)
    return SavedItem(kind, children, needed, slots=slots, saveables=saveables)


def _kind(snapshot: Snapshot, number: int, one: object, names: Mapping[int, str]) -> Kind:
    if number in snapshot.variables:
        return variable_object(one)
    if isinstance(one, (Function, RestoredFunction)):
        traces = [n for name, n in snapshot.children[number].items() if name.startswith("trace_")]
        return FunctionObject(tuple(names[n] for n in traces), call_spec(one))
    if isinstance(one, ConcreteFunction):
        return _concrete_object(one, names[number])
    if number in snapshot.constants:
        return ConstantObject(names[number])
    if isinstance(one, Asset):
        return AssetObject(list(snapshot.assets).index(number))
    if isinstance(one, TrackableResource):
        return ResourceObject()
    if isinstance(one, RestoredOptimizer):
        return UserObject(one._identifier)
    for identifier, kind in _CONTAINERS:
        if isinstance(one, kind):
            return UserObject(identifier)
    return UserObject()


_CONTAINERS: Sequence[tuple[str, type]] = (
    (SIGNATURE_MAP, Signatures),
    (LIST, ListWrapper),
    (DICT, DictWrapper),
    (TUPLE, TupleWrapper),
)


# Characters that TensorFlow does not allow in names of nodes and variables.
_ILLEGAL = re.compile(r"^[^A-Za-z0-9.]|[^A-Za-z0-9_.\\/>-]")


def variable_object(variable: Any) -> VariableObject:
    """The message for a variable."""
    return VariableObject(
        variable.dtype,
        variable.shape,
        bool(variable.is_watched),
        _ILLEGAL.sub("_", variable.node_name),
        int(getattr(variable, "synchronization", 0)),
        int(getattr(variable, "aggregation", 0)),
    )


def call_spec(function: Function | RestoredFunction) -> CallSpec:
    """The parameters of a function; those whose defaults cannot be written become required."""
    if isinstance(function, RestoredFunction):
        return function.call_spec
    spec = function.function_spec
    found = CallSpec.of(spec.signature, spec.input_signature)
    return CallSpec(
        found.args,
        found.varargs,
        found.varkw,
        tuple(value if encodable(value) else None for value in found.defaults),
        found.kwonlyargs,
        {k: value if encodable(value) else None for k, value in found.kwonlydefaults.items()},
        found.input_signature if encodable(found.input_signature) else None,
    )


def _concrete_object(function: ConcreteFunction, name: str) -> ConcreteObject:
    args, kwargs = function.structured_input_signature
    flat = structure.flatten((args, kwargs), expand_composites=True)
    leaves = [leaf for leaf in flat if isinstance(leaf, TensorSpec)]
    keywords = tuple(leaf.name or f"arg_{index}" for index, leaf in enumerate(leaves))
    before = structure.flatten(args, expand_composites=True)
    positional = sum(isinstance(leaf, TensorSpec) for leaf in before)
    if function.by_name:
        spec = CallSpec(kwonlyargs=tuple(sorted(kwargs)))
        return ConcreteObject(name, keywords, 1 if len(keywords) == 1 else 0, spec)
    return ConcreteObject(name, keywords, positional)
