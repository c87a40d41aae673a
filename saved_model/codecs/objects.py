"""Objects ↔ SavedObjectGraph: what each is, its children, and how functions are called."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.proto import object_graph_pb2 as messages
from pinnace.saved_model.codecs.structures import decode_structure, encode_structure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.proto.struct_pb2 import StructuredValue

GENERIC = "_generic_user_object"
SIGNATURE_MAP = "signature_map"
LIST = "trackable_list_wrapper"
DICT = "trackable_dict_wrapper"
TUPLE = "trackable_tuple_wrapper"
_CONSTANT_NAME = "tf.TrackableConstant"
_VERSION = 1


class CallSpec(NamedTuple):
    """The parameters of a Python function, as `inspect.getfullargspec` returns them.

    Attributes:
        args: names of the positional parameters, without `self`.
        varargs: name of `*args`, or None.
        varkw: name of `**kwargs`, or None.
        defaults: default values of the last of `args`.
        kwonlyargs: names of the parameters after `*`.
        kwonlydefaults: their default values, by name.
        input_signature: specs given by the user.
    """

    args: tuple[str, ...] = ()
    varargs: str | None = None
    varkw: str | None = None
    defaults: tuple[Any, ...] = ()
    kwonlyargs: tuple[str, ...] = ()
    kwonlydefaults: Mapping[str, Any] = MappingProxyType({})
    input_signature: Any = None

    def signature(self) -> inspect.Signature:
        """The same as an `inspect.Signature`.

        Raises:
            InvalidArgumentError: no function can have these parameters.
        """
        try:
            return self._signature()
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"these are not the parameters of a function: {error}"
            ) from error

    def _signature(self) -> inspect.Signature:
        kind = inspect.Parameter
        if len(self.defaults) > len(self.args):
            raise ValueError(f"{len(self.defaults)} defaults for {len(self.args)} arguments")
        optional = len(self.args) - len(self.defaults)
        parameters = [
            kind(
                name,
                kind.POSITIONAL_OR_KEYWORD,
                default=kind.empty if index < optional else self.defaults[index - optional],
            )
            for index, name in enumerate(self.args)
        ]
        if self.varargs is not None:
            parameters.append(kind(self.varargs, kind.VAR_POSITIONAL))
        parameters.extend(
            kind(name, kind.KEYWORD_ONLY, default=self.kwonlydefaults.get(name, kind.empty))
            for name in self.kwonlyargs
        )
        if self.varkw is not None:
            parameters.append(kind(self.varkw, kind.VAR_KEYWORD))
        return inspect.Signature(parameters)

    @staticmethod
    def of(signature: inspect.Signature, input_signature: Any = None) -> CallSpec:
        """The parameters of a Python signature."""
        kind = inspect.Parameter
        args, defaults, kwonly, kwdefaults = [], [], [], {}
        varargs = varkw = None
        for name, parameter in signature.parameters.items():
            if parameter.kind is kind.VAR_POSITIONAL:
                varargs = name
            elif parameter.kind is kind.VAR_KEYWORD:
                varkw = name
            elif parameter.kind is kind.KEYWORD_ONLY:
                kwonly.append(name)
                if parameter.default is not kind.empty:
                    kwdefaults[name] = parameter.default
            else:
                args.append(name)
                if parameter.default is not kind.empty:
                    defaults.append(parameter.default)
        return CallSpec(
            tuple(args), varargs, varkw, tuple(defaults), tuple(kwonly), kwdefaults, input_signature
        )


class UserObject(NamedTuple):
    """Any object; the identifier distinguishes containers from others."""

    identifier: str = GENERIC
    metadata: str = ""


class VariableObject(NamedTuple):
    """A variable; its value is in the checkpoint."""

    dtype: DType
    shape: Shape
    trainable: bool = True
    name: str = ""
    synchronization: int = 0
    aggregation: int = 0


class FunctionObject(NamedTuple):
    """A function with several concrete ones, by their names."""

    concrete: tuple[str, ...]
    spec: CallSpec


class ConcreteObject(NamedTuple):
    """A single concrete function: a trace, or a signature."""

    name: str
    keywords: tuple[str, ...] = ()
    positional: int = 0
    spec: CallSpec | None = None


class ConstantObject(NamedTuple):
    """A captured tensor: the name of a Const node in the main graph."""

    node: str


@dataclass(frozen=True, slots=True)
class AssetObject:
    """An asset file: its index in the list of assets."""

    index: int


class ResourceObject(NamedTuple):
    """A table or the like, made by a function among its children."""

    device: str = ""


class CapturedObject(NamedTuple):
    """A tensor inside another function."""

    name: str
    function: str


Kind: TypeAlias = (
    UserObject
    | VariableObject
    | FunctionObject
    | ConcreteObject
    | ConstantObject
    | AssetObject
    | ResourceObject
    | CapturedObject
)


class SavedItem(NamedTuple):
    """One object: its kind, its children by name, its dependencies.

    Attributes:
        slots: its slot variables: (number of the variable, name, number of the slot variable).
        saveables: the functions that save and restore its values, by their names in checkpoints.
    """

    kind: Kind
    children: tuple[tuple[str, int], ...] = ()
    dependencies: tuple[tuple[str, int], ...] = ()
    registered_name: str = ""
    slots: tuple[tuple[int, str, int], ...] = ()
    saveables: tuple[tuple[str, int, int], ...] = ()


class ConcreteInfo(NamedTuple):
    """The calling convention of a concrete function, and the objects bound to its last arguments.

    Attributes:
        bound: numbers of the captured objects.
        arguments: `(args, kwargs)` with specs for tensors; decoded on first use.
        results: specs of the results; decoded on first use.
    """

    bound: tuple[int, ...]
    arguments: StructuredValue
    results: StructuredValue


class Objects(NamedTuple):
    """All objects of a SavedModel; the first is the root."""

    items: tuple[SavedItem, ...]
    functions: Mapping[str, ConcreteInfo]


def encode_objects(objects: Objects) -> messages.SavedObjectGraph:
    """The objects as a message."""
    graph = messages.SavedObjectGraph()
    for item in objects.items:
        message = graph.nodes.add(registered_name=item.registered_name)
        for name, number in item.children:
            message.children.add(node_id=number, local_name=name)
        for name, number in item.dependencies:
            message.dependencies.add(node_id=number, local_name=name)
        for original, name, kept in item.slots:
            message.slot_variables.add(
                original_variable_node_id=original, slot_name=name, slot_variable_node_id=kept
            )
        for name, saves, restores in item.saveables:
            message.saveable_objects[name].save_function = saves
            message.saveable_objects[name].restore_function = restores
        _encode_kind(message, item.kind)
    for name, info in objects.functions.items():
        concrete = graph.concrete_functions[name]
        concrete.bound_inputs.extend(info.bound)
        concrete.canonicalized_input_signature.CopyFrom(info.arguments)
        concrete.output_signature.CopyFrom(info.results)
    return graph


def _encode_kind(message: messages.SavedObject, kind: Kind) -> None:
    if isinstance(kind, UserObject):
        message.user_object.identifier = kind.identifier
        message.user_object.metadata = kind.metadata
        message.user_object.version.producer = _VERSION
        message.user_object.version.min_consumer = _VERSION
    elif isinstance(kind, VariableObject):
        message.variable.dtype = kind.dtype.enum  # type: ignore[assignment]  # the stubs want the enum's own int
        message.variable.shape.CopyFrom(encode_shape(kind.shape))
        message.variable.trainable = kind.trainable
        message.variable.name = kind.name
        message.variable.synchronization = kind.synchronization  # type: ignore[assignment]  # as above
        message.variable.aggregation = kind.aggregation  # type: ignore[assignment]  # as above
    elif isinstance(kind, FunctionObject):
        message.function.concrete_functions.extend(kind.concrete)
        message.function.function_spec.CopyFrom(encode_call_spec(kind.spec))
    elif isinstance(kind, ConcreteObject):
        concrete = message.bare_concrete_function
        concrete.concrete_function_name = kind.name
        concrete.argument_keywords.extend(kind.keywords)
        concrete.allowed_positional_arguments = kind.positional
        if kind.spec is not None:
            concrete.function_spec.CopyFrom(encode_call_spec(kind.spec))
    elif isinstance(kind, ConstantObject):
        message.constant.operation = kind.node
        message.registered_name = _CONSTANT_NAME
    elif isinstance(kind, AssetObject):
        message.asset.asset_file_def_index = kind.index
        message.asset.SetInParent()
    elif isinstance(kind, ResourceObject):
        message.resource.device = kind.device
        message.resource.SetInParent()
    else:
        message.captured_tensor.name = kind.name
        message.captured_tensor.concrete_function = kind.function


def decode_objects(graph: messages.SavedObjectGraph, where: str) -> Objects:
    """The inverse of `encode_objects`.

    Raises:
        DataLossError: there is no root, or a number is not that of an object.
        InvalidArgumentError: an object has no known kind.
    """
    count = len(graph.nodes)
    if not count:
        raise DataLossError(f"{where}: the object graph is empty")
    items = tuple(
        _decode_item(message, f"{where}: object {number}", count)
        for number, message in enumerate(graph.nodes)
    )
    functions = {}
    for name, message in graph.concrete_functions.items():
        bound = tuple(message.bound_inputs)
        _check_numbers(bound, count, f"{where}: function {name!r}")
        functions[name] = ConcreteInfo(
            bound, message.canonicalized_input_signature, message.output_signature
        )
    return Objects(items, functions)


def _decode_item(message: messages.SavedObject, where: str, count: int) -> SavedItem:
    children = tuple([(child.local_name, child.node_id) for child in message.children])
    dependencies = tuple([(one.local_name, one.node_id) for one in message.dependencies])
    _check_numbers([number for _, number in (*children, *dependencies)], count, where)
    slots = tuple(
        (s.original_variable_node_id, s.slot_name, s.slot_variable_node_id)
        for s in message.slot_variables
    )
    _check_numbers([number for one in slots for number in (one[0], one[2])], count, where)
    saveables = tuple(
        (name, one.save_function, one.restore_function)
        for name, one in sorted(message.saveable_objects.items())
    )
    kind = _decode_kind(message, where)
    return SavedItem(kind, children, dependencies, message.registered_name, slots, saveables)


def _check_numbers(numbers: Any, count: int, where: str) -> None:
    for number in numbers:
        if not 0 <= number < count:
            raise DataLossError(f"{where} refers to object {number}, there are {count}")


def _decode_kind(message: messages.SavedObject, where: str) -> Kind:
    kind = message.WhichOneof("kind")
    if kind == "user_object":
        return UserObject(message.user_object.identifier, message.user_object.metadata)
    if kind == "variable":
        variable = message.variable
        return VariableObject(
            decode_dtype(variable.dtype, f"{where}: variable {variable.name!r}"),
            decode_shape(variable.shape, f"{where}: variable {variable.name!r}"),
            variable.trainable,
            variable.name,
            variable.synchronization,
            variable.aggregation,
        )
    if kind == "function":
        return FunctionObject(
            tuple(message.function.concrete_functions),
            decode_call_spec(message.function.function_spec, where),
        )
    if kind == "bare_concrete_function":
        concrete = message.bare_concrete_function
        spec = concrete.function_spec if concrete.HasField("function_spec") else None
        return ConcreteObject(
            concrete.concrete_function_name,
            tuple(concrete.argument_keywords),
            concrete.allowed_positional_arguments,
            None if spec is None else decode_call_spec(spec, where),
        )
    if kind == "constant":
        return ConstantObject(message.constant.operation)
    if kind == "asset":
        return AssetObject(message.asset.asset_file_def_index)
    if kind == "resource":
        return ResourceObject(message.resource.device)
    if kind == "captured_tensor":
        return CapturedObject(
            message.captured_tensor.name, message.captured_tensor.concrete_function
        )
    # TensorFlow leaves the kind out for objects that have nothing but children.
    return UserObject()


_PAIRS = ("args", "varargs", "varkw", "defaults", "kwonlyargs", "kwonlydefaults", "annotations")


def encode_call_spec(spec: CallSpec) -> messages.FunctionSpec:
    """The parameters of a function; all seven fields of FullArgSpec are written."""
    message = messages.FunctionSpec()
    named = message.fullargspec.named_tuple_value
    named.name = "FullArgSpec"
    parts: tuple[Any, ...] = (
        list(spec.args),
        spec.varargs,
        spec.varkw,
        tuple(spec.defaults) or None,
        list(spec.kwonlyargs),
        dict(spec.kwonlydefaults) or None,
        {},
    )
    for key, value in zip(_PAIRS, parts, strict=True):
        named.values.add(key=key).value.CopyFrom(encode_structure(value))
    message.input_signature.CopyFrom(encode_structure(spec.input_signature))
    return message


_OF_A_SPEC: dict[str, tuple[type, ...]] = {
    "defaults": (tuple, list),
    "kwonlydefaults": (dict,),
    "varargs": (str,),
    "varkw": (str,),
}


def decode_call_spec(message: messages.FunctionSpec, where: str) -> CallSpec:
    """The inverse of `encode_call_spec`.

    Raises:
        InvalidArgumentError: it does not describe a function.
    """
    found: dict[str, Any] = {}
    for pair in message.fullargspec.named_tuple_value.values:
        found[pair.key] = decode_structure(pair.value, f"{where}, {pair.key}")
    args = _names(found.get("args") or [], where)
    # TensorFlow 2.0 and 2.1 did not mark the methods of modules as methods.
    if message.is_method or args[:1] == ("self",):
        args = args[1:]
    for key, kinds in _OF_A_SPEC.items():
        if not isinstance(found.get(key), (*kinds, type(None))):
            raise InvalidArgumentError(
                f"{where}: {key} must be a {kinds[0].__name__}, got {found[key]!r:.100}"
            )
    signature = None
    if message.input_signature.WhichOneof("kind") is not None:
        signature = decode_structure(message.input_signature, f"{where}, input_signature")
    return CallSpec(
        args,
        found.get("varargs"),
        found.get("varkw"),
        tuple(found.get("defaults") or ()),
        _names(found.get("kwonlyargs") or (), where),
        found.get("kwonlydefaults") or {},
        signature,
    )


def _names(value: Any, where: str) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, (list, tuple)) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"{where}: {value!r:.100} are not parameter names")
    return names
