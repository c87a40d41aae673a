"""The objects of a SavedModel, made and connected as its file describes."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.stored import stored_objects
from pinnace.framework.containers import DictWrapper, ListWrapper, TupleWrapper
from pinnace.framework.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
)
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable, VariableAggregation, VariableSynchronization
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.ops.shared_resources import Container
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
from pinnace.saved_model.custom_gradients import stored_gradients
from pinnace.saved_model.restored import (
    LazyConcrete,
    RestoredCallable,
    RestoredFunction,
    RestoredObject,
    RestoredOptimizer,
    RestoredResource,
    SignatureMap,
)
from pinnace.saved_model.saved_functions import SavedFunctions
from pinnace.saved_model.shared_tables import functions_in
from pinnace.saved_model.stored_variables import restore_variables
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pinnace.graph.codec.gradients import StoredGradient
    from pinnace.graph.graph import Graph
    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.saved_model.options import LoadOptions

# The most elements that lists may leave out in total, and the most digits of an index.
_MOST_LEFT_OUT = 1 << 20
_INDEX_DIGITS = 7
_SYNCHRONIZATIONS = frozenset(VariableSynchronization)
_AGGREGATIONS = frozenset(VariableAggregation)
# Attributes of restored objects that are not their children.
_BOOKKEEPING = frozenset(
    {
        *(
            "_has_no_handle",
            "_identifier",
            "_is_being_made",
            "_made_handle",
            "_making",
            "_making_lock",
        ),
        *("_refused_functions", "_slots", "_stored_values", "_tracked", "_unfilled_handle"),
        "_waiting_for_children",
    }
)


class Loader:
    """Creates the objects of one SavedModel.

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
        self._container = Container()
        library = FunctionLibrary(
            functions_in(self._container, meta.graph_def.library.function, self._creators()),
            self._where,
            meta.meta_info_def.stripped_op_list.op,
            allow_io=options.allow_io,
            gradients=self._stored_gradients,
        )
        # The names of the traces of functions; other concrete functions are called by name.
        self._traced = {
            name
            for item in self._saved.items
            if isinstance(item.kind, FunctionObject)
            for name in item.kind.concrete
        }
        # The name of an object in one of its parents.
        self._known_as = {
            child: name for item in reversed(self._saved.items) for name, child in item.children
        }
        self._objects: dict[int, Any] = {}
        self._constants: dict[str, Tensor] | None = None
        # Functions create tables, and tables call functions: one lock for all of them.
        self._lock = threading.RLock()
        self._functions = SavedFunctions(
            self._saved,
            self._objects,
            library,
            self._where,
            self._lock,
            self._signature_inputs(),
            self._container,
        )
        self._left_out = 0  # elements of lists that are not in the file

    def _creators(self) -> set[str]:
        """The functions that create the resources of objects."""
        found: set[str] = set()
        for item in self._saved.items:
            if isinstance(item.kind, ResourceObject):
                kind = self._saved.items[dict(item.children).get(layout.CREATE, 0)].kind
                found.update(kind.concrete if isinstance(kind, FunctionObject) else ())
        return found

    def _signature_inputs(self) -> dict[str, frozenset[str]]:
        """The names that signatures have for their inputs, by their functions."""
        found = {}
        for item in self._saved.items:
            if isinstance(item.kind, UserObject) and item.kind.identifier == SIGNATURE_MAP:
                for name, child in item.children:
                    kind = self._saved.items[child].kind
                    if isinstance(kind, ConcreteObject) and name in self._meta.signature_def:
                        found[kind.name] = frozenset(self._meta.signature_def[name].inputs)
        return found

    def _stored_gradients(self, library: FunctionLibrary) -> dict[str, StoredGradient]:
        messages = self._meta.graph_def.library.registered_gradients
        return stored_gradients(messages, library, self._saved, self._bound_tensor)

    def _bound_tensor(self, number: int, where: str) -> Tensor:
        return self._functions.bound_tensor(number, where)

    def load(self) -> Any:
        """The root, complete."""
        self.prepare()
        for number, item in enumerate(self._saved.items):
            self._attach_functions(number, item)
        self._fill_from_assets()
        self._initialise_what_has_no_handle()
        root = self._public(0)
        self._describe_model(root)
        self._functions.let_go()
        return root

    def prepare(self) -> None:
        """Create and connect all objects; no function is created, and nothing of the model runs.

        Raises:
            OpError: the model cannot be loaded.
        """
        items = self._saved.items
        for number in range(len(items)):
            self._make(number)
        # Everything that functions may need exists before the first is created, including tables,
        # which their children create.
        for number, item in enumerate(items):
            self._attach_children(number, item)
        for number, item in enumerate(items):
            self._keep_slots(number, item)
        self._restore_variables(self._objects[0])

    def signature_names(self) -> dict[str, str]:
        """The signatures, with the names of their functions."""
        found = {}
        for name, child in self._saved.items[0].children:
            if name == layout.SIGNATURES:
                for signature, number in self._saved.items[child].children:
                    kind = self._saved.items[number].kind
                    if isinstance(kind, ConcreteObject):
                        found[signature] = kind.name
        return found

    def graphs_behind(self, function: str) -> list[Graph]:
        """A function, and the functions that create and fill its tables; nothing of it runs.

        Raises:
            OpError: the function cannot be made.
        """
        return self._functions.graphs_behind(function)

    def children_of(self, number: int) -> dict[str, int]:
        """The numbers of an object's children, by name."""
        return dict(self._saved.items[number].children)

    def object(self, number: int) -> Any:
        """The object of that number."""
        return self._objects[number]

    def use_instead(self, pairs: Mapping[int, Variable]) -> None:
        """Make functions that are not created yet capture other variables.

        Args:
            pairs: the replacement of each variable object, by its number.
        """
        self._objects.update(pairs)
        self._functions.use_instead(pairs)

    def _fill_from_assets(self) -> None:
        """Fill tables from assets now, since the folder may hold another model later.

        A table that cannot be filled raises its error on use, as it would without this.
        """
        if any(isinstance(one, Asset) for one in self._objects.values()):
            for one in self._objects.values():
                if isinstance(one, RestoredResource):
                    with contextlib.suppress(OpError):
                        _ = one.resource_handle

    def _initialise_what_has_no_handle(self) -> None:
        """Run the initialisers of tables that functions find only by name.

        TensorFlow writes them for models of version 1 that it loaded and saved. No function takes
        a handle from such an object, so that no later use would run its initialiser.
        """
        if self._options.experimental_skip_checkpoint:
            return
        for number, item in enumerate(self._saved.items):
            one = self._objects[number]
            children = dict(item.children)
            if isinstance(one, RestoredResource) and layout.INITIALIZE in children:
                kind = self._saved.items[children.get(layout.CREATE, 0)].kind
                if isinstance(kind, FunctionObject) and self._functions.gives_no_handle(kind):
                    try:
                        one.initialise_without_handle()
                    except OpError as error:
                        warnings.warn(
                            f"{self._where}: object {number} cannot be initialised; functions that "
                            f"use what it fills will fail: {error.message}",
                            stacklevel=2,
                        )

    # Making objects.

    def _make(self, number: int) -> Any:
        """Create one object, without its children; tuples get them on creation."""
        if number not in self._objects:
            item = self._saved.items[number]
            if isinstance(item.kind, UserObject) and item.kind.identifier == TUPLE:
                self._objects[number] = self._make_tuple(number, item)
            else:
                self._objects[number] = self._make_kind(number, item)
        return self._objects[number]

    def _make_tuple(self, number: int, item: SavedItem) -> Any:
        """A tuple, after its elements."""
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
                elements = self._in_order(item)
                self._objects[one] = TupleWrapper([self._element(child) for child in elements])
            elif one in active:
                raise InvalidArgumentError(f"{self._where}: tuple {one} contains itself")
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
            traces = [self._functions.lazy(name, by_name=False) for name in kind.concrete]
            name = self._known_as.get(number) or (kind.concrete or (f"function {number}",))[0]
            try:
                return RestoredFunction(name, kind.spec, traces)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(
                    f"{self._where}: function {name!r}: {error.message}"
                ) from error
        if isinstance(kind, ConcreteObject):
            return self._functions.lazy(kind.name, by_name=kind.name not in self._traced)
        if isinstance(kind, ConstantObject):
            return self._constant(kind.node)
        if isinstance(kind, AssetObject):
            return self._asset(kind.index)
        if isinstance(kind, ResourceObject):
            return RestoredResource(self._lock)
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
        if item.slots:
            return RestoredOptimizer(kind.identifier)
        if any(name == "__call__" for name, _ in item.children):
            return RestoredCallable()
        return RestoredObject()

    def _make_variable(self, kind: VariableObject) -> Variable:
        variable = Variable.uninitialized(kind.dtype, kind.shape, kind.name, kind.trainable)
        if kind.synchronization in _SYNCHRONIZATIONS:
            variable._synchronization = VariableSynchronization(kind.synchronization)
        if kind.aggregation in _AGGREGATIONS:
            variable._aggregation = VariableAggregation(kind.aggregation)
        return variable

    def _signature(self, number: int) -> LazyConcrete:
        kind = self._saved.items[number].kind
        if not isinstance(kind, ConcreteObject):
            raise InvalidArgumentError(f"{self._where}: object {number} is not a signature")
        return self._functions.lazy(kind.name, by_name=True)

    def _attach_children(self, number: int, item: SavedItem) -> None:
        """Attach the children of an object, except concrete functions."""
        target = self._objects[number]
        if isinstance(target, ListWrapper):
            for child in self._in_order(item):
                target.append(None if child is None else self._unless_lazy(child))
        elif isinstance(target, DictWrapper):
            for name, child in item.children:
                target[name] = self._unless_lazy(child)
        elif isinstance(target, RestoredObject):
            for name, child in item.children:
                found = self._objects[child]
                if isinstance(target, RestoredResource):
                    # The initialiser of a table captures it: made now, it would create the table.
                    self._attach(target, name, self._element(child))
                elif not isinstance(found, LazyConcrete):
                    self._attach(target, name, found)

    def _attach_functions(self, number: int, item: SavedItem) -> None:
        """Attach the concrete functions among the children of an object."""
        target = self._objects[number]
        if number == 0 and isinstance(target, (LazyConcrete, RestoredFunction)):
            for name, child in item.children:  # TensorFlow: a function has attributes, as the root
                if not hasattr(self._public(0), name):
                    setattr(self._public(0), name, self._public(child))
            return
        for name, child in item.children:
            found = self._objects[child]
            if isinstance(found, LazyConcrete):
                self._attach_function(target, name, found)

    def _attach_function(self, target: Any, name: str, function: LazyConcrete) -> None:
        if isinstance(target, ListWrapper):
            if name.isascii() and name.isdigit():
                target[int(name)] = function.get()
        elif isinstance(target, DictWrapper):
            target[name] = function.get()
        elif isinstance(target, RestoredObject) and not isinstance(target, RestoredResource):
            try:
                value = function.get()
            except OpError:
                target._refuse(name, function)
            else:
                self._attach(target, name, value)

    def _attach(self, target: RestoredObject, name: str, value: Any) -> None:
        if isinstance(value, Trackable):
            target._track(name, value, overwrite=True)
        # Objects of Keras have children with names like `_tracked`: our own attributes must not be
        # replaced.
        if name not in _BOOKKEEPING and (name == "__call__" or not hasattr(type(target), name)):
            object.__setattr__(target, name, value)

    def _keep_slots(self, number: int, item: SavedItem) -> None:
        """Restore the optimizer's slots of variables."""
        target = self._objects[number]
        for original, name, kept in item.slots if isinstance(target, RestoredOptimizer) else ():
            variable, slot = self._objects[original], self._objects[kept]
            if isinstance(variable, Variable) and isinstance(slot, Variable):
                target._keep(variable, name, slot)

    def _unless_lazy(self, number: int) -> Any:
        """An object, or None for a concrete function that is not created yet."""
        found = self._objects[number]
        return None if isinstance(found, LazyConcrete) else found

    def _element(self, number: int | None) -> Any:
        """An element that cannot be set later: a function is created when called."""
        found = None if number is None else self._objects[number]
        if isinstance(found, LazyConcrete):
            kind = self._saved.items[number or 0].kind
            spec = kind.spec if isinstance(kind, ConcreteObject) else None
            return RestoredFunction(found.name, spec or CallSpec(), [found])
        return found

    def _in_order(self, item: SavedItem) -> list[int | None]:
        """The children of a list by their indices; None where an element is not in the file.

        TensorFlow only writes trackable elements: None, numbers and strings in a list leave gaps.
        """
        indices = {
            name: child for name, child in item.children if name.isascii() and name.isdigit()
        }
        if any(len(name) > _INDEX_DIGITS for name in indices):
            raise InvalidArgumentError(f"{self._where}: a list has an index of too many digits")
        numbers = {int(name): child for name, child in indices.items()}
        length = max(numbers, default=-1) + 1
        self._left_out += length - len(numbers)
        if self._left_out > _MOST_LEFT_OUT:
            raise InvalidArgumentError(
                f"{self._where}: more than {_MOST_LEFT_OUT} elements of lists are not in the file"
            )
        return [numbers.get(index) for index in range(length)]

    def _public(self, number: int) -> Any:
        """An object as users see it: a lazy function is created."""
        found = self._objects[number]
        return found.get() if isinstance(found, LazyConcrete) else found

    # Constants and assets.

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
        reader = BundleReader(prefix, largest_read=self._options.largest_read)
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
        """Set the attributes that TensorFlow adds to the root besides its children."""
        if isinstance(root, (RestoredObject, RestoredFunction, ConcreteFunction)):
            info = self._meta.meta_info_def
            put: Callable[[Any, str, object], None] = object.__setattr__
            put(root, "tensorflow_version", info.tensorflow_version)
            put(root, "tensorflow_git_version", info.tensorflow_git_version)
            if not hasattr(root, layout.SIGNATURES):
                put(root, layout.SIGNATURES, SignatureMap({}))
            elif not isinstance(getattr(root, layout.SIGNATURES), SignatureMap):
                raise InvalidArgumentError(
                    f"{self._where}: the root's child {layout.SIGNATURES!r} is not a signature map"
                )
            if self._options.experimental_load_function_aliases:
                put(root, "function_aliases", self._aliases())

    def _aliases(self) -> dict[str, Any]:
        found: dict[str, list[ConcreteFunction]] = {}
        for name, alias in self._meta.meta_info_def.function_aliases.items():
            if name in self._saved.functions:
                found.setdefault(alias, []).append(self._functions.lazy(name, by_name=False).get())
        return {alias: one[0] if len(one) == 1 else one for alias, one in found.items()}
