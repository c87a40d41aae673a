"""`XlaCallModule`, the op that holds a module, decoded as a call of the translated function."""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, OpError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control.branches import trace_branch
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.saved_model.stablehlo.lowering.operands import Operand, alone, constant
from pinnace.saved_model.stablehlo.lowering.translation import Translation
from pinnace.saved_model.stablehlo.module import decode_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.functions.control.branches import Branch
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import FunctionRef
    from pinnace.ops.opdef import OpDef
    from pinnace.proto.attr_value_pb2 import AttrValue
    from pinnace.saved_model.stablehlo.module import Block, Module

# Older modules were written without a compatibility guarantee.
_OLDEST = 4
_made: weakref.WeakKeyDictionary[FunctionLibrary, dict[bytes, Branch]] = weakref.WeakKeyDictionary()


def decode_xla_call(
    attr: Mapping[str, AttrValue], library: FunctionLibrary, where: str
) -> tuple[OpDef, dict[str, Any], tuple[tuple[str, int], ...]]:
    """Return the op that calls an XlaCallModule's module, its attributes and its outputs' names.

    Args:
        attr: the node's attributes.
        library: the functions that the module may call.
        where: the node, for errors.

    Raises:
        InvalidArgumentError: it has no module, or its dtypes are not the module's.
        UnimplementedError: an op has no translation.
    """
    version = attr["version"].i if "version" in attr else 0
    if version < _OLDEST:
        raise UnimplementedError(
            f"{where}: XlaCallModule of version {version}; {_OLDEST} is the oldest whose "
            "modules are supported\n  Try: the model exported by a JAX of 2023 or newer"
        )
    for name, what in (
        ("dim_args_spec", "sizes as arguments"),
        ("has_token_input_output", "tokens"),
    ):
        if name in attr and (attr[name].b or attr[name].list.s):
            raise UnimplementedError(
                f"{where}: XlaCallModule with {what} ({name}) is not translated\n"
                "  Try: the model exported by a newer JAX, without callbacks"
            )
    takes = _types(attr, "Tin", where)
    gives = _types(attr, "Tout", where)
    try:
        body = _translated(attr, library, where)
    except OpError as error:
        raise type(error)(f"{where} (XlaCallModule): {error.message}") from error
    _check(where, "takes", takes, [value.dtype for value in body.graph.inputs])
    _check(where, "gives", gives, [value.dtype for value in body.outputs])
    op = STATEFUL_PARTITIONED_CALL if body.stateful else PARTITIONED_CALL
    attrs = op.full_attrs({"f": body.ref, "Tin": tuple(takes), "Tout": tuple(gives)})
    return op, attrs, (("output", len(gives)),)


def _types(attr: Mapping[str, AttrValue], name: str, where: str) -> list[DType]:
    found = attr[name].list.type if name in attr else ()
    return [decode_dtype(kind, f"{where}, attribute {name!r}") for kind in found]


def _check(where: str, what: str, given: Sequence[DType], wanted: Sequence[DType]) -> None:
    if list(given) != list(wanted):
        raise InvalidArgumentError(
            f"{where}: the module {what} {[one.name for one in wanted]}, its node says "
            f"{[one.name for one in given]}"
        )


def _translated(attr: Mapping[str, AttrValue], library: FunctionLibrary, where: str) -> Branch:
    """The function of a module, translated once for all nodes of a library that have the same."""
    data = attr["module"].s if "module" in attr else b""
    platforms = [bytes(one) for one in attr["platforms"].list.s] if "platforms" in attr else []
    names = [one.name for one in attr["function_list"].list.func] if "function_list" in attr else []
    digest = hashlib.sha256(repr((platforms, names)).encode() + data).digest()
    known = _made.setdefault(library, {})
    if digest not in known:
        functions = [library.ref(name, where) for name in names]
        known[digest] = traced_module(data, platforms, functions)
    return known[digest]


def traced_module(
    data: bytes, platforms: Sequence[bytes], functions: Sequence[FunctionRef]
) -> Branch:
    """Return a module's function `main` as a graph.

    Args:
        data: the module.
        platforms: the platforms that it is for.
        functions: the TensorFlow functions that it calls, by number.

    Raises:
        InvalidArgumentError: the data is not a module.
        UnimplementedError: an op has no translation.
    """
    module = decode_module(data)
    main = module.function("main")
    # The first argument of a module for several platforms is the platform's index.
    lead = []
    if len(platforms) > 1:
        lead = [platforms.index(b"CPU") if b"CPU" in platforms else 0]
    try:
        return _traced(module, main, lead, functions)
    except RecursionError:
        raise InvalidArgumentError(
            "StableHLO module: its calls and regions are nested too deeply"
        ) from None


def _traced(
    module: Module, main: Block, lead: Sequence[int], functions: Sequence[FunctionRef]
) -> Branch:
    with alone():
        body = trace_branch(
            lambda *xs: _body(Translation(module, functions), main, lead, xs),
            "stablehlo",
            [
                TensorSpec(value.tensor.shape, value.tensor.dtype)
                for value in main.arguments[len(lead) :]
            ],
        )
        if body.captured:
            raise InvalidArgumentError("StableHLO module: it captures values from outside")
    return body


def _body(
    translation: Translation, main: Block, lead: Sequence[int], arguments: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    platform = [constant(index, dtypes.int32) for index in lead]
    given = [Operand.of(tensor) for tensor in (*platform, *arguments)]
    return tuple(operand.full for operand in translation.block(main, given))
