"""The objects of a SavedModel, made from what its file says and connected as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.restoring import stored_objects
from pinnace.framework import structure
from pinnace.framework.containers import DictWrapper, ListWrapper, TupleWrapper
from pinnace.framework.context import init_scope
from pinnace.framework.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable, VariableAggregation, VariableSynchronization
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.saved_model import layout
from pinnace.saved_model.assets import Asset, resolve_asset
from pinnace.saved_model.codecs.objects import (
    DICT,
    LIST,
    SIGNATURE_MAP,
    TUPLE,
    AssetObject,
    CallSpec,
    CapturedObject,
    ConcreteObject,
    ConstantObject,
    FunctionObject,
    Objects,
    ResourceObject,
    SavedItem,
    UserObject,
    VariableObject,
    decode_objects,
)
from pinnace.saved_model.codecs.structures import decode_structure
from pinnace.saved_model.restored import (
    LazyConcrete,
    RestoredCallable,
    RestoredFunction,
    RestoredObject,
    RestoredResource,
    SignatureMap,
)
from pinnace.saved_model.stored_variables import restore_variables
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.saved_model.options import LoadOptions

# Attributes in which restored objects keep what is no child of theirs.
_BOOKKEEPING = frozenset(
    {"_made_handle", "_making", "_stored_values", "_tracked", "_waiting_for_children"}
)


class Loader:
    """Makes the objects of one SavedModel.

    Args:
        folder: the model.
        meta: its graph.
        options: see `LoadOptions`.
    """

    def __init__(self, folder: Path, meta: MetaGraphDef, options: LoadOptions) -> None:
        self._folder = folder
        self._meta = meta
        self._options = options
        self._where = str(layout.model_path(folder))
        self._saved: Objects = decode_objects(meta.object_graph_def, self._where)
        self._library = FunctionLibrary(
            meta.graph_def.library.function,
            self._where,
            meta.meta_info_def.stripped_op_list.op,
            allow_io=options.allow_io,
        )
        # The names of the traces of functions; what is no trace is called by name.
        self._traced = {
            name
            for item in self._saved.items
            if isinstance(item.kind, FunctionObject)
            for name in item.kind.concrete
        }
        # What some parent calls an object.
        self._known_as = {
            child: name for item in reversed(self._saved.items) for name, child in item.children
        }
        self._objects: dict[int, Any] = {}
        self._concrete: dict[tuple[str, bool], LazyConcrete] = {}
        self._constants: dict[str, Tensor] | None = None

    def load(self) -> Any:
        """The root, complete."""
        for number in range(len(self._saved.items)):
            self._make(number)
        for number, item in enumerate(self._saved.items):
            self._attach_children(number, item)
        root = self._objects[0]
        self._restore_variables(root)
        self._fill_from_assets()
        self._describe_model(root)
        return root

    def _fill_from_assets(self) -> None:
        """Fill tables now if files may be what fills them: later the folder may be another model.

        What cannot be filled says so when it is used, as it would have without.
        """
        if any(isinstance(one, Asset) for one in self._objects.values()):
            for one in self._objects.values():
                if isinstance(one, RestoredResource):
                    with contextlib.suppress(OpError):
                        _ = one.resource_handle

    # Making objects.

    def _make(self, number: int) -> Any:
        """One object, without its children; tuples have them from the beginning."""
        if number not in self._objects:
            item = self._saved.items[number]
            if isinstance(item.kind, UserObject) and item.kind.identifier == TUPLE:
                self._objects[number] = self._make_tuple(number, item)
            else:
                self._objects[number] = self._make_kind(number, item)
        return self._objects[number]

    def _make_tuple(self, number: int, item: SavedItem) -> Any:
        """A tuple, after what is in it."""
        waiting: list[tuple[int, bool]] = [(number, False)]
        active: set[int] = set()
        while waiting:
            one, ready = waiting.pop()
            if one in self._objects:
                continue
            item = self._saved.items[one]
            if not (isinstance(item.kind, UserObject) and item.kind.identifier == TUPLE):
                self._objects[one] = self._make_kind(one, item)
            elif ready:
                self._objects[one] = TupleWrapper(
                    [self._objects[child] for child in _in_order(item, self._where)]
                )
            elif one in active:
                raise InvalidArgumentError(f"{self._where}: object {one} is a tuple in itself")
            else:
                active.add(one)
                waiting.append((one, True))
                waiting.extend((child, False) for _, child in item.children)
        return self._objects[number]

    def _make_kind(self, number: int, item: SavedItem) -> Any:
        kind = item.kind
        if isinstance(kind, VariableObject):
            return self._make_variable(kind)
        if isinstance(kind, FunctionObject):
            traces = [self._lazy(name, by_name=False) for name in kind.concrete]
            name = self._known_as.get(number) or (kind.concrete or (f"function {number}",))[0]
            try:
                return RestoredFunction(name, kind.spec, traces)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(
                    f"{self._where}: function {name!r}: {error.message}"
                ) from error
        if isinstance(kind, ConcreteObject):
            return self._lazy(kind.name, by_name=kind.name not in self._traced)
        if isinstance(kind, ConstantObject):
            return self._constant(kind.node)
        if isinstance(kind, AssetObject):
            return self._asset(kind.index)
        if isinstance(kind, ResourceObject):
            return RestoredResource()
        if isinstance(kind, CapturedObject):
            return RestoredObject()
        return self._make_user_object(kind, item)

    def _make_user_object(self, kind: UserObject, item: SavedItem) -> Any:
        if kind.identifier == SIGNATURE_MAP:
            return SignatureMap({name: self._signature(child) for name, child in item.children})
        if kind.identifier == LIST:
            return ListWrapper()
        if kind.identifier == DICT:
            return DictWrapper()
        if any(name == "__call__" for name, _ in item.children):
            return RestoredCallable()
        return RestoredObject()

    def _make_variable(self, kind: VariableObject) -> Variable:
        variable = Variable.uninitialized(kind.dtype, kind.shape, kind.name, kind.trainable)
        if kind.synchronization in set(VariableSynchronization):
            variable._synchronization = VariableSynchronization(kind.synchronization)
        if kind.aggregation in set(VariableAggregation):
            variable._aggregation = VariableAggregation(kind.aggregation)
        return variable

    def _signature(self, number: int) -> LazyConcrete:
        kind = self._saved.items[number].kind
        if not isinstance(kind, ConcreteObject):
            raise InvalidArgumentError(f"{self._where}: object {number} is not a signature")
        return self._lazy(kind.name, by_name=True)

    def _attach_children(self, number: int, item: SavedItem) -> None:
        target = self._objects[number]
        if isinstance(target, ListWrapper):
            for child in _in_order(item, self._where):
                target.append(self._public(child))
        elif isinstance(target, DictWrapper):
            for name, child in item.children:
                target[name] = self._public(child)
        elif isinstance(target, RestoredObject):
            for name, child in item.children:
                self._attach(target, name, child)

    def _attach(self, target: RestoredObject, name: str, child: int) -> None:
        found = self._objects[child]
        if isinstance(target, RestoredResource) and isinstance(found, LazyConcrete):
            # What fills a table captures it: made now, it would make the table, which is not ready.
            value: Any = RestoredFunction(name, CallSpec(), [found])
        else:
            value = self._public(child)
        if isinstance(value, Trackable):
            target._track(name, value, overwrite=True)
        # Keras' objects have children with names like `_tracked`: what keeps the book stays ours.
        if name not in _BOOKKEEPING and (name == "__call__" or not hasattr(type(target), name)):
            object.__setattr__(target, name, value)

    def _public(self, number: int) -> Any:
        """An object as a user sees it."""
        found = self._objects[number]
        return found.get() if isinstance(found, LazyConcrete) else found

    # Functions and what they capture.

    def _lazy(self, name: str, *, by_name: bool) -> LazyConcrete:
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
                lambda: _decode_arguments(info.arguments, where),
                lambda: self._concrete_function(name, by_name=by_name),
            )
        return found

    def _concrete_function(self, name: str, *, by_name: bool) -> ConcreteFunction:
        info = self._saved.functions[name]
        where = f"{self._where}: function {name!r}"
        arguments = _decode_arguments(info.arguments, where)
        results = decode_structure(info.results, f"{where}, results")
        graph = self._library.graph(name)
        taken = _tensors_in(arguments)
        given = _tensors_in(results)
        if len(graph.inputs) != taken + len(info.bound) or len(graph.outputs) != given:
            raise InvalidArgumentError(
                f"{where} takes {len(graph.inputs)} tensors and gives {len(graph.outputs)}; its "
                f"signature has {taken} and {given}, and {len(info.bound)} are bound to it"
            )
        with init_scope():
            bound = [self._bound(number, where) for number in info.bound]
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

    def _bound(self, number: int, where: str) -> tuple[Tensor, Variable | None]:
        """The tensor that stands for a captured object, and the variable if it is one."""
        target = self._objects[number]
        if isinstance(target, Variable):
            return target.handle, target
        if isinstance(target, Tensor):
            return target, None
        if isinstance(target, Asset):
            return target.asset_path, None
        if isinstance(target, RestoredResource):
            return target.resource_handle, None
        raise UnimplementedError(
            f"{where} captures object {number}, which is no variable, constant, asset or table"
        )

    def _constant(self, name: str) -> Tensor:
        if self._constants is None:
            wanted = {
                item.kind.node
                for item in self._saved.items
                if isinstance(item.kind, ConstantObject)
            }
            self._constants = {
                node.name: self._decode_constant(node)
                for node in self._meta.graph_def.node
                if node.name in wanted
            }
        found = self._constants.get(name)
        if found is None:
            raise InvalidArgumentError(
                f"{self._where}: the main graph has no constant {name!r}, which an object refers to"
            )
        return found

    def _decode_constant(self, node: Any) -> Tensor:
        where = f"{self._where}: constant {node.name!r}"
        if node.op != "Const" or "value" not in node.attr:
            raise InvalidArgumentError(f"{where} is a {node.op} node")
        value = node.attr["value"].tensor
        return wrap(decode_tensor(value, where), decode_dtype(value.dtype, where))

    def _asset(self, index: int) -> Asset:
        assets = self._meta.asset_file_def
        if not 0 <= index < len(assets):
            raise InvalidArgumentError(
                f"{self._where}: there is no asset {index}, there are {len(assets)}"
            )
        name = assets[index].filename
        return resolve_asset(self._folder, name, self._where, allow_links=self._options.allow_io)

    # Variables.

    def _restore_variables(self, root: Any) -> None:
        variables = [one for one in self._objects.values() if isinstance(one, Variable)]
        stateful = variables or any(
            isinstance(one, RestoredResource) for one in self._objects.values()
        )
        if self._options.experimental_skip_checkpoint or not stateful:
            return
        prefix = layout.variables_prefix(self._folder)
        reader = BundleReader(prefix)
        restore_variables(reader, stored_objects(reader), root, self._saved, self._objects)
        missing = [one for one in variables if not one.is_initialized()]
        if missing and not self._options.allow_partial_checkpoint:
            names = ", ".join(repr(one.name) for one in missing[:5])
            raise NotFoundError(
                f"{index_path(prefix)} has no value for {len(missing)} of {len(variables)} "
                f"variables: {names}{', ...' if len(missing) > 5 else ''}"
            )
        if self._options.verify:
            reader.verify_all()

    def _describe_model(self, root: Any) -> None:
        """What TensorFlow puts on the root beside its children."""
        if isinstance(root, RestoredObject):
            info = self._meta.meta_info_def
            put: Callable[[Any, str, object], None] = object.__setattr__
            put(root, "tensorflow_version", info.tensorflow_version)
            put(root, "tensorflow_git_version", info.tensorflow_git_version)
            if not hasattr(root, layout.SIGNATURES):
                put(root, layout.SIGNATURES, SignatureMap({}))
            elif not isinstance(getattr(root, layout.SIGNATURES), SignatureMap):
                raise InvalidArgumentError(
                    f"{self._where}: the root's child {layout.SIGNATURES!r} is no map of signatures"
                )
            if self._options.experimental_load_function_aliases:
                put(root, "function_aliases", self._aliases())

    def _aliases(self) -> dict[str, Any]:
        found: dict[str, list[ConcreteFunction]] = {}
        for name, alias in self._meta.meta_info_def.function_aliases.items():
            if name in self._saved.functions:
                found.setdefault(alias, []).append(self._lazy(name, by_name=False).get())
        return {alias: one[0] if len(one) == 1 else one for alias, one in found.items()}


def _in_order(item: SavedItem, where: str) -> list[int]:
    """The children of a list, by their indices."""
    numbers = {}
    for name, child in item.children:
        if name.isascii() and name.isdigit():
            numbers[int(name)] = child
    if sorted(numbers) != list(range(len(numbers))):
        raise InvalidArgumentError(
            f"{where}: the elements of a list are numbered {sorted(numbers)[:10]}"
        )
    return [numbers[index] for index in range(len(numbers))]


def _decode_arguments(message: Any, where: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
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


def _tensors_in(specs: Any) -> int:
    """How many tensors a structure of specs stands for."""
    leaves = structure.flatten(specs, expand_composites=True)
    return sum(isinstance(leaf, TensorSpec) for leaf in leaves)
